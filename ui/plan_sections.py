"""The sections of the Plan page: each a takeaway, a figure and the table of the same numbers."""

from __future__ import annotations

from html import escape

import streamlit as st

from planner.planning.result import Plan
from planner.quantities import show_bytes, show_count, show_duration, show_percent, show_whole
from ui import plan_changes, plan_tables
from ui.answers import loss_curve
from ui.charts.loss import loss_figure
from ui.charts.parts import memory_stack, waterfall
from ui.scenario import Scenario
from ui.show import section
from ui.table import to_html
from ui.text import Words, show_share


def draw(scenario: Scenario, plan: Plan, words: Words) -> None:
    """All sections in their order."""
    _step(plan, words)
    _memory(plan, words)
    _loss(scenario, plan, words)
    later = st.container()
    _run(plan, words)
    _chosen(plan, words)
    _numbers(plan, words)
    _evidence(plan, words)
    with later:  # last, because every change is planned in full
        plan_changes.advice(scenario, words)


def _step(plan: Plan, words: Words) -> None:
    step = plan.step
    section(
        "step",
        words,
        title=words("plan.step"),
        takeaway=step_takeaway(plan, words),
        figure=waterfall(step.parts, words, group="step", low=step.low, high=step.high),
        table=plan_tables.times(step.parts, words, group="step"),
    )


def step_takeaway(plan: Plan, words: Words) -> str:
    first, seconds = max(plan.step.parts.items(), key=lambda item: item[1])
    return words(
        "plan.step_takeaway",
        first=words.name("step", first),
        share=show_share(seconds / plan.step.seconds),
        step=words.number(show_duration(plan.step.seconds)),
    )


def _memory(plan: Plan, words: Words) -> None:
    held = plan.memory
    section(
        "memory",
        words,
        title=words("plan.memory_title"),
        takeaway=memory_takeaway(plan, words),
        figure=memory_stack(
            held.stages, words, capacity=held.capacity_bytes, low=held.low, high=held.high
        ),
        table=plan_tables.memory(plan, words),
    )


def memory_takeaway(plan: Plan, words: Words) -> str:
    held = plan.memory
    first, size = max(held.parts.items(), key=lambda item: item[1])
    return words(
        "plan.memory_takeaway",
        first=words.name("memory", first),
        share=show_share(size / held.peak_bytes),
        peak=show_bytes(held.peak_bytes),
        capacity=show_bytes(held.capacity_bytes),
    )


def _loss(scenario: Scenario, plan: Plan, words: Words) -> None:
    loss = plan.loss
    if loss.value is None or loss.law is None:
        with st.container(key="section_loss", gap="small"):
            st.subheader(words("plan.loss_title"), anchor="loss")
            text = words("plan.loss_unknown", reason=loss.reason or "")
            st.html(f'<p class="fr-take">{escape(text)}</p>')
        return
    data = scenario.run.data
    unique = data.unique_tokens or data.dataset_tokens
    curve = loss_curve(
        float(plan.model.params_active),
        float(plan.run.tokens or 0),  # a law is of tokens, so there are some
        loss.law,
        float(unique) if unique else None,
        loss.conditions.get("experts"),
    )
    section(
        "loss",
        words,
        title=words("plan.loss_title"),
        takeaway=loss_takeaway(plan, words),
        figure=loss_figure(
            curve,
            words,
            tokens=plan.run.tokens or 0,
            loss=loss.value,
            stop_tokens=plan.stop["tokens"] if plan.stop else None,
        ),
        table=plan_tables.loss(curve, words),
    )


def loss_takeaway(plan: Plan, words: Words) -> str:
    """The final loss, and from where on training brings little."""
    stop = ""
    if plan.stop:
        threshold = show_percent(plan.stop["threshold"])
        if plan.stop["within_run"]:
            stop = words(
                "plan.stop_within",
                tokens=words.number(show_count(plan.stop["tokens"], "tokens")),
                threshold=threshold,
                hours=show_whole(plan.stop["freed_device_hours"]),
            )
        else:
            stop = words("plan.stop_beyond", threshold=threshold)
    return words("plan.loss_takeaway", loss=show_count(plan.loss.value), stop=stop)


def _run(plan: Plan, words: Words) -> None:
    run = plan.run
    takeaway = words(
        "plan.run_takeaway",
        share=show_share(run.parts["training"] / run.seconds),
        time=words.number(show_duration(run.seconds)),
    )
    section(
        "run",
        words,
        title=words("plan.run_title"),
        takeaway=takeaway,
        figure=waterfall(run.parts, words, group="run", low=run.low, high=run.high),
        table=plan_tables.times(run.parts, words, group="run"),
    )


def _chosen(plan: Plan, words: Words) -> None:
    compared = plan.chosen.get("compared", 1)
    word = "chosen_takeaway" if plan.fits else "chosen_nearest"
    takeaway = (
        words(f"plan.{word}", count=show_whole(compared))
        if compared > 1
        else words("plan.chosen_one")
    )
    section(
        "chosen",
        words,
        title=words("plan.chosen_title"),
        takeaway=takeaway,
        figure=None,
        table=plan_tables.chosen(plan, words, planner_only=True),
    )
    title = words("plan.all_settings")
    with st.expander(title):
        st.html(to_html(plan_tables.chosen(plan, words), caption=title))


def _numbers(plan: Plan, words: Words) -> None:
    section(
        "numbers",
        words,
        title=words("plan.numbers"),
        takeaway="",
        figure=None,
        table=plan_tables.speed(plan, words),
    )


def _evidence(plan: Plan, words: Words) -> None:
    with st.container(key="section_evidence", gap="small"):
        st.subheader(words("plan.evidence_title"), anchor="evidence")
        items = "".join(f"<li>{escape(text)}</li>" for text in evidence_lines(plan, words))
        st.html(f'<ul class="fr-list">{items}</ul>')


def evidence_lines(plan: Plan, words: Words) -> list[str]:
    """Grade, reasons, the law's and the price's source, what energy assumes."""
    grade = words.name("grade", plan.evidence.grade)
    lines = [words("plan.evidence", grade=grade), *plan.evidence.reasons]
    if plan.loss.value is not None and plan.loss.reason:
        lines.append(plan.loss.reason)
    if plan.cost.price_source:
        lines.append(f"{plan.cost.provider}: {plan.cost.price_source}")
    if plan.energy.watts_per_device is not None:
        watts = f"{show_whole(plan.energy.watts_per_device)} W"
        lines.append(words("plan.other_assumptions", watts=watts, pue=f"{plan.energy.pue:g}"))
    return lines
