"""Hugging Face's trainer_state.json: a list of entries under `log_history`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from planner.errors import PlannerError
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import LONGEST_LINE_BYTES, Source

FORMAT = "hf-trainer"
_HISTORY = re.compile(r'"log_history"\s*:\s*\[')
_TOTAL = re.compile(r'"max_steps"\s*:\s*(\d+)')
_KINDS = {"learning_rate": "lr", "num_input_tokens_seen": "tokens"}
_NOT_METRICS = ("step", "epoch", "total_flos", "train_runtime", "train_loss")
_BATCH = 2048


def recognise(source: Source) -> int:
    """Entries in the head, where the file has a `log_history`."""
    head = source.samples[0]
    if not head.lstrip().startswith("{") or not _HISTORY.search(head):
        return 0
    return 2 + sum(line.count('"step"') for line in source.lines)


def read(source: Source, sink: Sink) -> None:
    """Training loss, every evaluation set, learning rate, tokens and planned steps."""
    for sample in source.samples:
        for total in _TOTAL.findall(sample):
            sink.total_steps = float(total) if float(total) > 0 else None
    batch: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for number, entry in enumerate(_entries(source)):
        _collect(entry, batch)
        if number % _BATCH == _BATCH - 1:
            _flush(batch, sink)
    _flush(batch, sink)
    sink.bytes_read += source.size_bytes


def _collect(
    entry: dict[str, object], batch: dict[tuple[str, str], list[tuple[float, float]]]
) -> None:
    step = entry.get("step")
    if not isinstance(step, int | float) or "train_runtime" in entry:
        return
    for field, value in entry.items():
        if field in _NOT_METRICS or isinstance(value, bool) or not isinstance(value, int | float):
            continue
        name = "train_loss" if field == "loss" else field
        batch.setdefault((_KINDS.get(field, "metric"), name), []).append((step, float(value)))


def _flush(batch: dict[tuple[str, str], list[tuple[float, float]]], sink: Sink) -> None:
    for (kind, name), points in batch.items():
        steps, values = np.array(points, dtype=np.float64).T
        sink.add(kind, name, steps, values)
    batch.clear()


def _entries(source: Source) -> Iterator[dict[str, object]]:
    """The objects of the list one at a time: the file is never held whole."""
    decoder = json.JSONDecoder()
    with Path(source.path).open(encoding="utf-8", errors="replace") as file:
        text = _after_history(file.read(1 << 20), source)
        while True:
            text = text.lstrip(" \t\r\n,")
            if text.startswith("]"):
                return
            try:
                entry, end = decoder.raw_decode(text)
            except (ValueError, RecursionError):
                more = file.read(1 << 20)
                if not more or len(text) > LONGEST_LINE_BYTES:
                    raise PlannerError(
                        "log", source.path, "log_history breaks off: the file is truncated"
                    ) from None
                text += more
                continue
            text = text[end:]
            if isinstance(entry, dict):
                yield entry


def _after_history(text: str, source: Source) -> str:
    begin = _HISTORY.search(text)
    if begin is None:
        raise PlannerError("log", source.path, "no log_history in the first MiB of the file")
    return text[begin.end() :]
