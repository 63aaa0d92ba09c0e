"""Tables that strangers name: read line by line, or refused in one line."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from planner.errors import PlannerError
from planner.text_file import lines_of


def written(folder: Path, raw: bytes) -> Path:
    path = folder / "table.csv"
    path.write_bytes(raw)
    return path


def test_lines_keep_their_ends_and_lose_the_byte_order_mark(tmp_path: Path) -> None:
    path = written(tmp_path, b"\xef\xbb\xbfa,b\r\n1,2\n3")
    assert list(lines_of(path, "runs")) == ["a,b\r\n", "1,2\n", "3"]


def test_bytes_that_are_no_text_are_replaced_or_refused(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\xffb\n")
    assert list(lines_of(path, "runs")) == ["a\ufffdb\n"]
    with pytest.raises(PlannerError, match="not UTF-8"):
        list(lines_of(path, "runs", errors="strict"))


@pytest.mark.parametrize(("longest", "most", "says"), [(3, 99, "longer"), (99, 9, "larger")])
def test_more_than_a_table_is_refused(tmp_path: Path, longest: int, most: int, says: str) -> None:
    path = written(tmp_path, b"1234\n" * 9)
    with pytest.raises(PlannerError, match=says):
        list(lines_of(path, "runs", longest=longest, most=most))


def test_a_device_ends_after_one_line() -> None:
    if not Path("/dev/zero").exists():
        pytest.skip("needs /dev/zero")
    with pytest.raises(PlannerError, match="longer than"):
        list(lines_of("/dev/zero", "runs"))


@pytest.mark.parametrize("name", ["absent.csv", ".", "nul\x00byte", "x" * 5000])
def test_what_cannot_be_opened_is_refused_by_field(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlannerError, match="cannot be read") as refused:
        list(lines_of(f"{tmp_path}/{name}", "runs"))
    assert refused.value.field == "runs"


def test_a_pipe_that_nobody_writes_to_is_empty(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    assert list(lines_of(tmp_path / "pipe", "runs")) == []


def test_a_pipe_that_somebody_writes_to_is_read_to_its_end(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    reader, writer = os.pipe()
    slow = threading.Timer(0.2, lambda: (os.write(writer, b"a\nb\n"), os.close(writer)))
    slow.start()
    assert list(lines_of(f"/dev/fd/{reader}", "runs")) == ["a\n", "b\n"]
    os.close(reader)
