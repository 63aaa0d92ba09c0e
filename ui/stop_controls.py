"""The controls of the Stop page: the log, the rule, and what the log does not say."""

from __future__ import annotations

import re
from argparse import Namespace
from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from planner.cli.stop import options_of
from planner.engine.choices import SCHEDULES, TASKS
from planner.errors import PlannerError
from planner.scaling.logs.training_log import TrainingLog
from planner.scaling.marginal import THRESHOLD
from planner.scaling.stopping.options import DIRECTIONS, UNITS, StopOptions
from ui import page_fields, stop_log
from ui.page_fields import STOP_TEXTS
from ui.text import Words

_EXAMPLES = {
    "total_steps": "23920",
    "warmup_steps": "0",
    "usd_per_hour": "24",
    "devices": "8",
    "seconds_per_step": "0.84",
    "tokens_per_step": "0.5M",
    "params": "124M",
    "worth": "500",
}
_FIELDS = (*STOP_TEXTS, "schedule", "direction", "metric", "task", "threshold", "unit")
_UNASKED = ("unit_hours", "unit_usd", "validations", "final_ratio", "epochs", "eval_seconds")


def in_words(text: str, words: Words) -> str:
    """A message of the planner with the fields of this page for the command's options.

    >>> in_words("no price: say --usd-per-hour", Words(language="en"))
    'no price: say “Price of the job, USD an hour”'
    """

    def field(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        return f"“{words(f'stop.{name}')}”" if name in _FIELDS else found[0]

    return re.sub(r"--([a-z]+(?:-[a-z]+)*)", field, text)


def log(words: Words) -> TrainingLog | None:
    """The log that was given, None without one; a log that cannot be read is refused here."""
    page_fields.begin("stop", st.session_state)
    with st.container(border=True, key="stop_log", gap="small"):
        files = st.file_uploader(
            words("stop.upload"),
            key="stop_upload",
            accept_multiple_files=True,
            max_upload_size=stop_log.MOST_MEGABYTES,
            help=words("stop.upload_help"),
        )
        path = _path(words)
        try:
            with st.spinner(words("stop.reading")):
                if files:
                    uploads = tuple((file.name, bytes(file.getvalue())) for file in files)
                    return stop_log.log_of_upload(uploads)
                return stop_log.log_of_path(path) if path else None
        except PlannerError as error:
            st.error(str(error), icon=":material/edit:")
            return None


def _path(words: Words) -> str:
    if not stop_log.paths_allowed():
        return ""
    return st.text_input(
        words("stop.path"), key="stop_path", help=words("stop.path_help"), persist_state="session"
    ).strip()


def options(read: TrainingLog, words: Words) -> StopOptions | None:
    """The rule's options; None where a field is wrong, which is said beside it."""
    slots: dict[str, Any] = {}
    with st.container(border=True, key="stop_rule", gap="small"):
        rule = _rule(read, words, slots)
        with st.expander(words("stop.more")):
            more = _more(words, slots)
    asked = dict.fromkeys(_UNASKED) | rule | more
    try:
        return options_of(Namespace(**asked))
    except PlannerError as error:
        _mistake(error, slots, words)
        return None


def _mistake(error: PlannerError, slots: Mapping[str, Any], words: Words) -> None:
    name = error.field.lstrip("-").replace("-", "_")
    said = str(error).removeprefix(f"{error.field}: ") if name in slots else str(error)
    text = in_words(said, words)
    slot = slots.get(name, st)
    slot.html(f'<div class="fr-mistake" role="alert">{escape(text)}</div>')


def _rule(read: TrainingLog, words: Words, slots: dict[str, Any]) -> dict[str, Any]:
    metric, unit, threshold = st.columns((2, 2, 1), gap="small")
    with metric:
        names = ["", *read.metrics]
        if st.session_state["stop_metric"] not in names:
            st.session_state["stop_metric"] = ""  # of another log
        chosen = st.selectbox(
            words("stop.metric"),
            names,
            key="stop_metric",
            format_func=lambda name: name or words("stop.metric_auto"),
            persist_state="session",
        )
        slots["metric"] = st.empty()
    with unit:
        st.segmented_control(
            words("stop.unit"),
            list(UNITS),
            key="stop_unit",
            format_func=lambda name: words(f"stop.unit_{name}"),
            required=True,
            persist_state="session",
        )
        slots["unit"] = st.empty()
    with threshold:
        share = st.text_input(
            words("stop.threshold"), key="stop_threshold", persist_state="session"
        )
        slots["threshold"] = st.empty()
    unit_asked = str(st.session_state["stop_unit"])
    return {"metric": chosen or None, "unit": unit_asked, "threshold": share or str(THRESHOLD)}


def _more(words: Words, slots: dict[str, Any]) -> dict[str, Any]:
    said: dict[str, Any] = {}
    columns = st.columns(2, gap="small")
    for index, name in enumerate(STOP_TEXTS):
        with columns[index % 2]:
            text = st.text_input(
                words(f"stop.{name}"),
                key=f"stop_{name}",
                placeholder=_EXAMPLES[name],
                persist_state="session",
            )
            said[name] = text.strip() or None
            slots[name] = st.empty()
    with columns[0]:
        said["schedule"] = _choice("schedule", SCHEDULES, words) or None
        slots["schedule"] = st.empty()
    with columns[1]:
        said["direction"] = _choice("direction", DIRECTIONS, words) or None
        said["task"] = st.selectbox(
            words("stop.task"), list(TASKS), key="stop_task", persist_state="session"
        )
        slots["direction"] = st.empty()
    return said | {"decay_share": None}


def _choice(name: str, known: tuple[str, ...], words: Words) -> str:
    def shown(value: str) -> str:
        if not value:
            return words(f"stop.{name}_auto")
        return words.name(f"stop.{name}_{value}", "").strip() or value

    return str(
        st.selectbox(
            words(f"stop.{name}"),
            ["", *known],
            key=f"stop_{name}",
            format_func=shown,
            persist_state="session",
        )
    )
