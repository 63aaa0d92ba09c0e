"""Answers of the planner, remembered: the same question is worked out once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import streamlit as st

from planner.planning.result import Plan
from planner.run import Run
from ui.model_source import Source
from ui.scenario import Scenario


def answer(scenario: Scenario) -> Plan:
    """The plan of a scenario. Raises PlannerError."""
    return _planned(scenario.run, scenario.source)


@st.cache_data(max_entries=512, show_spinner=False)
def _planned(run: Run, source: Source) -> Plan:
    from planner.planning.plan import plan

    return plan(run, model=source.load())


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """A change that was really planned, with what it brings. Shares are positive when saved."""

    words: str
    changes: Mapping[str, object]
    time: float
    cost: float | None
    run_seconds: float
    usd: float | None


def advised(scenario: Scenario) -> list[Advised]:
    """What would help most, best first."""
    return _advised(scenario.run, scenario.source)


@st.cache_data(max_entries=256, show_spinner=False)
def _advised(run: Run, source: Source) -> list[Advised]:
    from planner.planning.advice import gains_of
    from planner.planning.plan import planned

    return [
        Advised(
            words=gain.variant.words,
            changes=dict(gain.variant.changes),
            time=gain.time,
            cost=gain.cost,
            run_seconds=gain.outline.run.seconds,
            usd=gain.outline.cost.usd,
        )
        for gain in gains_of(planned(run, model=source.load()).outline)
    ]


@st.cache_data(max_entries=256, show_spinner=False)
def loss_curve(
    params: float, tokens: float, law: str, unique_tokens: float | None, experts: float | None
) -> list[dict[str, Any]]:
    """Loss with its 80 % bounds at 41 training lengths around `tokens`, up to eight times it."""
    from planner.scaling.forecast import predict_loss

    rows = []
    for index in range(41):
        length = tokens * 2 ** (-5 + index / 5)
        forecast = predict_loss(
            params=params, tokens=length, law=law, unique_tokens=unique_tokens, experts=experts
        )
        rows.append(
            {"tokens": length, "loss": forecast.value, "low": forecast.low, "high": forecast.high}
        )
    return rows
