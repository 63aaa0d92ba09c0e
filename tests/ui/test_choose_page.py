"""The Choose hardware page: the ranking of the command, filters, refusals, the way to Plan."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner.planning.plan import plan
from planner.quantities import show_duration, show_usd
from planner.run import Run
from planner.search.compare import Filters, compare
from ui import choose_tables as tables
from ui import choose_view
from ui.charts.choose import LARGEST, choose_figure, near, status_of
from ui.choose_controls import counts_of
from ui.choose_view import Question, answered, counts_near, dots, key_of, offered
from ui.model_source import Source
from ui.phrases import said
from ui.table import to_csv, to_html
from ui.text import Words

APP = Path(__file__).parents[2] / "app.py"
WORDS = Words(language="en")
RUN = Run(
    model="gpt2-124m",
    data={"tokens": "10B", "seq_len": 1024},
    hardware={"sku": "h100-sxm5-80gb", "count": 8},
)
PRESET = Source(kind="preset")
SKUS = ("h100-sxm5-80gb", "b200-sxm6-180gb", "rtx-4090", "tpu-v5e", "h800-sxm5-80gb", "epyc-7763")
SCENARIO = {"model": "gpt2-124m", "tokens": "10B", "seq_len": "1024", "count": "8"}
LINK = SCENARIO | {"choose_skus": ",".join(SKUS), "choose_counts": "8,16"}


@cache
def answer(**changes: Any) -> Any:
    asked = {"counts": (4, 8, 16, 64), "skus": SKUS} | changes
    run = RUN.changed({"budget.usd": asked.pop("usd", None)})
    return answered(Question(run=run, source=PRESET, **asked), lambda done, total: None)


@pytest.fixture
def opened() -> Iterator[Callable[..., AppTest]]:
    pages: list[AppTest] = []

    def open_page(**params: str) -> AppTest:
        page = AppTest.from_file(str(APP), default_timeout=60)
        for key, value in (LINK | params).items():
            page.query_params[key] = value
        page.run()
        page.switch_page("ui/pages/choose.py").run()
        pages.append(until_answered(page))
        return page

    yield open_page
    assert all(not page.exception for page in pages)


def until_answered(page: AppTest) -> AppTest:
    for _ in range(100):
        if "choose_cancel" not in [button.key for button in page.button]:
            return page
        time.sleep(0.1)
        page.run()
    raise AssertionError("the comparison does not end")


def html(page: AppTest) -> str:
    return "\n".join(str(each.proto.body) for each in page.get("html"))


def figure(page: AppTest, name: str) -> str:
    found = re.search(rf'data-figure="{name}".*?data-value>([^<]*)<', html(page), re.DOTALL)
    return found[1] if found else ""


def test_the_page_shows_the_first_of_the_command(opened: Callable[..., AppTest]) -> None:
    page = opened()
    first = compare(RUN, filters=Filters(skus=SKUS), counts=[8, 16])["ranking"][0]
    assert figure(page, "choose_best") == tables.name_of(first)
    assert figure(page, "choose_time") == show_duration(first["run"]["seconds"])
    assert figure(page, "choose_cost") == show_usd(first["cost"]["usd"])
    assert "one per cent of time counts as one per cent of money" in html(page)


def test_the_aim_and_the_numbers_can_be_changed(opened: Callable[..., AppTest]) -> None:
    page = opened()
    page.segmented_control(key="choose_by").set_value("cost").run()
    until_answered(page)
    cheapest = compare(RUN, filters=Filters(skus=SKUS), counts=[8, 16], by="cost")["ranking"][0]
    assert figure(page, "choose_cost") == show_usd(cheapest["cost"]["usd"])
    page.text_input(key="choose_counts").set_value("2").run()
    assert figure(until_answered(page), "choose_best").startswith("2 × ")
    assert page.query_params["choose_by"] == "cost"


def test_a_scenario_without_a_usable_machine_is_ranked_too(opened: Callable[..., AppTest]) -> None:
    page = opened(count="some", choose_counts="2")
    assert 'class="fr-mistake"' in html(page)
    assert figure(page, "choose_best").startswith("2 × ")
    page.button(key="choose_open").click().run()
    assert page.text_input(key="count").value == "2"
    assert 'class="fr-mistake"' not in html(page)
    assert figure(page, "time")


def test_another_mistake_is_said_instead_of_a_ranking(opened: Callable[..., AppTest]) -> None:
    page = opened(tokens="lots")
    assert figure(page, "choose_best") == ""
    assert "write a number of tokens" in html(page)


def test_weighing_cost_alone_is_ranking_by_cost(opened: Callable[..., AppTest]) -> None:
    page = opened(choose_by="value", choose_weight="100")
    cheapest = compare(RUN, filters=Filters(skus=SKUS), counts=[8, 16], by="cost")["ranking"][0]
    assert figure(page, "choose_cost") == show_usd(cheapest["cost"]["usd"])


@pytest.mark.parametrize(
    ("key", "text", "said"),
    [
        ("choose_counts", "many", "write a count"),
        ("choose_counts", ",".join(map(str, range(1, 30))), "one to 12 numbers"),
        ("choose_memory", "-3", "above zero"),
        ("choose_usd_per_kwh", "free", "write a number of 0 or more"),
        ("choose_utilisation", "170 %", "must lie between"),
    ],
)
def test_bad_input_is_said_beside_its_field_and_the_page_stays(
    opened: Callable[..., AppTest], key: str, text: str, said: str
) -> None:
    page = opened()
    page.text_input(key=key).set_value(text).run()
    assert not page.exception
    assert said in html(page)
    page.text_input(key=key).set_value("").run()
    assert figure(until_answered(page), "choose_best")


def test_filters_that_leave_nothing_say_so(opened: Callable[..., AppTest]) -> None:
    page = opened(choose_memory="400GiB")
    assert "the filters leave none" in page.error[0].value
    page.text_input(key="choose_memory").set_value("100GiB").run()
    assert figure(until_answered(page), "choose_best").endswith("B200 SXM6 180GB")
    assert "at least 100 GiB asked for" in html(page)


def test_what_cannot_run_is_listed_with_the_reason(opened: Callable[..., AppTest]) -> None:
    assert "EPYC 7763" in html(opened())


def test_a_configuration_opens_in_plan_with_the_same_time(opened: Callable[..., AppTest]) -> None:
    page = opened()
    page.selectbox(key="choose_configuration").set_value("16|rtx-4090|on-demand").run()
    row = next(r for r in answer(counts=(8, 16))["ranking"] if r["sku"] == "rtx-4090")
    sixteen = next((r for r in row["counts"] if r["count"] == 16), row)
    page.button(key="choose_open").click().run()
    assert page.text_input(key="count").value == "16"
    assert page.selectbox(key="sku").value == "rtx-4090"
    assert figure(page, "time") == show_duration(sixteen["seconds"])


def test_the_page_speaks_traditional_chinese(opened: Callable[..., AppTest]) -> None:
    page = opened(lang="zh-Hant")
    assert "選擇硬體" in html(page)
    assert "依綜合值排序" in html(page)
    assert "分鐘" in figure(page, "choose_time") or "小時" in figure(page, "choose_time")


def test_a_comparison_runs_once_can_be_cancelled_and_started_again(
    opened: Callable[..., AppTest], monkeypatch: pytest.MonkeyPatch
) -> None:
    page, started, real = opened(), [], answered
    going = threading.Event()

    def slow(question: Question, progress: Callable[[int, int], None]) -> Any:
        started.append(question.key)
        for done in range(6_000):
            if going.is_set():
                return real(question, progress)
            progress(done, 6_000)
            time.sleep(0.005)
        raise AssertionError("nobody cancelled")

    monkeypatch.setattr(choose_view, "answered", slow)
    page.text_input(key="choose_counts").set_value("32").run()
    assert "the answer to the question before" in page.info[0].value
    page.run()
    assert len(started) == 1
    page.button(key="choose_cancel").click().run()
    job = choose_view.jobs().get(started[0], lambda progress: None)
    job.join(10)
    page.run()
    assert "cancelled" in page.info[0].value
    going.set()
    page.button(key="choose_again").click().run()
    assert figure(until_answered(page), "choose_best").startswith("32 × ")


def test_the_question_names_its_job_by_all_that_it_asks() -> None:
    plain = Question(run=RUN, source=PRESET, counts=(8,))
    others = (
        Question(run=RUN, source=PRESET, counts=(8, 16)),
        Question(run=RUN, source=PRESET, counts=(8,), by="cost"),
        Question(run=RUN, source=PRESET, counts=(8,), min_memory=4e10),
        Question(run=RUN, source=PRESET, counts=(8,), skus=("t4",)),
        Question(run=RUN.changed({"budget.days": 3}), source=PRESET, counts=(8,)),
    )
    assert len({each.key for each in (plain, *others)}) == 6
    assert Question(run=RUN, source=PRESET, counts=(8,)).key == plain.key


def test_the_front_is_what_nothing_beats_in_time_and_cost() -> None:
    every = dots(answer())
    assert every
    for dot in every:
        beaten = any(
            other.row["seconds"] <= dot.row["seconds"]
            and other.row["usd"] <= dot.row["usd"]
            and other.row is not dot.row
            for other in every
        )
        assert dot.front is not beaten
    assert [dot.key for dot in every if dot.best] == [key_of(answer()["ranking"][0])]


def test_what_breaks_a_limit_is_not_on_the_front_and_has_another_mark() -> None:
    every = dots(answer(usd=20))
    broken = [dot for dot in every if dot.row["usd"] > 20]
    assert broken
    assert not any(dot.front for dot in broken)
    drawn = choose_figure(every, WORDS, name=tables.name_of, days=None, usd=20.0)
    symbols = {trace.name: trace.marker.symbol[0] for trace in drawn.data if trace.name}
    assert symbols["breaks a limit"] != symbols["on the front: none is faster and cheaper"]
    assert [note.text for note in drawn.layout.annotations].count("budget") == 1


def test_the_figure_holds_every_dot_once_with_its_key_and_size_by_energy() -> None:
    every = dots(answer())
    drawn = choose_figure(every, WORDS, name=tables.name_of, days=None, usd=None)
    marked = [trace for trace in drawn.data if trace.mode == "markers"]
    keys = [said[0] for trace in marked for said in trace.customdata]
    assert sorted(keys) == sorted(dot.key for dot in every)
    sizes = {
        said[0]: size
        for trace in marked
        for said, size in zip(trace.customdata, trace.marker.size, strict=True)
    }
    most = max((dot for dot in every if dot.row["kwh"]), key=lambda dot: dot.row["kwh"])
    assert sizes[most.key] == LARGEST
    hollow = {
        said[0]: symbol.endswith("-open")
        for trace in marked
        for said, symbol in zip(trace.customdata, trace.marker.symbol, strict=True)
    }
    assert all(hollow[dot.key] is (dot.row["kwh"] is None) for dot in every)


def test_axes_are_logarithmic_where_the_span_asks_for_it() -> None:
    wide = choose_figure(dots(answer()), WORDS, name=tables.name_of, days=None, usd=None)
    assert wide.layout.xaxis.type == "log"
    few = [dot for dot in dots(answer()) if dot.row["sku"] == "h100-sxm5-80gb"][:2]
    narrow = choose_figure(few, WORDS, name=tables.name_of, days=None, usd=None)
    assert narrow.layout.xaxis.type == "linear"
    assert all(narrow.layout.xaxis.ticktext)


def test_a_figure_without_dots_is_drawn_empty() -> None:
    drawn = choose_figure([], WORDS, name=tables.name_of, days=None, usd=None)
    assert not any(trace.name for trace in drawn.data)
    assert near([]) == []


def test_far_slower_points_are_left_undrawn_but_never_the_best() -> None:
    every = dots(answer())
    drawn = near(every)
    front = [dot for dot in every if dot.front]
    assert set(map(key_of, (dot.row for dot in front))) <= {dot.key for dot in drawn}
    assert any(status_of(dot) == "best" for dot in drawn)


def test_every_row_that_is_offered_plans_to_its_own_time() -> None:
    from ui import jump, run_file, scenario
    from ui.fields import DEFAULTS

    said = DEFAULTS | SCENARIO
    for row in list(offered(answer()).values())[:6]:
        changes = jump.changes_of_row(row, "h100-sxm5-80gb")
        reading = scenario.read(run_file.changed(said, changes))
        assert reading.scenario is not None, reading.mistakes
        seconds = row["seconds"] if "seconds" in row else row["run"]["seconds"]
        assert plan(reading.scenario.run).run.seconds == pytest.approx(seconds)


def test_the_ranking_table_has_a_row_each_with_interval_evidence_and_reason() -> None:
    rows = choose_view.fitting(answer())
    table = tables.ranking(rows, WORDS)
    assert len(to_csv(table).splitlines()) == len(rows) + 1
    assert all(row.values[-1] for row in table.rows)
    assert " (" in table.rows[0].cells[1]
    assert {row.cells[5] for row in table.rows} <= {"measured", "published", "datasheet", "assumed"}
    unpriced = next(row for row in table.rows if row.values[1] == "h800-sxm5-80gb")
    assert unpriced.cells[2] == "–"
    assert "<script" not in to_html(table, caption="x")


def test_numbers_to_try_are_read_as_people_write_them() -> None:
    assert counts_of("8; 16,8") == (8, 16)
    assert counts_near(1) == (1, 2, 4)


@pytest.mark.parametrize("by", [None, "time", "cost", "energy"])
def test_reasons_are_said_in_chinese_whole(by: str | None) -> None:
    kept = (*SKUS, "on-demand", "budget.usd", "USD", "W", "min", "h")
    kept = (*kept, "hardware.power_limit", "--power-limit")
    names = re.compile("|".join(rf"(?<![\w-]){re.escape(name)}(?![\w-])" for name in kept))
    for row in answer(by=by, usd=None if by else 30)["ranking"]:
        if not row["fits"]:
            continue
        text = said(row["why"], Words(language="zh-Hant"))
        assert not re.search("[A-Za-z]{2,}", names.sub("", text)), (row["why"], text)
        assert said(row["why"], WORDS) == row["why"]
