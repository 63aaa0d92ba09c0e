"""The controls of the Scaling page: budget, law, data that repeats, serving, one's own runs."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import streamlit as st

from planner.cli.amounts import FLOPS
from planner.errors import PlannerError
from planner.planning.result import Plan
from planner.quantities import DAYS, TOKENS, USD, Kind, read
from planner.scaling.laws import law_names
from ui import page_fields
from ui.scaling_view import DAY, Asked, LawChoice
from ui.text import Words

OWN_RUNS = "own-runs"
MOST_MEGABYTES = 2  # of an uploaded CSV of runs
_KINDS: dict[str, Kind] = {"usd": USD, "days": DAYS, "flops": FLOPS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Controls:
    """What was chosen, None where a field is wrong; the uploaded runs, None without."""

    asked: Asked | None
    runs: bytes | None


def draw(plan: Plan, words: Words) -> Controls:
    """Draw the controls; every mistake stands beside its field."""
    usual = "usd" if plan.cost.usd is not None else "days"
    page_fields.begin("scaling", st.session_state, scaling_unit=usual)
    with st.container(border=True, key="scaling_controls", gap="small"):
        left, right = st.columns((3, 2), gap="medium")
        with left:
            amount = _budget(plan, words)
            conditions, served = _switches(plan, words)
        with right:
            runs = _upload(words)
            law = _law(runs, words)
    unit = str(st.session_state["scaling_unit"])
    if amount is None or conditions is None or served is _WRONG:
        return Controls(asked=None, runs=runs)
    asked = Asked(unit=unit, amount=amount, law=law, conditions=conditions, inference_tokens=served)
    return Controls(asked=asked, runs=runs)


_WRONG: Any = object()


def _budget(plan: Plan, words: Words) -> float | None:
    st.segmented_control(
        words("scaling.unit"),
        list(page_fields.BUDGETS),
        key="scaling_unit",
        format_func=lambda unit: words(f"scaling.unit_{unit}"),
        required=True,
        persist_state="session",
    )
    unit = str(st.session_state["scaling_unit"])
    usual = usual_amount(plan, unit)
    text = st.text_input(
        words(f"scaling.amount_{unit}"),
        key=f"scaling_{unit}",
        placeholder=words("scaling.as_the_plan", amount=usual or "–"),
        persist_state="session",
    )
    return _read(_KINDS[unit], unit, text or usual, words)


def usual_amount(plan: Plan, unit: str) -> str:
    """What the planned run itself takes, written as a person would; "" where it is unknown."""
    if unit == "usd":
        usd = plan.cost.usd
        return "" if usd is None else f"{usd:,.0f}" if usd >= 100 else f"{usd:.3g}"
    if unit == "days":
        return f"{plan.run.seconds / DAY:.4g}"
    tokens = plan.run.tokens
    return "" if tokens is None else f"{6 * plan.model.params_active * tokens:.3g}"


def _read(kind: Kind, field: str, text: str, words: Words) -> float | None:
    try:
        if not text:
            raise PlannerError(field, None, words("scaling.no_price"))
        return read(kind, field, text)
    except PlannerError as error:
        _mistake(str(error).removeprefix(f"{field}: "))
        return None


def _mistake(text: str) -> None:
    st.html(f'<div class="fr-mistake" role="alert">{escape(text)}</div>')


def _switches(plan: Plan, words: Words) -> tuple[tuple[tuple[str, float], ...] | None, Any]:
    """The conditions of data that repeats, and the tokens to be served."""
    repeats, served = st.columns(2, gap="small")
    with repeats:
        unique = _switch("repeats", "scaling.unique", words)
    with served:
        serving = _switch("serves", "scaling.inference", words)
    if unique is _WRONG:
        return None, serving
    return (() if unique is None else (("unique_tokens", unique),)), serving


def _switch(name: str, label: str, words: Words) -> Any:
    """A switch that opens a field for tokens: the tokens, None while off."""
    key = f"scaling_{name}"
    if not st.toggle(words(f"scaling.{name}"), key=key, persist_state="session"):
        return None
    text = st.text_input(words(label), key=f"{key}_tokens", persist_state="session")
    value = _read(TOKENS, name, text, words)
    return _WRONG if value is None else value


def _upload(words: Words) -> bytes | None:
    file = st.file_uploader(
        words("scaling.upload"),
        type=["csv"],
        key="scaling_runs",
        max_upload_size=MOST_MEGABYTES,
        help=words("scaling.upload_help"),
    )
    return None if file is None else bytes(file.getvalue())


def _law(runs: bytes | None, words: Words) -> LawChoice:
    """The law to ask: the usual one, one by name, or one's own runs where there are some."""
    own = [OWN_RUNS] if runs is not None else []
    names = {"": words("scaling.usual_law"), OWN_RUNS: words("scaling.own_runs")}
    if st.session_state["scaling_law"] == OWN_RUNS and not own:
        st.session_state["scaling_law"] = ""  # the runs were taken away
    chosen = st.selectbox(
        words("scaling.law"),
        ["", *own, *law_names()],
        key="scaling_law",
        format_func=lambda name: names.get(name, name),
        persist_state="session",
    )
    if chosen == OWN_RUNS and runs is not None:
        return LawChoice(runs=runs)
    return LawChoice(name=chosen or None)
