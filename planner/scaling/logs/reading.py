"""From files to a `TrainingLog`: recognise the format by content, read, merge."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from planner.errors import PlannerError
from planner.scaling.logs import (
    csv_table,
    deepspeed,
    fairseq,
    json_lines,
    llmc,
    megatron,
    modded,
    plain_lines,
    tensorboard,
    trainer_state,
)
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source, opened
from planner.scaling.logs.training_log import TrainingLog

# The first of equal scores wins. Lines of any kind are tried only where nothing else matches.
_READERS: tuple[ModuleType, ...] = (
    tensorboard,
    trainer_state,
    json_lines,
    csv_table,
    llmc,
    modded,
    megatron,
    fairseq,
    deepspeed,
)
FORMATS: tuple[str, ...] = tuple(reader.FORMAT for reader in (*_READERS, plain_lines))
_BINARY_SHARE = 0.1  # of control characters in the head


def read_log(paths: str | Path | Sequence[str | Path]) -> TrainingLog:
    """Read a training log; several paths are the segments of one run, in order.

    A folder stands for the event files in it. Raises `PlannerError` for what is no training log:
    missing, empty, binary, without steps or without numbers, unsorted, two metrics under one name.
    """
    files = _files(paths)
    sources = [opened(file) for file in files]
    readers = [_reader_of(source) for source in sources]
    if len({reader.FORMAT for reader in readers}) > 1:
        formats = ", ".join(
            f"{s.path} is {r.FORMAT}" for s, r in zip(sources, readers, strict=True)
        )
        raise PlannerError("log", files, f"segments of one run must share a format: {formats}")
    sink = Sink(", ".join(files))
    for source, reader in zip(sources, readers, strict=True):
        reader.read(source, sink)
    return sink.finish(readers[0].FORMAT)


def _files(paths: str | Path | Sequence[str | Path]) -> list[str]:
    given = [paths] if isinstance(paths, str | Path) else list(paths)
    if not given or not all(str(path).strip() for path in given):
        raise PlannerError("log", None, "name at least one file")
    return [file for path in given for file in _expanded(Path(path))]


def _expanded(path: Path) -> list[str]:
    if not os.path.isdir(path):  # which no name can make fail
        return [str(path)]
    events = sorted(path.rglob("events.out.tfevents*"), key=lambda file: file.name)
    if events:
        return [str(file) for file in events]
    states = sorted(path.rglob("trainer_state.json"), key=lambda file: file.stat().st_mtime)
    if states:
        return [str(states[-1])]
    raise PlannerError(
        "log", str(path), "a folder without event files or trainer_state.json: name the log file"
    )


def _reader_of(source: Source) -> ModuleType:
    if tensorboard.recognise(source):
        return tensorboard
    _refuse_binary(source)
    scores = [reader.recognise(source) for reader in _READERS]
    best = max(range(len(scores)), key=lambda i: (scores[i], -i))
    if scores[best]:
        return _READERS[best]
    if plain_lines.recognise(source):
        return plain_lines
    raise PlannerError(
        "log",
        source.path,
        f"no line tells a step and a metric in a known way ({', '.join(FORMATS)}); "
        "a CSV with the header step,loss always works",
    )


def _refuse_binary(source: Source) -> None:
    head = source.head[:65536]
    control = sum(head.count(byte) for byte in range(32) if byte not in b"\t\n\r\x1b\x0c\x08")
    if b"\x00" in head or control > _BINARY_SHARE * len(head):
        raise PlannerError(
            "log", source.path, "a binary file that is no TensorBoard event file: name a text log"
        )
