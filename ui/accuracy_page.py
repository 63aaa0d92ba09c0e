"""The Accuracy page: our own error, from the answer of `forerun validate`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

import streamlit as st

from planner.quantities import show_percent, show_whole
from ui import accuracy_tables as tables
from ui.charts.accuracy import against_measured, errors_by_source
from ui.headline import Card, card_html
from ui.jobs import Job, Jobs
from ui.show import chart, section
from ui.table import to_csv, to_html
from ui.text import Words

MOST_REFUSED = 200  # rows shown; the download has all


@st.cache_resource
def jobs() -> Jobs:
    """The jobs of this server."""
    return Jobs()


def validated(progress: Callable[[int, int], None]) -> Mapping[str, Any]:
    """The answer of `forerun validate --json` over the shipped table."""
    from planner.cli.output import plain
    from planner.fidelity.validate import validation

    answer: Mapping[str, Any] = plain(validation(progress=progress))
    return answer


def draw(words: Words) -> None:
    """The page, or what keeps it from being there yet."""
    st.html(f'<h1 class="fr-title">{escape(words("accuracy.title"))}</h1>')
    job = jobs().get("validation", validated)
    if job.state == "running":
        job.join(timeout=0.2)
    if job.state == "running":
        _waiting(words)
    elif job.state == "failed":
        _failed(job, words)
    else:
        result(job.result, words)


def _waiting(words: Words) -> None:
    """Look again every half second; leaving the page does not stop the work."""

    @st.fragment(run_every=0.5)
    def watch() -> None:
        job = jobs().get("validation", validated)
        if job.state != "running":
            st.rerun()
        done, total = job.progress or (0, 1)
        label = f"{words('accuracy.running')} {show_whole(job.seconds)} s"
        st.progress(min(done / max(total, 1), 1.0), label)
        st.caption(words("accuracy.slow"))

    watch()


def _failed(job: Job, words: Words) -> None:
    reason = f"{type(job.error).__name__}: {job.error}"
    key = "accuracy.missing" if isinstance(job.error, ImportError) else "accuracy.failed"
    st.warning(words(key, reason=reason), icon=":material/info:")
    st.button(
        words("accuracy.again"), key="validate_again", on_click=jobs().forget, args=("validation",)
    )


def result(answer: Mapping[str, Any], words: Words) -> None:
    """The page of an answer."""
    left_out = answer["mode"] == "leave-one-source-out"
    lead = words("accuracy.lead" if left_out else "accuracy.lead_shipped")
    st.html(f'<p class="fr-take">{escape(lead)}</p>')
    cards = "".join(card_html(card) for card in headline(answer, words))
    st.html(f'<section class="fr-hero fr-four">{cards}</section>')
    time = answer["time"]
    sources = [(name, row["median_ape"], row["p90_ape"]) for name, row in time["by_source"].items()]
    section(
        "sources",
        words,
        title=words("accuracy.by_source"),
        takeaway=words("accuracy.sources_takeaway", share=show_percent(time["median_ape"])),
        figure=errors_by_source(sources, words),
        table=tables.by_source(time, words),
        split=(2, 3),
    )
    for kind in ("time", "memory"):
        _scatter([row for row in answer["rows"] if row["kind"] == kind], kind, words)
    _refused(answer["refused"], words)
    _downloads(answer, words)


def headline(answer: Mapping[str, Any], words: Words) -> tuple[Card, ...]:
    """Time error, its mean over sources, coverage, and fits or does not fit."""
    time, memory = answer["time"], answer["memory"]
    runs = words("accuracy.runs", count=show_whole(time["n"]))
    fit_notes = (
        f"{show_percent(memory.get('oom_recall'))} {words('accuracy.oom_recall')}",
        f"{show_percent(memory.get('ran_called_does_not'))} {words('accuracy.ran_wrong')}",
    )
    return (
        Card(
            name="time_error",
            label=words("accuracy.time"),
            value=show_percent(time["median_ape"]),
            notes=(words("accuracy.median"), runs),
        ),
        Card(
            name="source_error",
            label=words("accuracy.time"),
            value=show_percent(time["mean_of_source_medians"]),
            notes=(words("accuracy.source_mean"),),
        ),
        Card(
            name="coverage",
            label=words("plan.interval"),
            value=show_percent(time["coverage80"]),
            notes=(words("accuracy.coverage"),),
        ),
        Card(
            name="fit",
            label=words("accuracy.memory"),
            value=show_percent(memory.get("fit_accuracy")),
            notes=(words("accuracy.fit_right"), *fit_notes),
        ),
    )


def _scatter(rows: Sequence[dict[str, Any]], kind: str, words: Words) -> None:
    if not rows:
        return
    title = words(f"accuracy.scatter_{kind}")
    takeaway = words(
        "accuracy.scatter_takeaway",
        share=show_percent(tables.within(rows)),
        count=show_whole(len(rows)),
    )
    with st.container(key=f"section_{kind}", gap="small"):
        st.subheader(title, anchor=kind)
        st.html(f'<p class="fr-take">{escape(takeaway)}</p>')
        figure = against_measured(rows, words, kind=kind)
        chart(f"accuracy_{kind}", figure, alt=f"{title}. {takeaway}")


def _refused(rows: Sequence[Mapping[str, Any]], words: Words) -> None:
    with st.container(key="section_refused", gap="small"):
        st.subheader(words("accuracy.refused"), anchor="refused")
        if not rows:
            st.html(f'<p class="fr-take">{escape(words("accuracy.refused_none"))}</p>')
            return
        takeaway = words("accuracy.refused_takeaway", count=show_whole(len(rows)))
        st.html(f'<p class="fr-take">{escape(takeaway)}</p>')
        with st.expander(words("accuracy.refused")):
            shown = tables.refused(rows[:MOST_REFUSED], words)
            st.html(to_html(shown, caption=words("accuracy.refused")))


def _downloads(answer: Mapping[str, Any], words: Words) -> None:
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            words("accuracy.rows_csv"),
            lambda: to_csv(tables.all_rows(answer["rows"])),
            file_name="forerun-accuracy.csv",
            mime="text/csv",
            key="rows_csv",
            icon=":material/download:",
            on_click="ignore",
        )
        st.download_button(
            words("accuracy.result_json"),
            lambda: json.dumps(answer, indent=2, allow_nan=False),
            file_name="forerun-accuracy.json",
            mime="application/json",
            key="result_json",
            icon=":material/download:",
            on_click="ignore",
        )
