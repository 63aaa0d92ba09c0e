"""What commands print."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.cli.output import (
    format_table,
    note,
    output_width,
    plain,
    print_json,
    print_table,
    warn,
)
from planner.cli.progress import Progress, progress


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    name: str
    seconds: float | None


class Colour(Enum):
    RED = "red"


def test_json_holds_dataclasses_arrays_and_unknowns(capsys: pytest.CaptureFixture[str]) -> None:
    answer = {
        "part": Part(name="é", seconds=None),
        "array": np.arange(3),
        "number": np.float64(1.5),
        "flag": np.bool_(True),
        "whole": np.int64(2**40),
        "tuple": (1, 2),
        "path": Path("a/b"),
        "word": Colour.RED,
        3: {"x"},
    }
    print_json(answer)
    out, err = capsys.readouterr()
    assert json.loads(out) == {
        "part": {"name": "é", "seconds": None},
        "array": [0, 1, 2],
        "number": 1.5,
        "flag": True,
        "whole": 2**40,
        "tuple": [1, 2],
        "path": "a/b",
        "word": "red",
        "3": ["x"],
    }
    assert err == ""


@pytest.mark.parametrize("value", [float("nan"), float("inf"), np.float64("nan")])
def test_nan_and_infinity_never_leave_as_json(
    value: float, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        print_json({"a": [value]})
    assert capsys.readouterr().out == ""


def test_what_json_cannot_hold_is_our_fault() -> None:
    with pytest.raises(TypeError, match="object"):
        plain({"a": object()})


def test_numbers_stand_to_the_right_and_words_to_the_left() -> None:
    text = format_table(
        None, ["part", "time"], [["matmul", "41.2 ms"], ["all", "2 s"], ["x", None]]
    )
    assert text.splitlines() == [
        "part       time",
        "matmul  41.2 ms",
        "all         2 s",
        "x             -",
    ]


def test_a_table_keeps_to_the_width_it_is_given() -> None:
    rows = [["sku", "why it was chosen among all the others, at length"], ["b", "short"]]
    text = format_table("Title", ["name", "reason"], rows, width=30)
    assert max(map(len, text.splitlines())) <= 30
    assert "".join(text.split()).count("atlength") == 1


def test_an_empty_table_is_its_header() -> None:
    assert format_table(None, ["a", "b"], []) == "a  b"


def test_wide_characters_take_two_cells() -> None:
    lines = format_table(None, ["名", "n"], [["模型", "1"], ["ab", "2"]]).splitlines()
    assert lines == ["名    n", "模型  1", "ab    2"]


@given(
    st.lists(st.lists(st.text("ab c1", max_size=30), min_size=3, max_size=3), max_size=5),
    st.integers(min_value=100, max_value=120),
)
def test_no_table_of_short_words_is_wider_than_asked(rows: list[list[str]], width: int) -> None:
    text = format_table(None, ["a", "b", "c"], [[f"x {cell}" for cell in row] for row in rows])
    squeezed = format_table(
        None, ["a", "b", "c"], [[f"x {cell * 3}" for cell in row] for row in rows], width=width
    )
    assert all(len(line) <= width for line in squeezed.split("\n"))
    assert len(text.split("\n")) == len(rows) + 1


def test_numbers_and_names_are_never_broken() -> None:
    text = format_table(None, ["id", "GB"], [["h100-sxm5-80gb", "1,000 GB/s"]], width=10)
    assert text.splitlines() == ["id                      GB", "h100-sxm5-80gb  1,000 GB/s"]


def test_a_pipe_gets_no_colour_and_columns_are_respected(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert output_width() is None
    monkeypatch.setenv("COLUMNS", "20")
    print_table("T", ["a", "b"], [["x " * 15, "y"]])
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert max(map(len, out.splitlines())) <= 20
    monkeypatch.setenv("COLUMNS", "wide")
    assert output_width() is None


def test_notes_and_warnings_leave_standard_output_alone(capsys: pytest.CaptureFixture[str]) -> None:
    note("chosen: tp=8")
    warn("bf16 is emulated")
    out, err = capsys.readouterr()
    assert (out, err) == ("", "note: chosen: tp=8\nwarning: bf16 is emulated\n")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_is_drawn_on_a_terminal_and_removed(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("planner.cli.progress.time.monotonic", lambda: float(next(clock)))
    terminal = Terminal()
    bar = Progress("measuring", 4, terminal)
    bar.advance(1, "gemm")
    bar.advance(3)
    bar.close()
    drawn = terminal.getvalue()
    assert "[######..................] measuring: 1 of 4, about" in drawn
    assert drawn.endswith("\r\x1b[2K")


def test_a_log_gets_a_line_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("planner.cli.progress.time.monotonic", lambda: now[0])
    log = io.StringIO()
    bar = Progress("measuring", 100, log)
    for _ in range(40):
        now[0] += 1.0
        bar.advance()
    bar.close()
    assert len(log.getvalue().splitlines()) == 4
    assert log.getvalue().startswith("measuring: 10 of 100, about 90 s left\n")


def test_progress_is_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("working", 1) as bar:
        bar.advance()
    assert capsys.readouterr().out == ""
