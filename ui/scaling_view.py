"""What the Scaling page shows, worked out: curves, optimum and frontier of one budget."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import streamlit as st

from planner.errors import PlannerError
from planner.planning.joined.answer import joined_answer
from planner.planning.joined.best import Best, best_of
from planner.planning.joined.paces import Budget, Paces, paces, settings_words
from planner.planning.joined.spent import Spent
from planner.planning.joined.wishes import Wishes
from planner.run import Run
from planner.scaling.laws import Law, choose_law
from ui.model_source import Source

OTHERS = (1 / 16, 1 / 4, 4.0, 16.0)  # budgets drawn beside the one that is asked for
REACH = 30.0  # the frontier goes from the budget over this to the budget times this
FRONTIER_POINTS = 13
DAY = 86_400.0  # s


@dataclass(frozen=True, slots=True, kw_only=True)
class LawChoice:
    """A law by name, or the runs to fit one to; neither is the usual law."""

    name: str | None = None
    runs: bytes | None = None  # a CSV


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the controls of the page ask."""

    unit: str  # usd | days | flops
    amount: float
    law: LawChoice
    conditions: tuple[tuple[str, float], ...]
    inference_tokens: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """The whole budget spent on one size; loss None where it does not fit."""

    params: float
    tokens: float | None
    loss: float | None  # nats per token
    in_band: bool
    own: bool = False  # the run's own model
    settings: str = ""
    mfu: float | None = None
    does_not_fit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """Loss against size at one budget."""

    amount: float  # in the unit that was asked
    points: tuple[Point, ...]
    params: float  # of the optimum
    tokens: float
    loss: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontierRow:
    """The best use of one budget; bounds of 80 %."""

    amount: float
    params: float
    tokens: float
    loss: float
    low: float
    high: float
    gain: float  # of doubling the budget


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Everything the page shows about a budget. Intervals bound 80 %."""

    asked: Asked
    usd: float | None
    seconds: float | None
    params: tuple[float, float | None, float | None]  # value, low, high
    tokens: tuple[float, float | None, float | None]
    loss: tuple[float, float, float]
    band: tuple[float, float]
    gain: float
    curve: Curve
    others: tuple[Curve, ...]
    frontier: tuple[FrontierRow, ...]
    own: Point | None  # the run as it is stated, with this budget
    shape: str | None  # of the planned size nearest to the optimum
    serving: dict[str, float] | None
    limit: str | None
    law: str
    counts: str
    price: str | None
    machine: str | None
    warnings: tuple[str, ...]
    answer: dict[str, Any]  # as the command line prints it with --json


@st.cache_data(max_entries=64, show_spinner=False)
def view_of(run: Run, source: Source, asked: Asked) -> View:
    """The view for a run's machine. Raises PlannerError."""
    if asked.unit == "flops":
        from ui.scaling_ideal import of_flops

        return of_flops(asked, choose_law(chosen_law(asked.law), dict(asked.conditions)))
    return _of_money(run, source, asked)


@st.cache_data(max_entries=16, show_spinner=False)
def law_of_runs(csv: bytes) -> Law:
    """The law fitted to uploaded runs. Raises PlannerError."""
    from planner.scaling.bootstrap import bootstrap
    from planner.scaling.fit import fit_runs
    from planner.scaling.runs import read_runs

    text = csv.decode("utf-8-sig", errors="replace")
    return bootstrap(fit_runs(read_runs(io.StringIO(text)))).as_law(name="your runs")


def chosen_law(choice: LawChoice) -> str | Law | None:
    return law_of_runs(choice.runs) if choice.runs is not None else choice.name


def _budget(asked: Asked, amount: float) -> Budget:
    return Budget(usd=amount) if asked.unit == "usd" else Budget(seconds=amount * DAY)


