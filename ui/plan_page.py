"""The Plan page: the answer at once, the comparison with a pinned scenario, then the sections."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import cast

import streamlit as st

from planner.planning.result import Plan
from planner.quantities import show_count, show_whole
from ui import headline, plan_changes, plan_sections
from ui.answers import answer
from ui.compare import changes, comparison
from ui.downloads import offer
from ui.options import accelerator_name
from ui.scenario import Scenario
from ui.table import to_html
from ui.text import Words

_PIN = "_pinned"


def wrong(mistakes: Mapping[str, str], words: Words) -> None:
    """What to mend when a field is wrong; the rest of the page stays usable."""
    st.error(words("app.mend"), icon=":material/edit:")
    lines = [f"{words(f'field.{key}')}: {text}" if key else text for key, text in mistakes.items()]
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    st.html(f'<ul class="fr-list">{items}</ul>')


def title(plan: Plan, words: Words) -> str:
    """The scenario in one line: model, amount of data, machine."""
    count, name = plan.chosen["count"], accelerator_name(plan.chosen["sku"])
    return words(
        "plan.scenario",
        model=plan.model.name,
        amount=words.number(amount(plan)),
        machine=words("plan.of_devices", count=show_whole(count), name=name),
    )


def amount(plan: Plan) -> str:
    """How much is trained on: tokens, or the samples of a traced module."""
    run = plan.run
    if run.tokens is None:
        return show_count(run.samples, "samples")
    return show_count(run.tokens, "tokens")


def draw(scenario: Scenario, plan: Plan, words: Words) -> None:
    """The whole page."""
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.html(f'<h1 class="fr-title">{escape(title(plan, words))}</h1>', width="stretch")
        _pin_button(scenario, words)
        offer(scenario, plan, words, title=title(plan, words))
    st.html(headline.to_html(plan, words))
    plan_changes.shortfall(plan, words)
    _warnings(plan, words)
    _compare(scenario, plan, words)
    plan_sections.draw(scenario, plan, words)
    st.caption(f"{words('plan.interval_note')} {words('plan.link_note')}")


def _pin_button(scenario: Scenario, words: Words) -> None:
    pinned = _PIN in st.session_state
    st.button(
        words("plan.unpin" if pinned else "plan.pin"),
        icon=":material/keep_off:" if pinned else ":material/keep:",
        help=words("plan.pin_help"),
        key="pin",
        on_click=_unpin if pinned else _pin,
        args=() if pinned else (scenario,),
    )


def _pin(scenario: Scenario) -> None:
    st.session_state[_PIN] = scenario


def _unpin() -> None:
    st.session_state.pop(_PIN, None)


def _warnings(plan: Plan, words: Words) -> None:
    count = len(plan.warnings)
    if not count:
        return
    label = words("plan.warnings_one") if count == 1 else words("plan.warnings_many", count=count)
    with st.expander(label, icon=":material/info:"):
        items = "".join(f"<li>{escape(text)}</li>" for text in plan.warnings)
        st.html(f'<ul class="fr-list">{items}</ul>')


def _compare(scenario: Scenario, plan: Plan, words: Words) -> None:
    """The pinned scenario beside this one."""
    if _PIN not in st.session_state:
        return
    pinned = cast("Scenario", st.session_state[_PIN])
    before = answer(pinned)
    with st.container(border=True, key="compare", gap="small"):
        st.subheader(words("plan.compare_title"), anchor="compare")
        changed = changes(pinned.run, scenario.run)
        if pinned.source != scenario.source:
            changed.append(f"model {before.model.name} → {plan.model.name}")
        text = (
            words("plan.changed", changes=", ".join(changed))
            if changed
            else words("plan.unchanged")
        )
        st.html(f'<p class="fr-take">{escape(text)}</p>')
        table = comparison(before, plan, words)
        st.html(to_html(table, caption=words("plan.compare_title")))
