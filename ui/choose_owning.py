"""Own against rent on the Choose hardware page: assumptions to change, and when buying pays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from planner.quantities import show_usd
from ui import choose_controls
from ui import choose_tables as tables
from ui.choose_tables import Bought
from ui.options import accelerator_name
from ui.show import csv_button
from ui.table import to_html
from ui.text import Words

MOST = 12  # accelerators compared, the best of the ranking first


def draw(rows: Sequence[Mapping[str, Any]], words: Words) -> None:
    """The section; where no purchase price is known it says so."""
    title = words("choose.owning_title")
    with st.container(key="section_owning", gap="small"):
        st.subheader(title, anchor="own-or-rent")
        given = choose_controls.assumptions(words)
        if given is None:
            return
        found = tables.bought(rows, given)[:MOST]
        if not found:
            st.html(f'<p class="fr-take">{escape(words("choose.owning_none"))}</p>')
            return
        st.html(f'<p class="fr-take">{escape(takeaway(found[0], words))}</p>')
        table = tables.owned(found, words)
        st.html(to_html(table, caption=title))
        st.caption(words("choose.owning_without"))
        csv_button("owning", words, table)


def takeaway(first: Bought, words: Words) -> str:
    """What holds for the best of the ranking whose prices are known."""
    own = first.owning
    key = "choose.owning_pays" if own.pays else "choose.owning_not"
    return words(
        key,
        name=accelerator_name(first.sku),
        own=show_usd(own.own_per_hour),
        rent=show_usd(own.rent_per_hour),
        after=tables.break_even(own, words),
    )