@st.cache_data(max_entries=32, show_spinner=False)
def _paces(run: Run, source: Source, asked: Asked, low: float, high: float) -> Paces:
    return paces(
        run,
        _budget(asked, low),
        _budget(asked, high),
        law=chosen_law(asked.law),
        conditions=dict(asked.conditions),
        model=source.load(),
    )


def _table(run: Run, source: Source, asked: Asked) -> Paces:
    """Sizes for all budgets near the one asked for, so that changing it within its power of ten
    plans nothing anew; ends that buy nothing, or centuries, are drawn in."""
    ten = 10.0 ** np.floor(np.log10(asked.amount))
    same = Asked(
        unit=asked.unit,
        amount=float(ten),
        law=asked.law,
        conditions=asked.conditions,
        inference_tokens=None,
    )
    try:
        return _paces(run, source, same, float(ten / 10), float(ten * 100))
    except PlannerError:
        return _paces(run, source, same, asked.amount, asked.amount)


def _of_money(run: Run, source: Source, asked: Asked) -> View:
    table = _table(run, source, asked)
    best = best_of(table, _budget(asked, asked.amount))
    wishes = Wishes(inference_tokens=asked.inference_tokens)
    answer = joined_answer(table, best, wishes)
    shape = (
        f"{best.nearest.layers} × {best.nearest.hidden}, {settings_words(best.nearest.settings)}"
    )
    return View(
        asked=asked,
        usd=best.usd,
        seconds=best.seconds,
        params=(best.params, best.params_low, best.params_high),
        tokens=(best.tokens, best.tokens_low, best.tokens_high),
        loss=(best.loss, best.loss_low, best.loss_high),
        band=best.band,
        gain=best.gain_next_doubling,
        curve=_joined_curve(best, asked.amount),
        others=tuple(_joined_others(table, asked)),
        frontier=tuple(_joined_frontier(table, asked)),
        own=_point(best.own),
        shape=shape,
        serving=answer["serving"],
        limit=best.limit,
        law=table.law.name,
        counts=table.law.counts,
        price=table.price,
        machine=table.machine,
        warnings=best.warnings,
        answer=answer,
    )


def _point(row: Spent) -> Point:
    return Point(
        params=row.pace.params,
        tokens=row.tokens,
        loss=row.loss,
        in_band=row.in_band,
        own=row.pace.own,
        settings=settings_words(row.pace.settings),
        mfu=row.pace.mfu if row.loss is not None else None,
        does_not_fit=not row.pace.fits,
    )


def _joined_curve(best: Best, amount: float) -> Curve:
    return Curve(
        amount=amount,
        points=tuple(_point(row) for row in best.sizes),
        params=best.params,
        tokens=best.tokens,
        loss=best.loss,
    )


def _joined_others(table: Paces, asked: Asked) -> list[Curve]:
    amounts = [asked.amount * factor for factor in OTHERS]
    return [_joined_curve(best, amount) for amount, best in _affordable(table, asked, amounts)]


def _joined_frontier(table: Paces, asked: Asked) -> list[FrontierRow]:
    amounts = [float(each) for each in amounts_near(asked.amount)]
    return [
        FrontierRow(
            amount=amount,
            params=best.params,
            tokens=best.tokens,
            loss=best.loss,
            low=best.loss_low,
            high=best.loss_high,
            gain=best.gain_next_doubling,
        )
        for amount, best in _affordable(table, asked, amounts)
    ]


def _affordable(table: Paces, asked: Asked, amounts: Sequence[float]) -> list[tuple[float, Best]]:
    """Budgets with their optimum, less those that buy nothing or centuries, or whose optimum lies
    beyond the sizes that were planned."""
    found = []
    for amount in amounts:
        try:
            best = best_of(table, _budget(asked, amount))
        except PlannerError:
            continue
        if best.limit is None or "fits" in best.limit:
            found.append((amount, best))
    return found


def amounts_near(amount: float) -> Any:
    """Budgets of the frontier, shape (FRONTIER_POINTS,)."""
    return amount * np.geomspace(1 / REACH, REACH, FRONTIER_POINTS)
