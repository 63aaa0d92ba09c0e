"""fairseq's simple and JSON lines.

`| train_inner | epoch 001: 100 / 1234 loss=10.1, ..., num_updates=100, lr=1e-05, wall=60` while
training, `| valid | epoch 001 | valid on 'valid' subset | loss 8.9 | ppl 240 | num_updates 1234`
after each epoch; with JSON logging the same fields as `"loss": "10.1"`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import numpy as np

from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "fairseq"
_LINE = re.compile(r"\| (train_inner|train|valid\w*|test) \| (?=.*num_updates)")
_JSON_FIELDS = re.compile(r"\{.*\}")
_FIELD = re.compile(
    r"(?:^|[|,:] ?|\s)([a-z]\w*)[ =]([-+]?(?:\d[\d.]*(?:e[-+]?\d+)?|nan|inf))\b", re.I
)
_SUBSET = re.compile(r"valid on '([^']+)' subset")
_WANTED = ("loss", "nll_loss", "ppl", "accuracy", "bleu", "wer", "uer")
_BATCH = 4096


def recognise(source: Source) -> int:
    """How many lines of the samples are of this format."""
    return sum(_LINE.search(line) is not None for line in source.lines)


def read(source: Source, sink: Sink) -> None:
    """Losses and quality of the training intervals and of every validation subset."""
    batch: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, (kind, name, step, value) in enumerate(_points(source, sink)):
        batch.setdefault((kind, name), []).append((step, value))
        if number % _BATCH == _BATCH - 1:
            _flush(batch, sink)
    _flush(batch, sink)


def _flush(batch: dict[tuple[str, str], list[tuple[float, float]]], sink: Sink) -> None:
    for (kind, name), points in batch.items():
        steps, values = np.array(points).T
        sink.add(kind, name, steps, values)
    batch.clear()


def _points(source: Source, sink: Sink) -> Iterator[tuple[str, str, float, float]]:
    for block in source.blocks():
        sink.bytes_read += len(block)
        lines = block.decode("utf-8", "replace").splitlines()
        used = 0
        for line in lines:
            kind = _LINE.search(line) if "num_updates" in line else None
            if kind is None:
                continue
            used += 1
            yield from _fields_of(line[kind.end() :], _part(kind.group(1), line))
        sink.count_lines(len(lines), used)


def _part(kind: str, line: str) -> str:
    subset = _SUBSET.search(line)
    if kind.startswith("valid"):
        return subset.group(1) if subset else kind
    return "train_epoch" if kind == "train" else kind.removesuffix("_inner")


def _fields_of(text: str, part: str) -> Iterator[tuple[str, str, float, float]]:
    fields = _parsed(text)
    step = fields.pop("num_updates", None)
    if step is None:
        return
    for name, value in fields.items():
        bare = name.removeprefix(f"{part}_")
        if bare in _WANTED:
            yield "metric", f"{part}_{bare}", step, value
    if part == "train":
        for field, kind in (("wall", "elapsed"), ("lr", "lr")):
            if field in fields:
                yield kind, "", step, fields[field]


def _parsed(text: str) -> dict[str, float]:
    body = _JSON_FIELDS.search(text)
    if body is not None:
        try:
            read = json.loads(body.group())
            return {name.removeprefix("train_"): _number(value) for name, value in read.items()}
        except (ValueError, RecursionError):
            return {}
    return {name: float(value) for name, value in _FIELD.findall(text)}


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
