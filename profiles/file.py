"""Profile files: written whole or not at all, read with care; raw samples beside them."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from profiles.check import profile_of
from profiles.errors import ProfileError
from profiles.result import Profile

MOST_BYTES = 64 * 2**20  # of a file that is read


def write_profile(path: Path, profile: Profile) -> None:
    """Write `profile`, so that at any moment the old file or the new one is there, never half.

    Raises ProfileError where the folder or the disk does not take it.
    """
    text = json.dumps(_plain(profile), indent=1, allow_nan=False)
    with _named(path):
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise


def read_profile(path: str | Path) -> Profile:
    """The profile in a file. Raises ProfileError for one that is absent, too large, or no profile.

    The file is data: it is parsed as JSON and checked field by field.
    """
    path = Path(path)
    try:
        with open(path, "rb", opener=_without_waiting) as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ProfileError("profile", str(path), f"cannot be read: {reason}") from error
    if len(raw) > MOST_BYTES:
        raise ProfileError("profile", str(path), f"larger than {MOST_BYTES >> 20} MiB: no profile")
    try:
        found = json.loads(raw, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise ProfileError("profile", str(path), f"is no JSON: {_one_line(error)}") from None
    return profile_of(found)


def _without_waiting(path: str, flags: int) -> int:
    """A named pipe that nobody writes to is an empty file: opening it as usual would wait."""
    if not hasattr(os, "O_NONBLOCK"):
        return os.open(path, flags)
    handle = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    return handle


def samples_path(path: Path) -> Path:
    """Where the raw samples of a profile lie: one JSON line per kernel."""
    return path.with_name(f"{path.stem}.samples.jsonl")


def append_samples(path: Path, key: str, samples_s: Sequence[float], calls: int) -> None:
    """Add the raw samples of one kernel, seconds a call."""
    line = json.dumps({"key": key, "calls": calls, "samples_s": list(samples_s)})
    with _named(path), samples_path(path).open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def _plain(profile: Profile) -> dict[str, Any]:
    return dataclasses.asdict(profile)


@contextlib.contextmanager
def _named(path: Path) -> Any:
    try:
        yield
    except OSError as error:
        remedy = f"cannot be written: {error.strerror}; say another file with --out"
        raise ProfileError("--out", str(path), remedy) from error


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")


def _one_line(error: Exception) -> str:
    return " ".join((str(error) or type(error).__name__).split())[:120]
