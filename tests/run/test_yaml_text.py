"""YAML of strangers: read as plain text or refused in one line."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.run import Run
from planner.run.yaml_text import MOST_BYTES, parse_yaml, read_yaml

BOMB = "a: &a [x,x]\nb: &b [*a,*a]\nc: &c [*b,*b]\nd: [*c,*c]\n"


def test_every_scalar_stays_as_it_was_written() -> None:
    text = "{a: 1e12, b: no, c: 010, d: 2024-01-01, e: null, f: 1_0, g: 'x', h: 12:30}"
    assert list(parse_yaml(text).values()) == (
        ["1e12", "no", "010", "2024-01-01", "null", "1_0", "x", "12:30"]
    )


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a: !!python/object/apply:os.system ['true']", "tags are not read"),
        ("a: !!int 5", "tags are not read"),
        ("!local {a: b}", "tags are not read"),
        (BOMB, "anchors and aliases are not read"),
        ("<<: *base", "anchors and aliases|undefined alias"),
        ("a: 1\nb: 2\na: 3", "line 3: 'a: 3': the key a is given twice"),
        ("[" * 5000, "nested deeper"),
        ("a: " + "{b: " * 5000, "nested deeper"),
        ("? [x]\n: y", "a key must be a word"),
        ("? {x: y}\n: y", "a key must be a word"),
        ("a: 'open", "line 1"),
        ("a: b\n---\nc: d", "another document"),
        ("a: \x07", "not YAML"),
        ('a: "\\U00110000"', "escape names no character"),
        ('a: "\\UFFFFFFFF"', "escape names no character"),
        ('"": b', "a key must be a word"),
        ('"\\e[31m": b', "a key must be a word"),
        ("", "write a mapping"),
        ("- a\n- b", "write a mapping"),
        ("just words", "write a mapping"),
        ("\ta: b", "line 1"),
    ],
)
def test_what_is_no_plain_mapping_is_refused(text: str, says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        parse_yaml(text)


@given(st.text(max_size=200))
def test_any_text_is_a_mapping_or_a_planner_error(text: str) -> None:
    try:
        assert isinstance(parse_yaml(text), dict)
    except PlannerError as error:
        assert "\n" not in str(error)  # noqa: PT017 - both outcomes are right


@pytest.mark.parametrize("raw", [b"\xff\xfe\x00", b"\x80abc", b"a: b\n" * MOST_BYTES])
def test_files_that_are_no_run_files_are_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes(raw)
    with pytest.raises(PlannerError, match="name a run file"):
        read_yaml(path)


@pytest.mark.parametrize("name", ["absent.yaml", ".", "nul\x00byte", "x" * 5000])
def test_files_that_cannot_be_opened_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(PlannerError, match="cannot be read"):
        read_yaml(f"{tmp_path}/{name}")


def test_a_byte_order_mark_and_unicode_are_read(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_bytes("model: 模型☃".encode("utf-8-sig"))
    assert read_yaml(path) == {"model": "模型☃"}


@pytest.mark.parametrize("length", [900, 5000])
def test_a_long_key_is_refused_in_a_line_one_can_read(length: int) -> None:
    with pytest.raises(PlannerError, match="unknown key") as caught:
        Run.from_mapping(parse_yaml(f"? {'k' * length}\n: 3\n"))
    assert len(str(caught.value)) < 500


@pytest.mark.parametrize("said", ["", "''", "~", "null", '" "'])
def test_a_model_left_empty_is_not_said(tmp_path: Path, said: str) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(f"model: {said}\n", encoding="utf-8")
    assert Run.from_yaml(path).model is None


def test_the_largest_file_is_read_quickly() -> None:
    text = "\n".join(f"k{i}: [1, 2, 3]" for i in range(10_000))
    started = time.monotonic()
    parse_yaml(text)
    assert time.monotonic() - started < 20
