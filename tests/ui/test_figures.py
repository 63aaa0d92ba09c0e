"""Figures, tables and texts of a plan: they hold the plan's own numbers and add up."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from functools import cache

import pytest

from planner.planning.plan import plan
from planner.planning.result import Plan
from planner.quantities import show_bytes, show_duration, show_usd
from planner.run import Run
from ui import compare, downloads, headline, plan_changes, plan_sections, plan_tables
from ui.accuracy_page import headline as accuracy_headline
from ui.accuracy_tables import by_source, within
from ui.answers import advised
from ui.charts.accuracy import against_measured, errors_by_source
from ui.charts.advice import tornado
from ui.charts.loss import loss_figure
from ui.charts.parts import GIB, drawn_parts, memory_stack, waterfall
from ui.model_source import Source
from ui.report import report
from ui.scenario import Scenario
from ui.table import Row, Table, to_csv, to_html
from ui.text import Words

WORDS = Words(language="en")
RUN = Run(
    model="llama-3-70b",
    data={"tokens": "1T", "seq_len": 8192},
    hardware={"sku": "h100-sxm5-80gb", "count": 512},
    training={"layout": "tp=8,pp=8", "recompute": "selective"},
    budget={"days": 60},
)


@cache
def planned(run: Run = RUN) -> Plan:
    return plan(run)


def numbers(table: Table) -> Iterator[list[str]]:
    yield from csv.reader(io.StringIO(to_csv(table)))


def test_the_headline_says_the_numbers_of_the_plan() -> None:
    answer = planned()
    shown = {card.name: card for card in headline.cards(answer, WORDS)}
    assert shown["time"].value == show_duration(answer.run.seconds)
    assert shown["cost"].value == show_usd(answer.cost.usd)
    page = headline.to_html(answer, WORDS)
    assert show_bytes(answer.memory.capacity_bytes) in page
    assert WORDS.name("verdict", answer.verdict) in page


def test_the_verdict_is_said_in_words_and_with_an_icon() -> None:
    marks = set()
    for count in (8, 512):
        answer = planned(RUN.changed({"hardware.count": count, "training.layout": "auto"}))
        page = headline.to_html(answer, WORDS)
        assert f"data-value>{WORDS.name('verdict', answer.verdict)}" in page
        marks.add(answer.verdict)
    assert "does-not" in marks


def test_an_unknown_price_is_unknown_and_says_why() -> None:
    alone = {"hardware.sku": "h800-sxm5-80gb", "hardware.interconnect": 400}
    answer = planned(RUN.changed(alone))
    card = headline.cards(answer, WORDS)[1]
    assert card.value == "unknown"
    assert card.interval is None
    assert "no on-demand price" in card.notes[0]


def test_a_waterfall_ends_at_the_total() -> None:
    step = planned().step
    figure = waterfall(step.parts, WORDS, group="step", low=step.low, high=step.high)
    parts, total = figure.data
    assert parts.base[-1] + parts.x[-1] == pytest.approx(step.seconds)
    assert total.x[0] == pytest.approx(step.seconds)
    assert total.x[0] + total.error_x.array[0] == pytest.approx(step.high)


def test_small_parts_are_summed_not_lost() -> None:
    parts = {"a": 100.0} | {f"b{index}": 0.1 for index in range(7)}
    assert sum(value for _, value in drawn_parts(parts)) == pytest.approx(100.7)


def test_the_memory_stack_reaches_the_peak_of_each_stage() -> None:
    held = planned().memory
    figure = memory_stack(
        held.stages, WORDS, capacity=held.capacity_bytes, low=held.low, high=held.high
    )
    bars = [trace for trace in figure.data if trace.type == "bar"]
    for index, stage in enumerate(held.stages):
        assert sum(bar.y[index] for bar in bars) == pytest.approx(stage["peak_bytes"] / GIB)
    assert figure.layout.shapes[0].y0 == pytest.approx(held.capacity_bytes / GIB)
    said = {text for bar in bars for text in bar.text if text}
    assert show_bytes(held.stages[0]["parts"]["activations"]) in said, "a size alone: two bars"


@pytest.mark.parametrize(("capacity", "where"), [(1e12, "y"), (1e9, "paper")])
def test_what_the_device_has_is_said_beside_its_line_and_above_bars_that_cross_it(
    capacity: float, where: str
) -> None:
    held = planned().memory
    figure = memory_stack(held.stages, WORDS, capacity=capacity, low=held.low, high=held.high)
    assert figure.layout.annotations[0].yref == where


@pytest.mark.parametrize("group", ["step", "run"])
def test_tables_of_times_add_up_to_the_total(group: str) -> None:
    parts = getattr(planned(), group).parts
    rows = list(numbers(plan_tables.times(parts, WORDS, group=group)))[1:]
    total = float(rows[-1][1])
    assert sum(float(row[1]) for row in rows[:-1]) == pytest.approx(total)


def test_the_memory_table_adds_up_to_the_peak_and_the_free_rest() -> None:
    held = planned().memory
    rows = {row[0]: [float(cell) for cell in row[1:]] for row in list(numbers(_memory()))[1:]}
    for index, stage in enumerate(held.stages):
        parts = sum(sizes[index] for name, sizes in rows.items() if name not in ("total", "free"))
        assert parts == pytest.approx(stage["peak_bytes"])
        assert rows["free"][index] == pytest.approx(held.capacity_bytes - stage["peak_bytes"])


def _memory() -> Table:
    return plan_tables.memory(planned(), WORDS)


def test_the_loss_figure_marks_the_end_of_the_run_and_the_stop_point() -> None:
    curve = [{"tokens": 10.0**power, "loss": 3.0, "low": 2.0, "high": 4.0} for power in (9, 11, 13)]
    figure = loss_figure(curve, WORDS, tokens=1e12, loss=3.0, stop_tokens=1e10)
    texts = [trace.text[0] for trace in figure.data if trace.mode == "markers+text"]
    assert texts == [WORDS("plan.run_ends"), WORDS("plan.stop_here")]


def test_advice_figure_and_table_hold_the_same_changes() -> None:
    rows = advised(Scenario(run=RUN, source=Source(kind="preset")))
    assert rows
    figure, table = tornado(rows, WORDS), plan_tables.advice(rows, WORDS)
    names = [str(name).replace("<br>", " ") for name in figure.data[0].y]
    assert names == [row.cells[0] for row in table.rows]
    assert list(figure.data[0].x) == pytest.approx([-100 * row.time for row in rows])


def test_what_is_short_names_amounts_and_the_nearest_changes() -> None:
    answer = planned(RUN.changed({"hardware.count": 8, "training.layout": "auto"}))
    assert answer.shortfall is not None
    lines = plan_changes.short_lines(answer.shortfall, WORDS)
    assert show_bytes(answer.shortfall["bytes"]) in lines[0]
    assert plan_tables.nearest(answer.shortfall, WORDS).rows


def test_a_pinned_plan_is_compared_figure_by_figure() -> None:
    before, after = planned(), planned(RUN.changed({"hardware.count": 1024}))
    rows = {row.values[0]: row for row in compare.comparison(before, after, WORDS).rows}
    assert rows["time"].values[3] == pytest.approx(after.run.seconds / before.run.seconds - 1)
    assert compare.changes(RUN, RUN.changed({"hardware.count": 1024})) == [
        "hardware.count 512 → 1,024"
    ]


def test_names_from_outside_are_escaped_in_tables() -> None:
    row = Row(cells=("<img src=x onerror=alert(1)>",), values=("=1+1",))
    table = Table(columns=("name",), names=("name",), rows=(row,))
    assert "<img" not in to_html(table, caption="<b>")
    assert to_csv(table).splitlines()[1] == "'=1+1"


def test_a_wide_table_folds_into_cards_that_name_each_figure_and_a_narrow_one_stays() -> None:
    names = ("Part", "Time", "Cost", "Energy", "Memory", "Status")
    for width, folds in ((6, True), (5, False)):
        row = Row(cells=tuple("abcdef"[:width]), values=())
        page = to_html(Table(columns=names[:width], names=(), rows=(row,)), caption="x")
        assert ("fr-fold" in page) is folds
        assert '<td role="cell" data-column="Memory">e</td>' in page


def test_the_report_is_one_file_with_every_number_and_nothing_from_elsewhere() -> None:
    rows = advised(Scenario(run=RUN, source=Source(kind="preset")))
    page = report(planned(), rows, WORDS, title="A <plan>")
    assert "A &lt;plan&gt;" in page
    assert "http" not in page.replace("https://", "http", 0).split("<body>")[0]
    assert "<script" not in page
    for card in headline.cards(planned(), WORDS):
        assert card.value in page


def test_the_json_download_is_the_plan() -> None:
    assert json.loads(downloads.plan_json(planned())) == json.loads(json.dumps(planned().to_json()))


def test_all_tables_come_in_one_file() -> None:
    text = downloads.all_tables(planned(), WORDS)
    assert text.startswith("# step\npart,seconds,share\n")
    assert f"run_seconds,{planned().run.seconds}" in text


def test_the_evidence_names_grade_and_price() -> None:
    lines = plan_sections.evidence_lines(planned(), WORDS)
    assert lines[0] == f"Evidence: {WORDS.name('grade', planned().evidence.grade)}"
    assert any(str(planned().cost.price_source) in line for line in lines)


ROWS = [
    {"id": "a1", "source": "a", "kind": "time", "actual": 1.0, "predicted": 1.1, "ape": 0.1},
    {"id": "b1", "source": "b", "kind": "time", "actual": 2.0, "predicted": 4.0, "ape": 1.0},
]
SCORE = {"n": 1, "median_ape": 0.1, "p90_ape": 0.2, "bias": 0.0, "coverage80": 0.8}
ANSWER = {
    "mode": "leave-one-source-out",
    "time": SCORE | {"mean_of_source_medians": 0.3, "by_source": {"b": SCORE, "a": SCORE}},
    "memory": {"fit_accuracy": 0.9, "oom_recall": None, "ran_called_does_not": 0.1},
}


def test_the_accuracy_figure_has_one_marker_a_row() -> None:
    figure = against_measured(ROWS, WORDS, kind="time")
    marks = [trace for trace in figure.data if trace.mode == "markers"]
    assert [(trace.x[0], trace.y[0]) for trace in marks] == [(1.0, 1.1), (2.0, 4.0)]
    assert figure.layout.xaxis.type == figure.layout.yaxis.type == "log"
    assert within(ROWS) == 0.5


def test_the_accuracy_page_says_unknown_for_what_is_not_known() -> None:
    cards = accuracy_headline(ANSWER, WORDS)
    assert cards[0].value == "10 %"
    assert cards[3].notes[1].startswith("unknown")
    assert [row.cells[0] for row in by_source(ANSWER["time"], WORDS).rows][-1] == "Total"
    assert errors_by_source([("a", 0.1, 0.3)], WORDS).data
