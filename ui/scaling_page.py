"""The Scaling page: what a budget buys at the speed each size really reaches, and one's own law."""

from __future__ import annotations

import json
from collections.abc import Callable
from html import escape

import streamlit as st

from planner.cli.amounts import show_compute
from planner.cli.output import plain
from planner.errors import PlannerError
from planner.planning.result import Plan
from planner.quantities import (
    Show,
    show_count,
    show_duration,
    show_interval,
    show_number,
    show_percent,
    show_usd,
)
from ui import scaling_controls, scaling_fit
from ui import scaling_tables as tables
from ui.charts.scaling import frontier_figure, isoflop_figure, size_figure
from ui.headline import Card, card_html
from ui.options import machines_named
from ui.scaling_view import DAY, FrontierRow, View, view_of
from ui.scenario import Scenario
from ui.show import section
from ui.text import Words


def draw(scenario: Scenario, plan: Plan, words: Words) -> None:
    """The whole page; a question that cannot be answered leaves the rest usable."""
    st.html(f'<h1 class="fr-title">{escape(words("scaling.title"))}</h1>')
    st.html(f'<p class="fr-take">{escape(words("scaling.lead"))}</p>')
    if plan.run.tokens is None:
        st.info(words("scaling.no_tokens", model=plan.model.name), icon=":material/info:")
        return
    controls = scaling_controls.draw(plan, words)
    if controls.asked is not None:
        try:
            with st.spinner(words("scaling.planning")):
                view = view_of(scenario.run, scenario.source, controls.asked)
        except PlannerError as error:
            st.error(str(error), icon=":material/edit:")
        else:
            _answered(view, words)
    scaling_fit.draw(controls.runs, words)


def shower(unit: str, words: Words) -> Callable[[float], str]:
    """How amounts of a budget are shown."""
    if unit == "usd":
        return show_usd
    if unit == "days":
        return lambda days: words.number(show_duration(days * DAY))
    return show_compute


def _answered(view: View, words: Words) -> None:
    show = shower(view.asked.unit, words)
    cards_html = "".join(card_html(card) for card in cards(view, words))
    st.html(f'<section class="fr-hero fr-four">{cards_html}</section>')
    if view.limit:
        st.warning(words("scaling.limit", limit=view.limit), icon=":material/block:")
    section(
        "sizes",
        words,
        title=words("scaling.sizes_title"),
        takeaway=sizes_takeaway(view, words),
        figure=size_figure(view, words),
        table=tables.sizes(view, words),
        split=(1, 1),
    )
    _frontier(view, words, show)
    curves = (view.curve, *view.others)
    section(
        "isoflop",
        words,
        title=words("scaling.isoflop_title"),
        takeaway=words("scaling.isoflop_takeaway"),
        figure=isoflop_figure(view, words, show),
        table=tables.optima(curves, view, words, show),
    )
    if view.serving is not None:
        _serving(view, words)
    _remarks(view, words)


def cards(view: View, words: Words) -> tuple[Card, ...]:
    """Size, data, loss and what the budget is."""
    return (
        _card(
            "best_size",
            view.params,
            show_count,
            words,
            view.shape or words(f"counts.{view.counts}"),
        ),
        _card(
            "best_tokens",
            view.tokens,
            show_count,
            words,
            words("scaling.ratio", ratio=f"{view.tokens[0] / view.params[0]:.3g}"),
        ),
        _card(
            "best_loss",
            view.loss,
            show_number(".3f"),
            words,
            words("plan.nats"),
            words("plan.by_law", law=view.law),
        ),
        _spent(view, words),
    )


def _card(
    name: str,
    value: tuple[float, float | None, float | None],
    show: Show,
    words: Words,
    *notes: str,
) -> Card:
    shown, _, rest = words.number(show_interval(show, *value)).partition(" (")
    return Card(
        name=name,
        label=words(f"scaling.{name}"),
        value=shown,
        interval=rest.removesuffix(")") or None,
        notes=notes,
    )


def _spent(view: View, words: Words) -> Card:
    gain = words("scaling.gain", gain=show_percent(view.gain))
    if view.seconds is None:
        value = show_compute(view.asked.amount)
        return Card(name="budget", label=words("scaling.budget"), value=value, notes=(gain,))
    days = words.number(show_duration(view.seconds))
    value = days if view.usd is None else show_usd(view.usd)
    where = words("scaling.on_machine", days=days, machine=machines_named(view.machine or ""))
    return Card(name="budget", label=words("scaling.budget"), value=value, notes=(where, gain))


def sizes_takeaway(view: View, words: Words) -> str:
    """How flat the optimum is, and where the run as stated stands."""
    low, high = (show_count(end) for end in view.band)
    text = words("scaling.sizes_takeaway", low=low, high=high)
    if view.own is None or view.own.loss is None:
        return text
    above = view.own.loss - view.curve.loss
    own = words(
        "scaling.own_takeaway",
        size=show_count(view.own.params),
        tokens=show_count(view.own.tokens),
        loss=f"{view.own.loss:.3f}",
        above=f"{above:.3f}",
    )
    return f"{text} {own}"


def _frontier(view: View, words: Words, show: Callable[[float], str]) -> None:
    here = FrontierRow(
        amount=view.asked.amount,
        params=view.params[0],
        tokens=view.tokens[0],
        loss=view.loss[0],
        low=view.loss[1],
        high=view.loss[2],
        gain=view.gain,
    )
    rows = view.frontier
    if len(rows) < 2:
        return
    own = None
    if view.own is not None and view.own.loss is not None:
        own = (view.asked.amount, view.own.loss)
    section(
        "frontier",
        words,
        title=words("scaling.frontier_title"),
        takeaway=words("scaling.frontier_takeaway", gain=show_percent(view.gain)),
        figure=frontier_figure(rows, words, show, here=here, own=own),
        table=tables.frontier(rows, view.asked.unit, words, show),
    )


def _serving(view: View, words: Words) -> None:
    assert view.serving is not None
    served = view.serving
    section(
        "serving",
        words,
        title=words("scaling.serving_title"),
        takeaway=words(
            "scaling.serving_takeaway",
            served=show_count(served["inference_tokens"]),
            size=show_count(served["params"]),
            tokens=show_count(served["tokens"]),
            saved=show_percent(served["saving_of_flops_share"]),
        ),
        figure=None,
        table=tables.serving(served, words),
    )


def _remarks(view: View, words: Words) -> None:
    notes = [words("scaling.family") if view.machine else words("scaling.ideal")]
    notes += [words("scaling.price", price=view.price)] if view.price else []
    notes += [f"{words('scaling.law_counts', law=view.law)} {words(f'counts.{view.counts}')}"]
    items = "".join(f"<li>{escape(text)}</li>" for text in (*notes, *view.warnings))
    with st.expander(words("scaling.remarks", count=len(notes) + len(view.warnings))):
        st.html(f'<ul class="fr-list">{items}</ul>')
    st.download_button(
        words("scaling.json"),
        json.dumps(plain(view.answer), indent=2, allow_nan=False),
        file_name="forerun-scaling.json",
        mime="application/json",
        key="scaling_json",
        icon=":material/download:",
        on_click="ignore",
    )
