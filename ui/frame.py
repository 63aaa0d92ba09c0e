"""What all pages share: the look, the language, the scenario and its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import streamlit as st

from planner.errors import PlannerError
from planner.planning.result import Plan
from ui import scenario, sidebar, state
from ui.answers import answer
from ui.scenario import Scenario
from ui.text import Words

_STYLE = Path(__file__).parent / "style.css"
_ICON = Path(__file__).parent / "icon.svg"
_ASKED = "_asked"
SIDEBAR_WIDTH = 340  # pixels; hidden at first on a narrow screen


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """The scenario of the fields with its plan, both None where a field is wrong."""

    scenario: Scenario | None
    plan: Plan | None
    mistakes: Mapping[str, str]  # message by field; "" for those that belong to no field


def configure() -> None:
    """The page's frame; the first thing that the application says."""
    st.set_page_config(
        page_title="forerun",
        page_icon=str(_ICON),
        layout="wide",
        initial_sidebar_state=SIDEBAR_WIDTH,
    )
    st.html(_STYLE)


def nothing() -> None:
    """The page of an address that leads to another page."""


def words() -> Words:
    """The words of the person's language."""
    state.restore()
    return Words(language=st.session_state["lang"])


def ask(words: Words, page: str) -> None:
    """Draw the scenario's inputs and answer them, for the page to show."""
    drawn = sidebar.Sidebar(words)
    now = drawn.draw()
    state.publish(now, page)
    asked = _answered(now)
    drawn.show(asked.mistakes)
    sidebar.hints(drawn, now, asked.mistakes)
    for key, value, taken in state.notes():
        st.warning(words("app.link_wrong", key=key, value=value, default=taken))
    st.session_state[_ASKED] = asked


def asked() -> Asked:
    """What the fields ask in this run of the page."""
    return cast("Asked", st.session_state[_ASKED])


def _answered(now: Mapping[str, str]) -> Asked:
    reading = scenario.read(now)
    if reading.scenario is None:
        return Asked(scenario=None, plan=None, mistakes=reading.mistakes)
    try:
        plan = answer(reading.scenario)
    except PlannerError as error:
        return Asked(scenario=None, plan=None, mistakes=scenario.mistake(error, now))
    return Asked(scenario=reading.scenario, plan=plan, mistakes={})
