"""TensorBoard event files, read without TensorBoard.

A file is a row of records (length, checksum of the length, payload, checksum of the payload); a
payload is an `Event` message with wall time, step and a summary of tagged values. Only scalars are
read; histograms, images and graphs are passed over.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source
from planner.scaling.logs.wire import fields, masked_checksum

FORMAT = "tensorboard"
_HEADER = struct.Struct("<QI")
_LARGEST_RECORD = 1 << 28  # bytes; more than that is a broken length
_LARGEST_SCALAR_EVENT = 1 << 20  # bytes; larger events hold images or graphs
_BATCH = 4096
_FLOAT, _DOUBLE = 1, 2  # TensorFlow's codes of number formats


def recognise(source: Source) -> int:
    """A large score when the head is one whole record header."""
    if len(source.head) < _HEADER.size:
        return 0
    length, checksum = _HEADER.unpack_from(source.head)
    ok = masked_checksum(source.head[:8]) == checksum and length < _LARGEST_RECORD
    return 1_000_000 if ok else 0


def read(source: Source, sink: Sink) -> None:
    """Every scalar tag, each with its own wall clock (tags may count different steps)."""
    batch: dict[str, list[tuple[int, float, float]]] = {}
    other = 0
    for number, event in enumerate(_events(source, sink)):
        wall, step, scalars, num_other = _decoded(event)
        other += num_other
        for tag, value in scalars:
            batch.setdefault(tag, []).append((step, value, wall))
        if number % _BATCH == _BATCH - 1:
            _flush(batch, sink)
    _flush(batch, sink)
    sink.bytes_read += source.size_bytes
    if other:
        sink.note(f"{other} values that are no scalars (graphs, histograms, images) ignored")


def _flush(batch: dict[str, list[tuple[int, float, float]]], sink: Sink) -> None:
    for tag, points in batch.items():
        steps, values, walls = np.array(points, dtype=np.float64).T
        sink.add("metric", tag, steps, values)
        sink.add("elapsed", tag, steps, walls)
    batch.clear()


def _events(source: Source, sink: Sink) -> Iterator[bytes]:
    with Path(source.path).open("rb") as file:
        while header := file.read(_HEADER.size):
            if len(header) < _HEADER.size:
                sink.note("the last record is cut off: ignored")
                return
            length, checksum = _HEADER.unpack(header)
            if masked_checksum(header[:8]) != checksum or length > _LARGEST_RECORD:
                sink.note("a record is damaged: the file was read up to it")
                return
            if length > _LARGEST_SCALAR_EVENT:
                file.seek(length + 4, 1)
                continue
            payload = file.read(length)
            if len(payload) < length or len(file.read(4)) < 4:
                sink.note("the last record is cut off: ignored")
                return
            yield payload


def _decoded(event: bytes) -> tuple[float, int, list[tuple[str, float]], int]:
    """Wall time, step, scalars, and how many other values the event holds."""
    wall, step, other = 0.0, 0, 0
    scalars: list[tuple[str, float]] = []
    for number, value in fields(event):
        if number == 1 and isinstance(value, bytes) and len(value) == 8:
            wall = struct.unpack("<d", value)[0]
        elif number == 2 and isinstance(value, int):
            step = value
        elif number == 5 and isinstance(value, bytes):
            for inner, summary in fields(value):
                if inner == 1 and isinstance(summary, bytes):
                    found = _scalar(summary)
                    other += found is None
                    if found is not None:
                        scalars.append(found)
    return wall, step, scalars, other


def _scalar(summary: bytes) -> tuple[str, float] | None:
    tag, number = "", None
    for index, value in fields(summary):
        if not isinstance(value, bytes):
            continue
        if index == 1:
            tag = value.decode("utf-8", "replace")
        elif index == 2 and len(value) == 4:
            number = struct.unpack("<f", value)[0]
        elif index == 8:
            number = _tensor_scalar(value)
    return (tag, float(number)) if number is not None and tag else None


def _tensor_scalar(tensor: bytes) -> float | None:
    """The one number of a 0-dimensional float tensor; None for anything larger."""
    dtype, content = 0, b""
    for index, value in fields(tensor):
        if index == 1 and isinstance(value, int):
            dtype = value
        elif index in (4, 5, 6) and isinstance(value, bytes):
            content = value
    if dtype == _FLOAT and len(content) == 4:
        return float(struct.unpack("<f", content)[0])
    if dtype == _DOUBLE and len(content) == 8:
        return float(struct.unpack("<d", content)[0])
    return None
