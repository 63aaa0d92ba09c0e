"""The Scaling page: the numbers of the command, switches, uploads, refusals."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from planner.planning.joined.best import best_of
from planner.planning.joined.paces import Budget, paces
from planner.planning.plan import plan
from planner.quantities import show_count
from planner.run import Run
from ui import scaling_fit
from ui import scaling_tables as tables
from ui.charts.axes import FEWEST_TICKS, MOST_TICKS, log_ticks
from ui.charts.scaling import frontier_figure, isoflop_figure, residual_figure, size_figure
from ui.model_source import Source
from ui.scaling_page import shower
from ui.scaling_view import Asked, LawChoice, View, view_of
from ui.table import to_csv
from ui.text import Words

APP = Path(__file__).parents[2] / "app.py"
WORDS = Words(language="en")
RUN = Run(
    model="llama-3-8b",
    data={"tokens": "1T", "seq_len": 8192},
    hardware={"sku": "h100-sxm5-80gb", "count": 64},
)
PRESET = Source(kind="preset", config="", dimensions=())


def asked(
    unit: str = "usd", amount: float = 5e4, served: float | None = None, unique: float | None = None
) -> Asked:
    return Asked(
        unit=unit,
        amount=amount,
        law=LawChoice(),
        conditions=() if unique is None else (("unique_tokens", unique),),
        inference_tokens=served,
    )


@cache
def view(unit: str = "usd", amount: float = 5e4) -> View:
    return view_of(RUN, PRESET, asked(unit, amount, served=1e12))


def runs_csv(outlier: bool = False) -> bytes:
    generator = np.random.default_rng(0)
    lines = ["params,tokens,loss"]
    for params in np.geomspace(5e7, 2e9, 5):
        for ratio in (5, 20, 60, 200):
            tokens = params * ratio
            loss = 1.9 + 300 * params**-0.32 + 1500 * tokens**-0.36
            lines.append(f"{params},{tokens},{loss * np.exp(generator.normal(0, 0.003))}")
    lines += ["1e9,2e10,9.9"] if outlier else []
    return "\n".join(lines).encode()


def opened(**params: str) -> AppTest:
    """The page as a link with these parameters opens it."""
    page = AppTest.from_file(str(APP), default_timeout=60)
    page.switch_page("ui/pages/scaling.py")
    for key, value in params.items():
        page.query_params[key] = value
    page.run()
    assert not page.exception
    return page


@pytest.fixture
def page() -> Iterator[AppTest]:
    shown = opened()
    yield shown
    assert not shown.exception


def html(page: AppTest) -> str:
    return "\n".join(str(each.proto.body) for each in page.get("html"))


def figure(page: AppTest, name: str) -> str:
    found = re.search(rf'data-figure="{name}".*?data-value>([^<]*)<', html(page), re.DOTALL)
    return found[1] if found else ""


def test_the_view_holds_the_numbers_of_the_planner() -> None:
    budget = Budget(usd=5e4)
    best = best_of(paces(RUN, budget), budget)
    assert view().loss[0] == pytest.approx(best.loss, rel=1e-3)
    assert view().answer["as_stated"]["loss"] == pytest.approx(best.own.loss)


def test_the_page_spends_what_the_plan_costs_until_told_otherwise(page: AppTest) -> None:
    usd = plan(RUN).cost.usd
    assert usd is not None
    whole = view_of(RUN, PRESET, asked(amount=float(f"{usd:.0f}")))
    assert figure(page, "best_size") == show_count(whole.params[0])
    assert figure(page, "best_loss") == f"{whole.loss[0]:.3f}"
    page.text_input(key="scaling_usd").set_value("50k").run()
    assert figure(page, "best_loss") == f"{view().loss[0]:.3f}"
    assert figure(page, "budget") == "$50,000"


def test_days_and_flop_are_budgets_too(page: AppTest) -> None:
    page.segmented_control(key="scaling_unit").set_value("days").run()
    page.text_input(key="scaling_days").set_value("7").run()
    assert figure(page, "best_loss") == f"{view('days', 7.0).loss[0]:.3f}"
    page.segmented_control(key="scaling_unit").set_value("flops").run()
    page.text_input(key="scaling_flops").set_value("5.76e23").run()
    assert figure(page, "best_size") == "72.2 B"
    assert figure(page, "budget") == "5.76e23 FLOP"


def test_data_that_repeats_and_serving_change_the_answer(page: AppTest) -> None:
    page.text_input(key="scaling_usd").set_value("50k").run()
    fresh = figure(page, "best_loss")
    page.toggle(key="scaling_repeats").set_value(True).run()
    assert figure(page, "best_loss") > fresh
    page.text_input(key="scaling_repeats_tokens").set_value("lots").run()
    assert "write a number of tokens" in html(page)
    assert figure(page, "best_loss") == ""
    page.toggle(key="scaling_repeats").set_value(False).run()
    page.toggle(key="scaling_serves").set_value(True).run()
    assert "reach the same loss and save" in html(page)


@pytest.mark.parametrize(
    ("text", "words"), [("many", "write"), ("-3", "above zero"), ("3", "needs 300 s to start")]
)
def test_a_budget_that_cannot_be_is_said_and_the_page_stays(
    page: AppTest, text: str, words: str
) -> None:
    page.text_input(key="scaling_usd").set_value(text).run()
    said = html(page) + "".join(error.value for error in page.error)
    assert words in said
    assert figure(page, "best_loss") == ""
    page.text_input(key="scaling_usd").set_value("50k").run()
    assert figure(page, "best_loss")


def test_a_task_without_a_law_is_refused_with_the_reason(page: AppTest) -> None:
    page.selectbox(key="task").set_value("full-ft").run()
    assert "no law forecasts the loss of full-ft" in page.error[0].value


def test_uploaded_runs_are_fitted_and_may_be_the_law(page: AppTest) -> None:
    page.file_uploader(key="scaling_runs").set_value(("runs.csv", runs_csv(), "text/csv")).run()
    answer = scaling_fit.fitted(runs_csv())
    assert f">{answer['constants']['E']:.4g}<" in html(page)
    before = figure(page, "best_loss")
    page.selectbox(key="scaling_law").set_value("own-runs").run()
    assert figure(page, "best_loss") not in ("", before)
    assert "law your runs" in html(page)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "params,tokens,loss"),
        (b"params,tokens,loss\n1e9,2e10,nan", "line 2, loss"),
        (b"params,tokens,loss\n1e9,2e10,3\n1e9,4e10,2.9", "three sizes"),
        (b"\x00\x01\xff binary", "params,tokens,loss"),
        (b"params,tokens,loss\n<script>alert(1)</script>,1,1", "positive finite number"),
    ],
)
def test_unusable_runs_are_refused_and_the_page_stays(
    page: AppTest, content: bytes, words: str
) -> None:
    page.file_uploader(key="scaling_runs").set_value(("runs.csv", content, "text/csv")).run()
    assert any(words in error.value for error in page.error)
    assert "<script>" not in html(page)
    assert figure(page, "best_loss")


def test_a_model_that_is_trained_on_samples_has_no_law_and_the_page_says_so(page: AppTest) -> None:
    page.selectbox(key="model").set_value("resnet-50").run()
    said = WORDS("scaling.no_tokens", model="resnet-50")
    assert [each.value for each in page.info] == [said]
    assert not page.error


def test_the_page_speaks_traditional_chinese(page: AppTest) -> None:
    page.segmented_control(key="lang").set_value("zh-Hant").run()
    assert "一筆預算能換到什麼" in html(page)


def test_the_size_figure_marks_the_best_and_the_run() -> None:
    drawn = size_figure(view(), WORDS)
    texts = [trace.text[-1] for trace in drawn.data if trace.text]
    assert texts == ["does not fit", "your run", "best"]
    assert drawn.layout.shapes[0].x0 == pytest.approx(view().band[0])
    line = drawn.data[0]
    assert min(line.y) == pytest.approx(min(p.loss for p in view().curve.points if p.loss))


def test_curves_of_other_budgets_have_their_optima_on_one_line() -> None:
    drawn = isoflop_figure(view(), WORDS, shower("usd", WORDS))
    losses = list(drawn.data[-1].y)
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 1 + len(view().others)


def test_the_frontier_falls_and_its_table_has_the_same_rows() -> None:
    rows = view().frontier
    show = shower("usd", WORDS)
    drawn = frontier_figure(rows, WORDS, show, here=rows[3], own=(5e4, 2.2))
    losses = list(drawn.data[1].y)
    assert losses == sorted(losses, reverse=True)
    table = to_csv(tables.frontier(rows, "usd", WORDS, show)).splitlines()
    assert len(table) == len(rows) + 1
    assert table[0].startswith("usd,params,tokens,loss,low,high")


def test_tables_hold_every_size_and_the_run_as_stated() -> None:
    rows = tables.sizes(view(), WORDS).rows
    assert len(rows) == len(view().curve.points) + 1
    assert "your run as stated" in rows[-1].cells[0]


def test_residuals_show_outliers_apart() -> None:
    answer = scaling_fit.fitted(runs_csv(outlier=True))
    drawn = residual_figure(answer["rows"], WORDS)
    assert len(drawn.data[1].x) == 1
    assert answer["without_outliers"]["E"] == pytest.approx(1.9, rel=0.05)
    worst = tables.residuals(answer["rows"], WORDS).rows[0]
    assert worst.values[0] == 21


def test_the_uploaded_law_is_read_the_same_by_page_and_command() -> None:
    from planner.scaling.fit import fit_runs
    from planner.scaling.runs import read_runs

    fit = fit_runs(read_runs(io.StringIO(runs_csv().decode())))
    assert scaling_fit.fitted(runs_csv())["constants"] == pytest.approx(fit.constants)


@pytest.mark.parametrize(("low", "high"), [(1e8, 2e12), (2e9, 5e9), (1, 1e30), (4.2e3, 4.9e3)])
def test_ticks_are_few_and_inside(low: float, high: float) -> None:
    ticks = log_ticks([low, high], show_count)["tickvals"]
    assert 2 <= len(ticks) <= MOST_TICKS
    assert FEWEST_TICKS <= MOST_TICKS
    assert all(low <= tick <= high for tick in ticks)


def test_a_link_reproduces_the_controls_and_the_address_keeps_them() -> None:
    link = {"scaling_unit": "days", "scaling_days": "7", "scaling_serves": "1"}
    link |= {"scaling_serves_tokens": "2T", "scaling_law": "besiroglu2024"}
    page = opened(**link)
    assert page.segmented_control(key="scaling_unit").value == "days"
    assert page.toggle(key="scaling_serves").value is True
    assert page.text_input(key="scaling_serves_tokens").value == "2T"
    assert figure(page, "best_loss") == f"{view('days', 7.0).loss[0]:.3f}"
    assert dict(page.query_params) == link
    page.toggle(key="scaling_serves").set_value(False).run()
    page.text_input(key="scaling_days").set_value("").run()
    assert "scaling_serves" not in page.query_params
    assert "scaling_days" not in page.query_params


def test_a_link_with_a_control_that_cannot_be_says_so_and_the_page_opens() -> None:
    page = opened(scaling_unit="roubles", scaling_repeats="perhaps")
    assert "scaling_unit = roubles" in page.warning[0].value
    assert figure(page, "best_loss")


def test_the_address_of_another_page_says_nothing_of_this_one(page: AppTest) -> None:
    page.text_input(key="scaling_usd").set_value("50k").run()
    assert dict(page.query_params) == {"scaling_usd": "50k"}
    page.switch_page("ui/pages/accuracy.py").run()
    assert dict(page.query_params) == {}
    page.switch_page("ui/pages/scaling.py").run()
    assert page.text_input(key="scaling_usd").value == "50k"
