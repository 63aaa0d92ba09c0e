"""The Choose hardware page: accelerators ranked for the scenario, days against dollars, owning."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from planner.errors import PlannerError
from planner.quantities import show_duration, show_energy, show_percent, show_usd, show_whole
from planner.run import Budget
from ui import choose_controls, choose_owning, choose_view, jump
from ui import choose_tables as tables
from ui.charts.choose import choose_figure, near
from ui.choose_view import Question, job_of, jobs
from ui.headline import Card, card_html, priced
from ui.jobs import Job
from ui.phrases import said
from ui.scenario import Scenario
from ui.show import chart, section
from ui.table import to_csv, to_html
from ui.text import Words

MOST_RANKED = 12  # rows of the table before it is unfolded
WAIT = 0.4  # s: an answer that comes so soon is shown at once
_LAST, _CLICKED = "_choose_last", "_choose_clicked"


def draw(scenario: Scenario, words: Words) -> None:
    """The whole page; a question that cannot be answered leaves the rest usable."""
    st.html(f'<h1 class="fr-title">{escape(words("choose.title"))}</h1>')
    st.html(f'<p class="fr-take">{escape(words("choose.lead"))}</p>')
    question = choose_controls.question(scenario, words)
    if question is None:
        return
    job = job_of(question)
    if job.state == "running":
        job.join(timeout=WAIT)
    if job.state == "done" and job.result["complete"]:
        st.session_state[_LAST] = job.result
        answered(job.result, scenario, words)
    elif job.state == "running":
        _waiting(question, words)
        if _LAST in st.session_state:
            st.info(words("choose.stale"), icon=":material/history:")
            answered(st.session_state[_LAST], scenario, words)
    else:
        _ended(job, question, words)


def _waiting(question: Question, words: Words) -> None:
    """Look again every half second; leaving the page does not stop the work."""

    @st.fragment(run_every=0.5)
    def watch() -> None:
        job = job_of(question)
        if job.state != "running":
            st.rerun()
        done, total = job.progress or (0, 1)
        label = words("choose.running", seconds=show_whole(job.seconds))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.progress(min(done / max(total, 1), 1.0), label)
            st.button(words("choose.cancel"), key="choose_cancel", on_click=job.cancel)

    watch()


def _ended(job: Job, question: Question, words: Words) -> None:
    if job.error is None:  # cancelled: a ranking of some accelerators would mislead
        st.info(words("choose.cancelled"), icon=":material/block:")
    elif isinstance(job.error, PlannerError):
        st.error(str(job.error), icon=":material/edit:")
        return
    else:
        reason = f"{type(job.error).__name__}: {job.error}"
        st.warning(words("choose.failed", reason=reason), icon=":material/info:")
    st.button(
        words("choose.again"), key="choose_again", on_click=jobs().forget, args=(question.key,)
    )


def answered(answer: Mapping[str, Any], scenario: Scenario, words: Words) -> None:
    """The answer of a comparison."""
    rows = choose_view.fitting(answer)
    st.html(f'<p class="fr-take">{escape(aim_sentence(answer, words))}</p>')
    if not rows:
        st.warning(words("choose.nothing_fits"), icon=":material/block:")
    else:
        limited = scenario.run.budget != Budget()
        shown = "".join(card_html(card) for card in cards(rows[0], words, limited=limited))
        st.html(f'<section class="fr-hero fr-four fr-machine">{shown}</section>')
        _scatter(answer, scenario, words)
        _ranking(rows, words)
        choose_owning.draw(rows, words)
    _left_out(answer, words)
    _remarks(answer, words)


def aim_sentence(answer: Mapping[str, Any], words: Words) -> str:
    """What the ranking is by and, where nobody asked for it, why."""
    by, key = words(f"choose.by_{answer['by']}").lower(), choose_view.reason_key(answer)
    if answer["weights"] and key is None:
        by += f" ({weights_shown(answer['weights'], words)})"
    if key is not None:
        return words("choose.ranked_because", by=by, reason=words(f"choose.reason_{key}"))
    return words("choose.ranked", by=by)


def weights_shown(weights: Mapping[str, float], words: Words) -> str:
    """Shares of what a value weighs.

    >>> weights_shown({"time": 0.4, "cost": 1.6}, Words(language="en"))
    'time 20 %, cost 80 %'
    """
    total = sum(weights.values())
    shares = {name: weight / total for name, weight in weights.items()}
    return ", ".join(
        f"{words(f'choose.by_{name}').lower()} {show_percent(share)}"
        for name, share in shares.items()
    )


def cards(row: Mapping[str, Any], words: Words, *, limited: bool) -> tuple[Card, ...]:
    """The first of the ranking: machine, time, cost, energy; whether it keeps limits, if any."""
    run, cost, energy = row["run"], row["cost"], row["energy"]
    limits = words("choose.within" if row["within_limits"] else "choose.breaks")
    price = cost["per_device_hour"]
    hourly = price and priced(price, cost["price_date"], cost["price_note"], words)
    return (
        Card(
            name="choose_best",
            label=words("choose.best"),
            value=tables.name_of(row),
            notes=(
                settings(row, words),
                limits if limited else "",
                "" if row["within_limits"] else said(row["why"], words),
            ),
        ),
        _figure("choose_time", "plan.time", show_duration, run, "seconds", words),
        _figure("choose_cost", "plan.cost", show_usd, cost, "usd", words, hourly or cost["reason"]),
        _figure("choose_energy", "plan.energy", show_energy, energy, "kwh", words),
    )


def _figure(
    name: str,
    label: str,
    show: Any,
    part: Mapping[str, Any],
    key: str,
    words: Words,
    note: str = "",
) -> Card:
    if part[key] is None:
        reason = part["reason"] or ""
        return Card(name=name, label=words(label), value=words.number("unknown"), notes=(reason,))
    text = words.show(show, part[key], part["low"], part["high"])
    value, _, rest = text.partition(" (")
    return Card(
        name=name, label=words(label), value=value, interval=rest.rstrip(")") or None, notes=(note,)
    )


def settings(row: Mapping[str, Any], words: Words) -> str:
    """The configuration in short: degrees above one, sharding, micro-batch, recomputation."""
    chosen = row.get("chosen") or row
    layout = chosen.get("layout") or chosen
    degrees = [f"{name} {layout[name]}" for name in ("tp", "pp", "cp", "ep") if layout[name] > 1]
    rest = [str(layout["sharding"]), words("choose.micro", size=chosen["micro_batch"])]
    if chosen["recompute"] != "none":
        rest.append(words("choose.recompute", what=chosen["recompute"]))
    return " · ".join((*degrees, *rest))


def _scatter(answer: Mapping[str, Any], scenario: Scenario, words: Words) -> None:
    dots = choose_view.dots(answer)
    drawn = near(dots)
    with st.container(key="section_choose", gap="small"):
        title = words("choose.scatter_title")
        st.subheader(title, anchor="days-dollars")
        takeaway = scatter_takeaway(dots, answer, words)
        if len(drawn) < len(dots):
            takeaway += " " + words("choose.beyond", count=len(dots) - len(drawn))
        st.html(f'<p class="fr-take">{escape(takeaway)}</p>')
        if drawn:
            budget = scenario.run.budget
            figure = choose_figure(
                drawn, words, name=tables.name_of, days=budget.days, usd=budget.usd
            )
            chart("choose", figure, alt=f"{title}. {takeaway}", on_select=_clicked)
        _open(answer, scenario, words)


def scatter_takeaway(dots: Any, answer: Mapping[str, Any], words: Words) -> str:
    """The ends of the front, and what the figure cannot place."""
    front = [dot.row for dot in dots if dot.front]
    parts = []
    if front:
        fastest, cheapest = front[0], front[-1]
        key = "choose.scatter_one" if fastest is cheapest else "choose.scatter_takeaway"
        parts.append(
            words(
                key,
                fast=tables.name_of(fastest),
                fast_time=words.number(show_duration(fastest["seconds"])),
                fast_usd=show_usd(fastest["usd"]),
                cheap=tables.name_of(cheapest),
                cheap_time=words.number(show_duration(cheapest["seconds"])),
                cheap_usd=show_usd(cheapest["usd"]),
            )
        )
    hidden = choose_view.unpriced(answer)
    if hidden:
        parts.append(words("choose.unpriced", count=hidden))
    return " ".join(parts)


def _clicked() -> None:
    """Remember the point, for the page to go there: a callback cannot leave the page."""
    chosen = st.session_state["chart_choose"]["selection"]["points"]
    if chosen:
        st.session_state[_CLICKED] = chosen[0]["customdata"][0]


def _open(answer: Mapping[str, Any], scenario: Scenario, words: Words) -> None:
    """Any configuration into Plan: a point that was clicked, or the chosen one by a button."""
    found = choose_view.offered(answer)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small"):
        chosen = st.selectbox(
            words("choose.configuration"),
            list(found),
            key="choose_configuration",
            format_func=lambda key: _offered(found[key], words) if key in found else key,
        )
        pressed = st.button(words("choose.open"), key="choose_open", icon=":material/open_in_new:")
    wanted = st.session_state.pop(_CLICKED, None) or (chosen if pressed else None)
    if wanted in found:
        row = found[wanted]
        jump.to_plan(jump.changes_of_row(row, scenario.run.hardware.sku))


def _offered(row: Mapping[str, Any], words: Words) -> str:
    seconds, usd = row.get("seconds"), row.get("usd")
    if "run" in row:
        seconds, usd = row["run"]["seconds"], row["cost"]["usd"]
    shown = [tables.name_of(row), words.number(show_duration(seconds))]
    return " · ".join([*shown, show_usd(usd)] if usd is not None else shown)


def _ranking(rows: list[Mapping[str, Any]], words: Words) -> None:
    title = words("choose.ranking_title")
    section(
        "ranking",
        words,
        title=title,
        takeaway=words("choose.ranking_takeaway", count=show_whole(len(rows))),
        figure=None,
        table=tables.ranking(rows[:MOST_RANKED], words),
    )
    if len(rows) > MOST_RANKED:
        label = words("choose.all_ranked", count=len(rows) - MOST_RANKED)
        with st.container(key="choose_rest"), st.expander(label):
            rest = tables.ranking(rows, words)
            st.html(to_html(rest, caption=title))


def _left_out(answer: Mapping[str, Any], words: Words) -> None:
    """Accelerators without a place, and why."""
    lost = len(answer["ranking"]) - len(choose_view.fitting(answer)) + len(answer["excluded"])
    if lost:
        with st.expander(words("choose.left_out", count=lost), icon=":material/block:"):
            st.html(to_html(tables.left_out(answer, words), caption=words("choose.reason")))


def _remarks(answer: Mapping[str, Any], words: Words) -> None:
    tried = answer["candidates"]
    count, seconds = show_whole(tried["evaluated"]), f"{tried['seconds']:.2g}"
    st.caption(words("choose.evaluated", count=count, seconds=seconds))
    if answer["warnings"]:
        items = "".join(f"<li>{escape(text)}</li>" for text in answer["warnings"])
        st.html(f'<ul class="fr-list">{items}</ul>')
    with st.container(horizontal=True, gap="small"):
        _download("json", words, json.dumps(answer, indent=2, allow_nan=False), "application/json")
        rows = choose_view.fitting(answer)
        _download("csv", words, to_csv(tables.ranking(rows, words)), "text/csv")


def _download(kind: str, words: Words, content: str, mime: str) -> None:
    st.download_button(
        words(f"choose.{kind}"),
        content,
        file_name=f"forerun-compare.{kind}",
        mime=mime,
        key=f"choose_{kind}",
        icon=":material/download:",
        on_click="ignore",
    )
