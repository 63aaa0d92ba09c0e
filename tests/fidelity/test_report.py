"""docs/accuracy.md: current, complete, and drawn from the numbers."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from planner.fidelity.analyses import Analyses, analyse
from planner.fidelity.figure import figure
from planner.fidelity.markdown import prose, table
from planner.fidelity.report import drawing, report, write_report
from planner.fidelity.validate import Measurements
from planner.fidelity.weak_spots import causes, weak_spots
from tests.conftest import PROJECT
from tests.fidelity.synthetic import case, row

NUMBER = re.compile(r"[\d,]*\d(?:\.\d+)?")


@pytest.fixture(scope="module")
def analyses(measurements: Measurements) -> Analyses:
    return analyse(measurements)


def same(left: str, right: str) -> bool:
    """Equal words, and numbers equal to the precision that they are printed with."""
    if NUMBER.sub("#", left) != NUMBER.sub("#", right):
        return False
    pairs = zip(NUMBER.findall(left), NUMBER.findall(right), strict=True)
    return all(_close(*pair) for pair in pairs)


def _close(left: str, right: str) -> bool:
    first, second = (float(each.replace(",", "")) for each in (left, right))
    digits = len(left.partition(".")[2])
    return abs(first - second) <= max(1.01 * 10.0**-digits * (digits > 0), 0.006 * abs(second))


def test_the_comparison_sees_other_numbers_and_other_words() -> None:
    assert same("median 9.6 % of 1,549 rows", "median 9.7 % of 1,549 rows")
    assert not same("median 9.6 %", "median 10.6 %")
    assert not same("of 18 rows", "of 19 rows")
    assert not same("median 9.6 %", "mean 9.6 %")


def test_the_page_in_the_repository_is_current(analyses: Analyses) -> None:
    stored = (PROJECT / "docs" / "accuracy.md").read_text(encoding="utf-8")
    fresh = report(analyses)
    stale = [
        (old, new)
        for old, new in zip(stored.splitlines(), fresh.splitlines(), strict=False)
        if not same(old, new)
    ]
    remedy = "run: forerun validate --markdown docs/accuracy.md"
    assert stale == [], remedy
    assert len(stored.splitlines()) == len(fresh.splitlines()), remedy


def test_the_figure_in_the_repository_is_current(analyses: Analyses) -> None:
    stored = (PROJECT / "docs" / "images" / "accuracy.svg").read_text(encoding="utf-8")
    fresh = drawing(analyses)
    assert abs(len(stored) - len(fresh)) <= 0.01 * len(fresh), (
        "run: forerun validate --markdown docs/accuracy.md"
    )


def test_the_page_answers_every_question_of_its_readers(analyses: Analyses) -> None:
    page = report(analyses)
    for title in (
        "# How far off forerun is",
        "## How it is measured",
        "## Step time",
        "## Peak memory",
        "### Does it fit",
        "## Rows that state only TFLOP/s or MFU",
        "## Choosing settings",
        "## Choosing an accelerator",
        "## Whole runs",
        "## A few runs of your own",
        "## What each term is worth",
        "## Where it is weak",
        "## Rows that cannot be planned",
    ):
        assert f"\n{title}\n" in f"\n{page}"
    assert "None" not in page
    assert "nan" not in page.lower().split()
    assert max(len(line) for line in page.splitlines() if not line.startswith("|")) <= 100


def test_the_report_is_written_with_its_figure(measurements: Measurements, tmp_path: Path) -> None:
    page, drawn = write_report(measurements, tmp_path / "page.md")
    assert f"(images/{drawn.name})" in page.read_text(encoding="utf-8")
    assert drawn.parent == tmp_path / "images"
    ElementTree.parse(drawn)


def test_equal_numbers_draw_equal_figures_whatever_the_order_of_rows() -> None:
    rows = [row(1.0, 1.1, source="a"), row(20.0, 15.0, source="b"), row(3.0, 3.0, source="a")]
    assert figure(rows, rows) == figure(list(reversed(rows)), rows)


def test_a_dot_lies_where_measured_and_predicted_put_it() -> None:
    drawn = figure([row(10.0, 10.0), row(1.0, 100.0)], [])
    root = ElementTree.fromstring(drawn)
    paths = [each for each in root.iter() if each.get("stroke-linecap") == "round"]
    (path,) = paths
    corners = re.findall(r"M([\d.]+) ([\d.]+)h0", path.get("d") or "")
    (left, top), (middle, half) = sorted((float(x), float(y)) for x, y in corners)
    assert left < middle
    assert top < half  # the larger prediction lies higher
    assert middle - left == pytest.approx(half - top)


def test_a_figure_without_rows_is_still_a_figure() -> None:
    ElementTree.fromstring(figure([], []))


def test_misses_of_one_cause_stand_together_and_lone_ones_are_left_out() -> None:
    source = "mosaicml"
    model = case(source=source).configuration.model
    pairs = [
        (case("a", source), row(1.0, 0.3, source)),
        (case("b", source), row(1.0, 0.5, source)),
        (case("c", source), row(1.0, 1.1, source)),  # no miss
        (case("d", source, sku="h100-sxm5-80gb"), row(1.0, 3.0, source)),  # alone
    ]
    (spot,) = weak_spots(pairs)
    assert (spot.misses, spot.ratio, spot.models) == (2, pytest.approx(0.4), (model.name,))
    assert spot.cause is None


def test_every_cause_says_what_would_settle_it() -> None:
    assert len(causes()) > 5
    assert all(each.cause and each.settles and each.models for each in causes())
    assert {each.kind for each in causes()} <= {"time", "memory"}


def test_known_causes_are_of_rows_that_are_off(analyses: Analyses) -> None:
    shown = {spot.cause for spot in analyses.weak if spot.cause}
    assert len(shown) >= 3


def test_a_cell_cannot_break_its_table() -> None:
    assert table(["a"], [["x|y"], [None]]).splitlines()[2:] == ["| x/y |", "| – |"]


def test_prose_keeps_paragraphs_and_bullets() -> None:
    assert prose("one\ntwo\n\n- a\nb\n- c") == "one two\n\n- a b\n- c"
