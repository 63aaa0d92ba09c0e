"""Opening a file that somebody names, whatever it turns out to be."""

from __future__ import annotations

import os
from pathlib import Path
from typing import BinaryIO


def opened(path: str | Path) -> BinaryIO:
    """The file, to be read as bytes; raises OSError, or ValueError for a name that none can have.

    A named pipe that nobody writes to is an empty file here: opening it as usual would wait for a
    writer without end. One that somebody writes to, such as `<(command)` of a shell, is read.
    """
    return open(path, "rb", opener=_without_waiting)


def _without_waiting(path: str, flags: int) -> int:
    if not hasattr(os, "O_NONBLOCK"):  # a system without named pipes in folders
        return os.open(path, flags)
    handle = os.open(path, flags | os.O_NONBLOCK)
    os.set_blocking(handle, True)
    return handle
