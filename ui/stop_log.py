"""A training log from an upload, or from a path on the machine that serves the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from planner.errors import PlannerError
from planner.scaling.logs import read_log
from planner.scaling.logs.training_log import TrainingLog

LOOPBACK = ("127.0.0.1", "localhost", "::1")
MOST_MEGABYTES = 200  # of one upload
MOST_FILES = 10_000  # of a folder whose changes are watched

Upload = tuple[str, bytes]  # name and content


def paths_allowed() -> bool:
    """Whether a path may be typed: only where nobody but this machine reaches the page, because a
    path would let others read the server's files."""
    return str(st.get_option("server.address")) in LOOPBACK


@st.cache_data(max_entries=4, show_spinner=False)
def log_of_upload(files: tuple[Upload, ...]) -> TrainingLog:
    """The log in uploaded files, segments in order. Raises PlannerError that names the uploads."""
    with TemporaryDirectory(prefix="forerun-") as folder:
        paths = list(_written(Path(folder), files))
        try:
            return read_log(paths)
        except PlannerError as error:
            raise PlannerError(
                error.field, _plain(error.value, folder), _plain(error.remedy, folder)
            ) from None


def _written(folder: Path, files: tuple[Upload, ...]) -> Iterator[Path]:
    """The uploads under their own last names, each in a folder of its own."""
    for index, (name, content) in enumerate(files):
        inside = folder / str(index)
        inside.mkdir()
        path = inside / (Path(name).name or "log")
        path.write_bytes(content)
        yield path


def _plain(text: object, folder: str) -> str:
    """A message without the place that the server put the upload in."""
    shown = ", ".join(map(str, text)) if isinstance(text, list) else str(text)
    for index in range(100):
        shown = shown.replace(f"{folder}/{index}/", "")
    return shown


def log_of_path(path: str) -> TrainingLog:
    """The log at a path. Raises PlannerError for what is neither a file nor a folder."""
    try:
        found = Path(path.strip()).expanduser()
    except RuntimeError:  # the home of nobody
        raise PlannerError("log", path, "no such file or folder") from None
    if not (found.is_file() or found.is_dir()):
        raise PlannerError("log", path, "no such file or folder")
    return _read(str(found), _version(found))


@st.cache_data(max_entries=4, show_spinner=False)
def _read(path: str, version: tuple[int, int]) -> TrainingLog:
    return read_log(path)


def _version(path: Path) -> tuple[int, int]:
    """Latest change and size, so that a log that grows is read again."""
    if path.is_file():
        stat = path.stat()
        return stat.st_mtime_ns, stat.st_size
    stats = []
    for each in path.rglob("*"):
        if each.is_file():
            stats.append(each.stat())
        if len(stats) >= MOST_FILES:
            raise PlannerError("log", str(path), "a folder of too many files: name the log")
    return max((s.st_mtime_ns for s in stats), default=0), sum(s.st_size for s in stats)
