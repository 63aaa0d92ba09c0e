"""The Search page: the answer of the command, in the background, and the way to Plan."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from planner import search
from planner.planning.plan import plan
from planner.quantities import show_duration
from planner.run import Run
from planner.search.restrictions import restrictions
from ui import run_file, scenario, search_answer, search_headline, search_points, search_study
from ui import search_tables as tables
from ui.charts.pareto import measure_of, pareto_figure, status_of
from ui.charts.trials import importance_figure, trials_figure
from ui.fields import DEFAULTS
from ui.model_source import Source
from ui.search_job import Found, News, Question, worker
from ui.search_limits import limits, relaxing
from ui.search_page import jobs
from ui.search_words import Form, read
from ui.table import to_csv
from ui.text import Words

APP = Path(__file__).parents[2] / "app.py"
WORDS = Words(language="en")
RUN = Run(
    model="gpt2-xl",
    data={"tokens": "20B", "seq_len": 1024},
    hardware={"sku": "a100-sxm4-80gb", "count": 8},
)
PARAMS = {"model": "gpt2-xl", "tokens": "20B", "seq_len": "1024", "sku": "a100-sxm4-80gb"}
QUICK = "--fix compile --fix attention --bound micro_batch=..8"


def question(run: Run = RUN, **said: Any) -> Question:
    wanted, mistakes = read(Form(**{"chosen": {}, "typed": {}, "expert": QUICK} | said))
    assert wanted is not None, mistakes
    return Question(run=run, source=Source(kind="preset"), wanted=wanted)


@cache
def found(**said: Any) -> Found:
    return worker(question(**said))(lambda *_: None)


@cache
def broken() -> Found:
    """A search that nothing answers."""
    return worker(question(RUN.changed({"budget.days": 0.01, "budget.usd": 10})))(lambda *_: None)


@cache
def limited() -> Found:
    """A search whose smaller machines miss the deadline."""
    return worker(question(RUN.changed({"budget.days": 4})))(lambda *_: None)


def opened(**params: str) -> AppTest:
    """The page as a link with these parameters opens it."""
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.switch_page("ui/pages/search.py")
    for key, value in {**PARAMS, "count": "8", **params}.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return page


@pytest.fixture
def page() -> Iterator[AppTest]:
    jobs.clear()
    shown = opened(search_expert=QUICK)
    yield shown
    assert not shown.exception


def html(page: AppTest) -> str:
    return "\n".join(str(each.proto.body) for each in page.get("html"))


def figure(page: AppTest, name: str) -> str:
    shown = re.search(rf'data-figure="{name}".*?data-value>([^<]*)<', html(page), re.DOTALL)
    return shown[1] if shown else ""


def searched(page: AppTest) -> None:
    """Press the button and wait for the job."""
    page.button(key="search_start").click().run()
    for job in list(jobs()._jobs.values()):
        job.join(60)
        assert job.state == "done", job.error
    page.run()


def test_the_page_shows_the_answer_of_the_search(page: AppTest) -> None:
    searched(page)
    best = found().answer["best"]
    assert figure(page, "best_step") == show_duration(best["step"]["seconds"])
    assert figure(page, "best_time") == show_duration(best["run"]["seconds"])


def test_the_best_opens_in_plan_with_the_time_that_was_found(page: AppTest) -> None:
    searched(page)
    page.button(key="to_plan").click().run()
    assert figure(page, "time") == show_duration(found().answer["best"]["run"]["seconds"])
    page.switch_page("ui/pages/search.py").run()
    assert figure(page, "best_step"), "leaving the page does not lose the answer"


def test_any_row_opens_in_plan_without_a_mouse(page: AppTest) -> None:
    searched(page)
    row = found().points[1]
    page.selectbox(key="search_pick").set_value(1).run()
    page.button(key="search_go_to").click().run()
    assert figure(page, "time") == show_duration(row["seconds"])
    assert page.text_input(key="count").value == str(row["count"])


def test_bad_words_are_said_beside_their_field_and_the_page_stays(page: AppTest) -> None:
    page.text_area(key="search_expert").set_value("--fix tpp=3").run()
    assert "did you mean tp?" in html(page)
    page.text_area(key="search_expert").set_value("--fix tp=3").run()
    assert 'class="fr-mistake"' not in html(page)
    page.button(key="search_start").click().run()
    for job in list(jobs()._jobs.values()):
        job.join(60)
    page.run()
    assert 'class="fr-mistake"' in html(page)
    assert "no candidate can run" in html(page)


def test_a_cancelled_search_can_be_started_again(page: AppTest) -> None:
    hold = threading.Event()
    blockers = [jobs().get(name, lambda report: hold.wait(30)) for name in ("one", "two")]
    page.button(key="search_start").click().run()
    waiting = next(job for job in jobs()._jobs.values() if job not in blockers)
    assert waiting.waiting
    page.button(key="search_cancel").click().run()
    waiting.join(10)
    hold.set()
    page.run()
    assert waiting.state == "cancelled"
    assert WORDS("search.cancelled") in [each.value for each in page.info]
    assert page.button(key="search_start").label == WORDS("search.again")


def test_a_link_reproduces_the_form_and_the_address_keeps_it() -> None:
    link = {"search_by": "value", "search_weights": "time=1,cost=3", "search_keep": "loss,compile"}
    link |= {"search_sku": "l4,a100-sxm4-80gb", "search_count": "4,8", "search_tp": "..4"}
    link |= {"search_mode": "trials", "search_trials": "25", "search_free_batch": "1"}
    page = opened(**link)
    assert page.multiselect(key="search_sku").value == ["l4", "a100-sxm4-80gb"]
    shown = page.code[0].value
    assert "--by value --weights time=1,cost=3 --fix loss --fix compile" in shown
    assert "--try sku=l4,a100-sxm4-80gb --try count=4,8 --bound tp=..4" in shown
    assert "--bound global_batch=1.. --trials 25" in shown
    said = {key: value for key, value in page.query_params.items() if key.startswith("search_")}
    assert {key: "".join(value) for key, value in said.items()} == link


def test_a_link_with_an_unknown_word_to_try_says_so() -> None:
    page = opened(search_precision="bf16,fp1")
    assert "search_precision = bf16,fp1" in page.warning[0].value
    assert page.multiselect(key="search_precision").value == []


def test_the_page_speaks_traditional_chinese(page: AppTest) -> None:
    searched(page)
    page.segmented_control(key="lang").set_value("zh-Hant").run()
    assert figure(page, "search_verdict").startswith(("時間", "放得下"))


def test_the_job_gives_the_answer_of_the_command() -> None:
    exact = search(
        RUN,
        restrictions=restrictions(fix=["compile", "attention"], bound=["micro_batch=..8"]),
    ).to_json()
    mine = json.loads(json.dumps(found().answer, allow_nan=False))
    for name in ("best", "run_file", "pareto", "relaxing", "robustness", "nearest"):
        assert mine[name] == exact[name], name


def test_every_row_that_is_shown_becomes_fields_that_plan_to_its_time() -> None:
    values = run_file.values_from_mapping(run_file.mapping_of(DEFAULTS | PARAMS | {"count": "8"}))
    for row in [*found().points, *found().answer["alternatives"][:2]]:
        after = run_file.changed(values, found().changes_of(row, RUN))
        reading = scenario.read(after)
        assert reading.scenario is not None, reading.mistakes
        assert plan(reading.scenario.run).run.seconds == pytest.approx(row["seconds"], rel=1e-9)


def test_the_rows_begin_with_the_best_and_end_with_what_keeps_no_limit() -> None:
    rows = limited().points
    assert rows[0]["seconds"] == limited().answer["best"]["run"]["seconds"]
    kept = [row["keeps_limits"] for row in rows]
    assert kept == sorted(kept, reverse=True)
    assert not kept[-1]


def stopper(after: int) -> Callable[..., None]:
    """The report of a job that is cancelled after so many trials."""

    def report(done: int, total: int, news: News | None = None) -> None:
        if news is not None and news.phase == "trials" and done >= after:
            raise KeyboardInterrupt

    return report


def test_trials_are_kept_under_their_name_and_gone_on_with(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_STORAGE", f"sqlite:///{tmp_path / 'store.db'}")
    first = worker(question(trials="6", study="mine"))(lambda *_: None).answer["study"]
    more = worker(question(trials="9", study="mine"))(lambda *_: None).answer["study"]
    assert (first["trials"], more["trials"], more["of_this_worker"]) == (6, 9, 3)
    cut = worker(question(trials="30", study="mine"))(stopper(after=12))
    assert cut.answer["study"]["trials"] == 12
    assert cut.resumable
    assert more["history"][:6] == first["history"]


def test_a_study_of_another_search_is_refused_beside_its_field(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORERUN_STORAGE", f"sqlite:///{tmp_path / 'store.db'}")
    worker(question(trials="1", study="mine"))(lambda *_: None)
    jobs.clear()
    page = opened(
        search_expert=QUICK,
        search_by="cost",
        search_mode="trials",
        search_trials="2",
        search_study="mine",
    )
    page.button(key="search_start").click().run()
    for job in list(jobs()._jobs.values()):
        job.join(60)
    page.run()
    assert not page.exception
    said = re.findall(r'<div class="fr-mistake" role="alert">([^<]*)<', html(page))
    assert len(said) == 1
    assert "is of another run, other limits or other objectives" in said[0]


def test_cancelled_trials_leave_the_exact_answer_and_say_what_is_missing() -> None:
    made = worker(question(trials="20"))(stopper(after=3))
    assert made.answer["complete"]
    assert not made.complete
    assert not made.resumable, "nothing was kept"
    assert made.answer["study"]["trials"] == 3
    assert WORDS("search.interrupted") in search_study.takeaway(made.answer["study"], WORDS)


def test_the_pareto_figure_holds_every_row_once_and_tells_the_states_apart() -> None:
    rows = limited().points
    made = _pareto(limited())
    marks = [
        trace for trace in made.data if trace.mode == "markers+text" and trace.showlegend is None
    ]
    drawn = {row[0]: (x, y) for trace in marks for row, x, y in _placed(trace)}
    assert drawn == {index: (row["seconds"] / 86_400, row["usd"]) for index, row in enumerate(rows)}
    assert len({(trace.marker.symbol, trace.marker.color) for trace in marks}) == len(marks)
    names = {WORDS(f"search.status_{status_of(row)}") for row in rows}
    assert {trace.name for trace in marks} == names
    assert len(names) > 1
    assert made.layout.xaxis.type == made.layout.yaxis.type == "log"


def _placed(trace: Any) -> Iterator[tuple[Any, float, float]]:
    yield from zip(trace.customdata, trace.x, trace.y, strict=True)


def _pareto(made: Found, budget: dict[str, float | None] | None = None) -> Any:
    return pareto_figure(
        made.points,
        WORDS,
        stated=made.answer["as_stated"],
        budget=budget or {},
        name=lambda row: tables.row_name(row, WORDS),
    )


def test_limits_are_drawn_where_they_lie_near() -> None:
    days = found().points[0]["seconds"] / 86_400
    made = _pareto(found(), {"days": days * 1.5, "usd": None})
    assert [shape.x0 for shape in made.layout.shapes] == [pytest.approx(days * 1.5)]


def test_without_a_price_energy_or_the_number_of_accelerators_is_drawn() -> None:
    unknown = {"usd": None, "kwh": 3.0, "count": 8}
    assert measure_of([unknown]).name == "kwh"
    assert measure_of([unknown | {"kwh": None}]).name == "count"


def test_more_energy_is_a_larger_mark() -> None:
    made = _pareto(found())
    sizes = {
        row[0]: size
        for trace in made.data
        if trace.customdata is not None
        for row, size in zip(trace.customdata, trace.marker.size, strict=True)
    }
    rows = found().points
    most = max(range(len(rows)), key=lambda index: rows[index]["kwh"])
    assert sizes[most] == max(sizes.values())


def test_the_headline_compares_the_best_with_the_run_as_stated() -> None:
    answer = found().answer
    shown = {card.name: card for card in search_headline.cards(answer, WORDS)}
    assert shown["best_step"].value == show_duration(answer["best"]["step"]["seconds"])
    assert show_duration(answer["as_stated"]["step_seconds"]) in shown["best_step"].notes[0]
    change = answer["best"]["run"]["seconds"] / answer["as_stated"]["seconds"] - 1
    text = search_headline.gain(answer, WORDS)
    assert float(re.sub("[^0-9.]", "", text)) == pytest.approx(-100 * change, abs=0.05)


def test_where_nothing_keeps_the_limits_the_nearest_says_what_it_breaks() -> None:
    nearest = broken().answer["nearest"]
    table = limits(nearest["violated"], WORDS)
    assert {row.cells[0] for row in table.rows} == {"Budget", "Deadline"}
    assert "none of them keeps every limit" in search_points.takeaway(broken(), WORDS)
    changes = broken().changes_of(tables.flat(nearest["candidate"]), RUN)
    assert changes["training.layout.tp"] == nearest["candidate"]["chosen"]["layout"]["tp"]
    assert search_answer.reasons(broken()) == []


def test_tables_hold_the_rows_and_name_the_units() -> None:
    csv = to_csv(tables.points(found().points, WORDS)).splitlines()
    assert len(csv) == len(found().points) + 1
    assert "seconds,usd,kwh" in csv[0]
    assert relaxing(found().answer["relaxing"], WORDS).rows[0].values[0] == "memory"
    chosen = tables.settings(found().stated, tables.flat(found().answer["best"]), WORDS)
    differs = {row.values[0] for row in chosen.rows if row.strong}
    assert all(
        (row.values[1] != row.values[2]) == (row.values[0] in differs) for row in chosen.rows
    )


def test_the_trials_figure_falls_to_the_best_and_shows_the_exact_one() -> None:
    history = [
        {"trial": 0, "value": 300.0, "keeps": False, "best": None},
        {"trial": 1, "value": 200.0, "keeps": True, "best": 200.0},
        {"trial": 2, "value": 150.0, "keeps": True, "best": 150.0},
    ]
    made = trials_figure(history, WORDS, by="cost", exact=120.0)
    broken_marks, kept, best = made.data
    assert (list(broken_marks.y), list(kept.y), list(best.y)) == ([300], [200, 150], [200, 150])
    assert made.layout.shapes[0].y0 == 120.0
    study = {"history": history, "regret": 0.25}
    assert search_study.exact_of(study) == pytest.approx(120.0)


def test_importance_is_drawn_most_important_first() -> None:
    made = importance_figure({"pp": 0.2, "tp": 0.7, "loss": 0.001}, str.upper)
    assert list(made.data[0].y) == ["TP", "PP", "LOSS"]
    assert list(made.data[0].text) == ["70 %", "20 %", "< 1 %"]
