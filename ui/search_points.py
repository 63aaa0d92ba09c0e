"""The Pareto section of the Search page, and the way from a configuration to the Plan page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

from planner.quantities import show_duration, show_whole
from planner.run import Run
from ui import jump
from ui import search_tables as tables
from ui.charts.pareto import pareto_figure, status_of
from ui.search_job import Found, Question
from ui.show import chart, csv_button
from ui.table import to_html
from ui.text import Words

MOST_ROWS = 40  # shown; the download has all
_CLICKED = "_search_clicked"


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
        chart("points", figure, alt=f"{title}. {text}", on_select=_clicked)
        _follow(found, question.run)
        _pick(found, question.run, words)
        table = tables.points(found.points, words)
        st.html(to_html(replace(table, rows=table.rows[:MOST_ROWS]), caption=title))
        if len(table.rows) > MOST_ROWS:
            st.caption(words("search.more_rows", count=show_whole(len(table.rows) - MOST_ROWS)))
        csv_button("points", words, table)


def _clicked() -> None:
    """Remember the point, for the page to go there: a callback cannot leave the page."""
    chosen = st.session_state["chart_points"]["selection"]["points"]
    if chosen and "customdata" in chosen[0]:
        st.session_state[_CLICKED] = int(chosen[0]["customdata"][0])


def _follow(found: Found, said: Run) -> None:
    """Go to Plan with the point that was clicked."""
    clicked = st.session_state.pop(_CLICKED, None)
    if clicked is not None and clicked < len(found.points):
        jump.to_plan(found.changes_of(found.points[clicked], said))


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
