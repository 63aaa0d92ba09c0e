"""What to change: what would help a plan that fits, what makes one fit that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from planner.planning.result import Plan
from planner.quantities import show_bytes
from planner.quantities import show_count as show_number
from ui import plan_tables, state
from ui.answers import advised
from ui.charts.advice import tornado
from ui.options import machines_named
from ui.scenario import Scenario
from ui.show import section
from ui.table import to_html
from ui.text import Words


def advice(scenario: Scenario, words: Words) -> None:
    """The changes that save most, each with a button that makes it."""
    rows = advised(scenario)
    if not rows:
        return
    section(
        "advice",
        words,
        title=words("plan.advice_title"),
        takeaway=words("plan.advice_takeaway"),
        figure=tornado(rows, words),
        table=plan_tables.advice(rows, words),
    )
    _buttons("advice", [(each.words, each.changes) for each in rows], words)


def shortfall(plan: Plan, words: Words) -> None:
    """What is short and the nearest changes that mend it, right under the headline."""
    found = plan.shortfall
    if found is None:
        return
    with st.container(border=True, key="shortfall", gap="small"):
        st.subheader(words("plan.short_title"), anchor="shortfall")
        lines = "".join(f"<li>{escape(line)}</li>" for line in short_lines(found, words))
        st.html(f'<ul class="fr-list">{lines}</ul>')
        rows = plan_tables.nearest_rows(found)
        if rows:
            title = words("plan.short_nearest")
            st.html(f'<p class="fr-take">{escape(title)}</p>')
            st.html(to_html(plan_tables.nearest(found, words), caption=title))
            _buttons("short", [(row["change"], row["changes"]) for row in rows], words)


def short_lines(found: Mapping[str, Any], words: Words) -> list[str]:
    """What is short, by how much; which limits are broken."""
    lines = []
    if found.get("bytes"):
        lines.append(words("plan.short_memory", size=show_bytes(found["bytes"])))
    return [*lines, *(_limit_line(each, words) for each in found.get("violated", []))]


def _limit_line(broken: Mapping[str, Any], words: Words) -> str:
    return words(
        "plan.short_limit",
        limit=broken["limit"],
        allowed=show_number(broken["allowed"]),
        needed=show_number(broken["needed"]),
        unit=broken["unit"],
    )


def _buttons(name: str, rows: Sequence[tuple[str, Mapping[str, object]]], words: Words) -> None:
    with st.container(horizontal=True, gap="small", key=f"try_{name}"):
        for index, (text, changes) in enumerate(rows):
            st.button(
                words("plan.try", change=machines_named(text)),
                key=f"try_{name}_{index}",
                on_click=state.apply,
                args=(changes,),
                icon=":material/arrow_forward:",
            )
