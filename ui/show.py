"""How pages show things: a figure with its takeaway, its table and a download, side by side."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

import streamlit as st

from ui.charts.style import FIGURE_FORMATS, toolbar
from ui.table import Table, to_csv, to_html
from ui.text import Words

FIGURE_FORMAT = "figure_format"  # key of the widget that says how figures are saved

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def section(
    name: str,
    words: Words,
    *,
    title: str,
    takeaway: str,
    figure: Figure | None,
    table: Table,
    split: tuple[float, float] = (3, 2),
    before: str = "",
) -> None:
    """A titled section: what to take away, the figure, the same numbers as a table, CSV.

    `before` is HTML, already escaped, that stands above the numbers."""
    with st.container(key=f"section_{name}", gap="small"):
        st.subheader(title, anchor=name, divider=False)
        if takeaway:
            st.html(f'<p class="fr-take">{escape(takeaway)}</p>')
        if before:
            st.html(before)
        if figure is None:
            _table(name, words, table, title)
            return
        left, right = st.columns(split, gap="medium")
        with left:
            chart(name, figure, alt=f"{title}. {takeaway}")
        with right:
            _table(name, words, table, title)


def chart(
    name: str, figure: Figure, *, alt: str, on_select: Callable[[], None] | None = None
) -> None:
    """A figure with a text for those who do not see it; `on_select` is told of a clicked point."""
    saved_as = st.session_state.get(FIGURE_FORMAT) or FIGURE_FORMATS[0]
    st.plotly_chart(
        figure,
        key=f"chart_{name}",
        config=toolbar(name, saved_as),
        alt=alt,
        on_select=on_select or "ignore",
        selection_mode="points",
    )


def _table(name: str, words: Words, table: Table, title: str) -> None:
    st.html(to_html(table, caption=title))
    csv_button(name, words, table)


def csv_button(name: str, words: Words, table: Table) -> None:
    """The table's values, full precision, as `forerun-NAME.csv`; nothing reruns."""
    st.download_button(
        words("plan.csv_of"),
        to_csv(table),
        file_name=f"forerun-{name}.csv",
        mime="text/csv",
        key=f"csv_{name}",
        icon=":material/download:",
        type="tertiary",
        on_click="ignore",
    )
