"""The controls of the Choose hardware page: aim, numbers to try, filters, assumptions of owning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import escape
from typing import Any

import streamlit as st

import hardware_db
from planner.errors import PlannerError
from planner.planning.owning import Assumptions, usual_assumptions
from planner.quantities import BYTES, COUNT, read, read_whole
from ui import page_fields
from ui.choose_view import Question, counts_near
from ui.options import accelerator_name
from ui.scenario import Scenario
from ui.text import Words

MOST_COUNTS = 12  # numbers of devices in one comparison


def question(scenario: Scenario, words: Words) -> Question | None:
    """Draw the controls; None where a field is wrong, which is said beside it."""
    page_fields.begin("choose", st.session_state)
    with st.container(border=True, key="choose_controls", gap="small"):
        left, right = st.columns((3, 2), gap="medium")
        with left:
            by, weights = _aim(words)
        with right:
            counts = _counts(scenario, words)
        left, middle, right = st.columns((3, 2, 2), gap="medium")
        with left:
            skus, owned = _accelerators(words)
        with middle:
            memory = _memory(words)
        with right:
            changes = _price(scenario, words)
    if counts is None or memory is _WRONG:
        return None
    return Question(
        run=scenario.run.changed(changes),
        source=scenario.source,
        counts=counts,
        skus=skus,
        owned=owned,
        min_memory=memory,
        by=by,
        weights=weights,
    )


_WRONG: Any = object()


def _aim(words: Words) -> tuple[str | None, tuple[tuple[str, float], ...]]:
    st.segmented_control(
        words("choose.by"),
        list(page_fields.AIMS),
        key="choose_by",
        format_func=lambda aim: words(f"choose.by_{aim}"),
        required=True,
        help=words("choose.by_help"),
        persist_state="session",
    )
    by = str(st.session_state["choose_by"])
    if by == "usual":
        return None, ()
    if by != "value":
        return by, ()
    share = st.select_slider(
        words("choose.weight"),
        list(page_fields.WEIGHTS),
        key="choose_weight",
        format_func=lambda text: f"{text} %",
        help=words("choose.weight_help"),
        persist_state="session",
    )
    cost = int(share) / 50
    return by, (("time", 2 - cost), ("cost", cost))


def _counts(scenario: Scenario, words: Words) -> tuple[int, ...] | None:
    usual = counts_near(scenario.run.hardware.count)
    text = st.text_input(
        words("choose.counts"),
        key="choose_counts",
        placeholder=", ".join(map(str, usual)),
        help=words("choose.counts_help"),
        persist_state="session",
    )
    found = _read("counts", text, counts_of, words) if text.strip() else usual
    return None if found is _WRONG else found


def counts_of(text: str) -> tuple[int, ...]:
    """Numbers of devices as written, without doubles. Raises PlannerError.

    >>> counts_of("64, 8,8")
    (8, 64)
    """
    parts = [part for part in text.replace(";", ",").split(",") if part.strip()]
    found = tuple(sorted({read_whole(COUNT, "counts", part) for part in parts}))
    if not found or len(found) > MOST_COUNTS:
        raise PlannerError("counts", text, f"write one to {MOST_COUNTS} numbers such as 8, 16, 32")
    return found


def _read(field: str, text: str, reader: Callable[[str], Any], words: Words) -> Any:
    """What a field says; a mistake is said beside it."""
    try:
        return reader(text)
    except PlannerError as error:
        st.html(_mistake(error))
        return _WRONG


def _mistake(error: PlannerError) -> str:
    said = str(error).removeprefix(f"{error.field}: ")
    return f'<div class="fr-mistake" role="alert">{escape(said)}</div>'


def _accelerators(words: Words) -> tuple[tuple[str, ...], bool]:
    known = [part.sku_id for part in hardware_db.accelerators()]
    chosen = st.multiselect(
        words("choose.only"),
        known,
        key="choose_skus",
        format_func=accelerator_name,
        placeholder=words("choose.all_accelerators", count=len(known)),
        persist_state="session",
    )
    owned = st.toggle(
        words("choose.owned"),
        key="choose_owned",
        disabled=not chosen,
        help=words("choose.owned_help"),
        persist_state="session",
    )
    return tuple(chosen), bool(owned and chosen)


def _memory(words: Words) -> Any:
    text = st.text_input(
        words("choose.memory_least"),
        key="choose_memory",
        placeholder=words("choose.memory_example"),
        persist_state="session",
    )
    if not text.strip():
        return None
    return _read("memory", text, lambda said: read(BYTES, "memory", said), words)


def _price(scenario: Scenario, words: Words) -> dict[str, object]:
    """Whose price counts: as in the sidebar until another provider or spot is asked for."""
    names = {each.provider: each.name for each in hardware_db.providers()}
    own = scenario.run.price
    stated = names.get(own.provider or "", own.provider) or words("side.any")
    provider = st.selectbox(
        words("field.provider"),
        ["", *names],
        key="choose_provider",
        format_func=lambda name: names.get(name) or words("choose.as_stated", stated=stated),
        persist_state="session",
    )
    spot = st.toggle(words("choose.spot"), key="choose_spot", persist_state="session")
    changes: dict[str, object] = {"price.mode": "spot"} if spot else {}
    if provider:
        changes |= {"price.provider": provider, "price.region": None}
    return changes


def assumptions(words: Words) -> Assumptions | None:
    """What owning takes for granted, each changeable; None where one is wrong."""
    usual, values, slots = usual_assumptions(), {}, {}
    with st.container(border=True, key="choose_owning", gap="small"):
        columns = st.columns(len(page_fields.ASSUMPTIONS), gap="small")
        for column, name in zip(columns, page_fields.ASSUMPTIONS, strict=True):
            with column:
                values[name] = _number(name, getattr(usual, name), words)
                slots[name] = st.empty()
    if _WRONG in values.values():
        return None
    try:
        return replace(usual, **values)
    except PlannerError as error:
        slots[error.field].html(_mistake(error))
        return None


def _number(name: str, usual: float, words: Words) -> Any:
    """One assumption, the usual one where nothing is typed."""
    text = st.text_input(
        words(f"choose.{name}"),
        key=f"choose_{name}",
        placeholder=f"{usual:g}",
        help=words(f"choose.{name}_help"),
        persist_state="session",
    )
    return _read(name, text, number_of, words) if text.strip() else usual


def number_of(text: str) -> float:
    """A number, or a share written with a per cent sign. Raises PlannerError.

    >>> number_of("0.12"), number_of("40 %")
    (0.12, 0.4)
    """
    bare = text.strip().removesuffix("%")
    try:
        value = float(bare)
    except ValueError:
        value = float("nan")
    if not 0 <= value < float("inf"):
        raise PlannerError("number", text, "write a number of 0 or more")
    return value / 100 if bare != text.strip() else value
