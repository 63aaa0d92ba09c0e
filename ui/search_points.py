"""The Pareto section of the Search page, and the way from a configuration to the Plan page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from planner.quantities import show_duration, show_whole
from planner.run import Run
from ui import jump
from ui import search_tables as tables
from ui.charts.pareto import pareto_figure, status_of
from ui.charts.style import TOOLBAR
from ui.search_job import Found, Question
from ui.table import to_csv, to_html
from ui.text import Words

_PICKED = "_search_picked"  # the figure's selection that last led to the Plan page


def takeaway(found: Found, words: Words) -> str:
    """How many machines, prices and precisions there are, and how many nothing beats."""
    statuses = [status_of(row) for row in found.points]
    count, front = show_whole(len(statuses)), statuses.count("front")
    if not front:
        parts = [words("search.points_none", count=count)]
    else:
        parts = [words("search.points_takeaway", count=count, front=show_whole(front))]
    for status in ("broken", "too_large"):
        if number := statuses.count(status):
            parts.append(words(f"search.points_{status}", count=show_whole(number)))
    return " ".join(parts)


def draw(found: Found, question: Question, words: Words) -> None:
    """Time against money; a click on a point, or the box and its button, opens it in Plan."""
    title, text = words("search.points_title"), takeaway(found, words)
    stated, budget = found.answer["as_stated"], question.run.budget
    figure = pareto_figure(
        found.points,
        words,
        stated=None if stated is None or "error" in stated else stated,
        budget={"days": budget.days, "usd": budget.usd, "kwh": budget.kwh},
        name=lambda row: tables.row_name(row, words),
    )
    with st.container(key="section_points", gap="small"):
        st.subheader(title, anchor="points")
        st.html(f'<p class="fr-take">{escape(text)} {escape(words("search.click"))}</p>')
        saved = TOOLBAR["toImageButtonOptions"] | {"filename": "forerun-search"}
        event = st.plotly_chart(
            figure,
            key="chart_points",
            config=TOOLBAR | {"toImageButtonOptions": saved},
            alt=f"{title}. {text}",
            on_select="rerun",
            selection_mode="points",
        )
        _follow(event, found, question.run)
        _pick(found, question.run, words)
        table = tables.points(found.points, words)
        st.html(to_html(table, caption=title))
        st.download_button(
            words("plan.csv_of"),
            to_csv(table),
            file_name="forerun-search.csv",
            mime="text/csv",
            key="csv_points",
            icon=":material/download:",
            type="tertiary",
            on_click="ignore",
        )


def _follow(event: Any, found: Found, said: Run) -> None:
    """Go to Plan with the point that was clicked, once a click."""
    picked = [
        point["customdata"][0] for point in event["selection"]["points"] if "customdata" in point
    ]
    before, st.session_state[_PICKED] = st.session_state.get(_PICKED), picked
    if picked and picked != before:
        jump.to_plan(found.changes_of(found.points[int(picked[0])], said))


def _pick(found: Found, said: Run, words: Words) -> None:
    """The same without a mouse."""
    rows = [*found.points, *found.answer["alternatives"]]
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="search_open"):
        index = st.selectbox(
            words("search.pick"),
            range(len(rows)),
            format_func=lambda index: _option(index, rows, len(found.points), words),
            key="search_pick",
        )
        if st.button(words("search.open"), icon=":material/arrow_forward:", key="search_go_to"):
            jump.to_plan(found.changes_of(rows[index or 0], said))


def _option(index: int, rows: Sequence[Mapping[str, Any]], numbered: int, words: Words) -> str:
    row = rows[index]
    mark = str(index + 1) if index < numbered else tables.letter(index - numbered)
    took = words.number(show_duration(row["seconds"]))
    return f"{mark}. {tables.row_name(row, words)} · {took}"
