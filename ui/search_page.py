"""The Search page: the form, the work in the background, and its answer when it is there."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import cast

import streamlit as st

from planner.errors import PlannerError
from planner.quantities import show_whole
from ui import search_answer
from ui.charts.trials import trials_figure
from ui.jobs import Job, Jobs
from ui.scenario import Scenario
from ui.search_controls import Controls
from ui.search_job import Found, News, Question, worker
from ui.search_tables import row_name
from ui.show import chart
from ui.text import Words

AT_ONCE = 2  # searches that work at the same time, of all sessions
MOST_KEPT = 24  # answers that are remembered
PATIENCE = 0.8  # s that a new search is waited for before its progress is shown
_ASKED = "_search"  # the question asked last in this session


@st.cache_resource
def jobs() -> Jobs:
    """The searches of this server."""
    return Jobs(most=MOST_KEPT, at_once=AT_ONCE)


def draw(scenario: Scenario, words: Words) -> None:
    """The whole page."""
    st.html(f'<h1 class="fr-title">{escape(words("search.title"))}</h1>')
    st.html(f'<p class="fr-take">{escape(words("search.lead"))}</p>')
    controls = Controls(words)
    wanted = controls.draw(scenario.run)
    question = None
    if wanted is not None:
        question = Question(run=scenario.run, source=scenario.source, wanted=wanted)
    if question is not None and jobs().find(question.name) is not None:
        st.session_state[_ASKED] = question  # perhaps searched by another session
    asked = cast("Question | None", st.session_state.get(_ASKED))
    job = None if asked is None else jobs().find(asked.name)
    if job is not None and job.state == "running":
        job.join(timeout=PATIENCE)
    if question is not None:
        _button(question, words)
    if asked is None or job is None:
        st.caption(words("search.empty"))
        return
    _shown(job, asked, question, controls, words)


def _button(question: Question, words: Words) -> None:
    """Start, or go on with what was cancelled."""
    job = jobs().find(question.name)
    running = job is not None and job.state == "running"
    resumable = job is not None and job.state == "done" and job.result.resumable
    label = "search.go_on" if resumable else "search.again" if job else "search.go"
    st.button(
        words(label),
        type="secondary" if job else "primary",
        icon=":material/search:",
        key="search_start",
        disabled=running,
        on_click=_start,
        args=(question,),
    )


def _start(question: Question) -> None:
    jobs().forget(question.name)
    jobs().get(question.name, worker(question))
    st.session_state[_ASKED] = question


def _shown(
    job: Job, asked: Question, question: Question | None, controls: Controls, words: Words
) -> None:
    if job.state == "running":
        _waiting(asked, words)
    elif job.state == "failed":
        _failed(job, controls, words)
    elif job.state == "cancelled":
        st.info(words("search.cancelled"), icon=":material/block:")
    else:
        if question is None or question.name != asked.name:
            st.info(words("search.of_before"), icon=":material/history:")
        elif not job.result.answer["complete"]:
            st.info(words("search.partial"), icon=":material/block:")
        search_answer.draw(cast("Found", job.result), asked, words)


def _failed(job: Job, controls: Controls, words: Words) -> None:
    error = job.error
    if isinstance(error, PlannerError):
        name = error.field.lstrip("-").replace("-", "_")
        slot = {"fix": "expert", "bound": "expert", "forbid": "expert", "try": "expert"}
        field = name if name in ("study", "trials", "seed") else slot.get(name, "")
        controls.mistake("" if field == "expert" else field, str(error))
        return
    st.warning(words("search.failed", reason=f"{type(error).__name__}: {error}"))


def _waiting(asked: Question, words: Words) -> None:
    """Look again every half second; leaving the page does not stop the work."""

    @st.fragment(run_every=0.5)
    def watch() -> None:
        job = jobs().find(asked.name)
        if job is None or job.state != "running":
            st.rerun()
        done, total = job.progress or (0, 0)
        news = job.news if isinstance(job.news, News) else News(phase="listing")
        st.progress(min(done / max(total, 1), 1.0), progress_text(job, news, words))
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.button(
                words("search.stopping" if job.stopping else "search.cancel"),
                key="search_cancel",
                icon=":material/stop_circle:",
                disabled=job.stopping,
                on_click=job.cancel,
            )
            st.caption(words("search.leave"))
        _so_far(news, asked, words)

    watch()


def progress_text(job: Job, news: News, words: Words) -> str:
    """What is being done, how much of it, for how long."""
    seconds = f"{show_whole(job.seconds)} s"
    if job.waiting:
        return words("search.queued", seconds=seconds)
    if news.phase in ("listing", "answering"):
        return words(f"search.{news.phase}", seconds=seconds)
    done, total = job.progress or (0, 0)
    counts: Mapping[str, str] = {"done": show_whole(done), "total": show_whole(total)}
    return words(f"search.doing_{news.phase}", seconds=seconds, **counts)


def _so_far(news: News, asked: Question, words: Words) -> None:
    if news.best is not None:
        name = row_name(news.best, words)
        st.html(
            f'<p class="fr-take" data-figure="best_so_far">{escape(words("search.best_so_far"))}: '
            f"<b data-value>{escape(name)}</b></p>"
        )
    if news.history:
        figure = trials_figure(news.history, words, by=asked.wanted.aim.by, exact=None)
        chart("trials_so_far", figure, alt=words("search.trials_title"))
