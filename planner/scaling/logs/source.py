"""A log on disk: samples to recognise it by, and blocks of whole lines to read it from."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass

from planner.errors import PlannerError

BLOCK_BYTES = 1 << 22
LONGEST_LINE_BYTES = 1 << 24
_SAMPLE_BYTES = 1 << 18
_COLOUR = re.compile(rb"\x1b\[[0-9;]*m")
_PACKED = {b"\x1f\x8b": "gzip", b"PK\x03\x04": "zip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A readable file. Raises `PlannerError` from `opened` when it cannot be read."""

    path: str
    size_bytes: int
    head: bytes  # the first part of the file
    samples: tuple[str, ...]  # head, middle and end, decoded, whole lines where possible

    @property
    def lines(self) -> list[str]:
        """The lines of all samples."""
        return [line for sample in self.samples for line in sample.splitlines()]

    @property
    def first_lines(self) -> list[str]:
        """The lines of the head; the last one may be cut unless the file ends there."""
        lines = self.samples[0].splitlines()
        return lines if self.size_bytes <= _SAMPLE_BYTES else lines[:-1]

    def blocks(self) -> Iterator[bytes]:
        """The file in pieces of whole lines, newlines and colours normalised."""
        rest = b""
        with open(self.path, "rb") as file:
            while piece := file.read(BLOCK_BYTES):
                piece = rest + piece
                cut = max(piece.rfind(b"\n"), piece.rfind(b"\r")) + 1
                rest = piece[cut:]
                self._refuse_long_line(rest)
                if cut:
                    yield _normalised(piece[:cut])
        if rest:
            yield _normalised(rest + b"\n")

    def _refuse_long_line(self, rest: bytes) -> None:
        if len(rest) > LONGEST_LINE_BYTES:
            raise PlannerError(
                "log",
                self.path,
                f"a line is longer than {LONGEST_LINE_BYTES >> 20} MiB: this is no training log",
            )


def opened(path: str) -> Source:
    """The source at `path`."""
    try:
        status = os.stat(path)
        if not stat.S_ISREG(status.st_mode):
            remedy = "a pipe or a device, which cannot be read twice: save it to a file first"
            raise PlannerError("log", path, remedy)
        size = status.st_size
        with open(path, "rb") as file:
            pieces = [file.read(_SAMPLE_BYTES)]
            for start in _sample_starts(size):
                file.seek(start)
                pieces.append(file.read(_SAMPLE_BYTES).partition(b"\n")[2])
    except FileNotFoundError:
        raise PlannerError("log", path, "no such file") from None
    except OSError as error:
        raise PlannerError("log", path, f"cannot be read: {error.strerror}") from None
    except ValueError as error:
        if isinstance(error, PlannerError):
            raise
        raise PlannerError("log", path, f"cannot be read: {error}") from None
    _refuse_packed(path, pieces[0])
    samples = tuple(_normalised(piece).decode("utf-8", "replace") for piece in pieces)
    return Source(path=path, size_bytes=size, head=pieces[0], samples=samples)


def _sample_starts(size: int) -> list[int]:
    if size <= _SAMPLE_BYTES:
        return []
    return sorted({max(_SAMPLE_BYTES, size // 2), max(_SAMPLE_BYTES, size - _SAMPLE_BYTES)})


def _refuse_packed(path: str, head: bytes) -> None:
    if not head.strip():
        raise PlannerError("log", path, "the file is empty")
    for magic, name in _PACKED.items():
        if head.startswith(magic):
            raise PlannerError("log", path, f"packed with {name}: unpack it first")
    if head.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise PlannerError("log", path, "text in UTF-16: save it as UTF-8")


def _normalised(piece: bytes) -> bytes:
    piece = piece.removeprefix(b"\xef\xbb\xbf")
    if b"\r" in piece:
        piece = piece.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    return _COLOUR.sub(b"", piece) if b"\x1b" in piece else piece
