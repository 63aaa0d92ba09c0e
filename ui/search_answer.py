"""The answer of a search on its page: the best against the run as stated, why, and what else."""

from __future__ import annotations

import json

import streamlit as st

from planner.cli.output import plain
from planner.quantities import show_duration, show_percent, show_whole
from planner.run import Run
from ui import jump, search_limits, search_points, search_study
from ui import search_headline as headline
from ui import search_tables as tables
from ui.headline import card_html
from ui.run_file import yaml_of
from ui.search_job import Found, Question
from ui.show import section
from ui.table import to_html
from ui.text import Words, show_share


def draw(found: Found, question: Question, words: Words) -> None:
    """All sections of an answer."""
    answer, run = found.answer, question.run
    if answer["best"] is None:
        _nothing(found, run, words)
    else:
        _best(found, question, words)
    if found.points:
        search_points.draw(found, question, words)
    if answer["best"] is not None:
        _why(found, words)
    if answer["study"] is not None:
        search_study.draw(found, words)
    _remarks(found, words)


def _best(found: Found, question: Question, words: Words) -> None:
    answer = found.answer
    shown = "".join(card_html(card) for card in headline.cards(answer, words))
    st.html(f'<section class="fr-hero">{headline.verdict_html(answer, words)}{shown}</section>')
    with st.container(horizontal=True, gap="small", key="search_take"):
        if st.button(
            words("search.open_best"),
            type="primary",
            icon=":material/arrow_forward:",
            key="to_plan",
        ):
            jump.to_plan(_changes_of_best(found, question.run))
        _downloads(found, question, words)


def _changes_of_best(found: Found, said: Run) -> dict[str, object]:
    return jump.changes_of_run(said, Run.from_mapping(found.answer["run_file"]))


def _downloads(found: Found, question: Question, words: Words) -> None:
    if found.answer["run_file"] is not None and question.source.kind != "dimensions":
        st.download_button(
            words("search.best_yaml"),
            lambda: yaml_of(Run.from_mapping(found.answer["run_file"])),
            file_name="best.yaml",
            mime="application/yaml",
            key="search_yaml",
            icon=":material/download:",
            on_click="ignore",
        )
    _json(found, words)


def _json(found: Found, words: Words) -> None:
    st.download_button(
        words("search.json"),
        lambda: json.dumps(plain(found.answer), indent=2, allow_nan=False),
        file_name="forerun-search.json",
        mime="application/json",
        key="search_json",
        icon=":material/download:",
        on_click="ignore",
    )


def _nothing(found: Found, said: Run, words: Words) -> None:
    """Nothing keeps every limit: the nearest, what it breaks, what alone would have to give."""
    nearest = found.answer["nearest"]
    st.warning(words("search.nothing_fits"), icon=":material/block:")
    if nearest is None:
        return
    section(
        "nearest",
        words,
        title=words("search.nearest_title"),
        takeaway=words(
            "search.nearest_takeaway",
            configuration=tables.row_name(tables.flat(nearest["candidate"]), words),
        ),
        figure=None,
        table=search_limits.limits(nearest["violated"], words),
    )
    if nearest["alone"]:
        section(
            "alone",
            words,
            title=words("search.alone_title"),
            takeaway=words("search.alone_takeaway"),
            figure=None,
            table=search_limits.limits(nearest["alone"], words),
        )
    short = nearest["shortfall"]
    with st.container(horizontal=True, gap="small"):
        if st.button(words("search.open_nearest"), key="search_nearest"):
            jump.to_plan(found.changes_of(tables.flat(nearest["candidate"]), said))
        if short and short["nearest"]:
            change = short["nearest"]
            if st.button(words("plan.try", change=change["change"]), key="search_try_short"):
                jump.to_plan(change["changes"])
        _json(found, words)


def _why(found: Found, words: Words) -> None:
    answer = found.answer
    binding = [row for row in answer["relaxing"] if row["binds"]]
    if binding:
        first = binding[0]
        limit = words(f"limit.{first['limit']}")
        text = words("search.binds", limit=limit, gain=show_percent(first["gain"]))
    else:
        text = words("search.none_binds")
    left, right = st.columns(2, gap="medium")
    with left:
        section(
            "settings",
            words,
            title=words("search.settings_title"),
            takeaway=words("search.settings_takeaway"),
            figure=None,
            table=tables.settings(found.stated, tables.flat(answer["best"]), words),
        )
    with right:
        section(
            "limits",
            words,
            title=words("search.limits_title"),
            takeaway=text,
            figure=None,
            table=search_limits.relaxing(answer["relaxing"], words),
        )
        drawn = answer["robustness"]
        if drawn is not None:
            section(
                "robust",
                words,
                title=words("search.robust_title"),
                takeaway=words("search.robust_takeaway", share=show_share(drawn["stays_best"])),
                figure=None,
                table=search_limits.robustness(drawn, words),
            )
    if answer["alternatives"]:
        section(
            "alternatives",
            words,
            title=words("search.alternatives_title"),
            takeaway=words("search.alternatives_takeaway"),
            figure=None,
            table=tables.alternatives(answer["alternatives"], words),
        )


def _remarks(found: Found, words: Words) -> None:
    answer = found.answer
    for text in answer["warnings"]:
        st.warning(text, icon=":material/info:")
    if answer["excluded"]:
        label = words("search.excluded", count=show_whole(len(answer["excluded"])))
        with st.expander(label):
            st.html(to_html(tables.excluded(answer["excluded"], words), caption=label))
    counts = answer["candidates"]
    counted = words(
        "search.counted",
        evaluated=show_whole(counts["evaluated"]),
        valid=show_whole(counts["valid"]),
        seconds=words.number(show_duration(counts["seconds"])),
    )
    notes = [f"{text[:1].upper()}{text[1:]}." for text in reasons(found)]
    st.caption(" ".join([counted, *notes, words("plan.interval_note")]))


def reasons(found: Found) -> list[str]:
    """What the best's evidence is, and what its precision or batch costs at equal loss."""
    best = found.answer["best"]
    if best is None:
        return []
    penalties = (best["penalty"] or {}).values()
    return [
        *best["evidence"]["reasons"],
        *(row["reason"] for row in penalties if row and row.get("reason")),
    ]
