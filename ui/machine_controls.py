"""The controls of the page This machine: measure, watch, cancel, continue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import streamlit as st

from planner.errors import PlannerError
from planner.quantities import show_duration
from profiles.sizes import PRESETS
from ui import profile_store
from ui.measuring import Bench, Measurement, Run, continued, new_path
from ui.profile_store import Known
from ui.text import Words

MOST_SECONDS = 86_400
_REFUSED = "_machine_refused"
_WATCHED, _FOLLOWED = "_machine_watched", "_machine_followed"  # a path; the job shown at its end
_PERIOD = 1.0  # s between two looks at a measurement, which they must not disturb


def device(devices: Sequence[Mapping[str, Any]], words: Words) -> Mapping[str, Any] | None:
    """The device to measure, asked where there are several."""
    if len(devices) < 2:
        return devices[0] if devices else None
    labels = {each["label"]: each for each in devices}
    chosen = st.segmented_control(
        words("machine.device"),
        list(labels),
        key="machine_device",
        default=devices[0]["label"],
        format_func=lambda label: f"{label} · {labels[label]['name']}",
        required=True,
    )
    return labels[str(chosen)]


def measure(bench: Bench, found: Mapping[str, Any] | None, words: Words) -> None:
    """Start a measurement, or watch the one under way, whoever started it."""
    run = bench.latest
    if found is None and run is None and _REFUSED not in st.session_state:
        return  # nothing to show in the frame
    with st.container(border=True, key="machine_measure", gap="small"):
        if run is not None and run.running:
            st.session_state[_WATCHED] = str(run.asked.path)
            _watch(bench, words)
            return
        if run is not None and st.session_state.get(_WATCHED) == str(run.asked.path):
            _ended(run, words)
        refused = st.session_state.pop(_REFUSED, None)
        if refused:
            st.error(refused, icon=":material/edit:")
        if found is not None:
            _start(bench, found, words)


def _start(bench: Bench, found: Mapping[str, Any], words: Words) -> None:
    left, right = st.columns((3, 2), gap="medium", vertical_alignment="bottom")
    with left:
        preset = st.segmented_control(
            words("machine.preset"),
            list(PRESETS),
            key="machine_preset",
            format_func=lambda name: words(f"machine.preset_{name}"),
            required=True,
            persist_state="session",
        )
    with right:
        button = st.container()
    st.html(f'<div class="fr-hint">{escape(words(f"machine.preset_{preset}_note"))}</div>')
    with st.expander(words("machine.more")):
        threads, seconds = _limits(found, words)
    asked = {"preset": str(preset), "threads": threads, "seconds": seconds}
    button.button(
        words("machine.start"),
        key="machine_start",
        icon=":material/speed:",
        type="primary",
        width="stretch",
        on_click=_begin,
        args=(bench, found["name"], found["label"], asked),
    )


def _limits(found: Mapping[str, Any], words: Words) -> tuple[int | None, float | None]:
    left, right = st.columns(2, gap="small")
    with left:
        threads = st.number_input(
            words("machine.threads"),
            min_value=1,
            max_value=4095,
            value=None,
            step=1,
            key="machine_threads",
            placeholder=str(found["num_threads"]),
            help=words("machine.threads_help"),
        )
    with right:
        seconds = st.number_input(
            words("machine.limit"),
            min_value=1,
            max_value=MOST_SECONDS,
            value=None,
            step=1,
            key="machine_limit",
            placeholder=words("machine.limit_usual"),
            help=words("machine.limit_help"),
        )
    return threads, None if seconds is None else float(seconds)


def _begin(bench: Bench, name: str, label: str, asked: dict[str, Any]) -> None:
    try:
        folder = profile_store.make_folder()
    except PlannerError as error:
        st.session_state[_REFUSED] = str(error)
        return
    path = new_path(folder, name=name, label=label, preset=asked["preset"])
    _launch(bench, Measurement(device=label, path=path, **asked))


def _launch(bench: Bench, asked: Measurement) -> None:
    if bench.start(asked):
        st.session_state[_WATCHED] = str(asked.path)


def _watch(bench: Bench, words: Words) -> None:
    """Look again every second; leaving the page does not stop the measurement."""

    @st.fragment(run_every=_PERIOD)
    def watch() -> None:
        run = bench.latest
        if run is None or not run.running:
            st.rerun()
        progress = run.child.progress
        if progress is None:
            st.progress(0.0, words("machine.starting"))
        else:
            left = words.number(show_duration(max(1.0, round(progress.left_seconds))))
            label = words(
                "machine.progress", done=progress.done, planned=progress.planned, left=left
            )
            st.progress(min(progress.done / max(progress.planned, 1), 1.0), label)
            st.caption(words("machine.doing", kernel=progress.doing))
        st.caption(words("machine.leave"))
        st.button(
            words("machine.cancel"),
            key="machine_cancel",
            icon=":material/stop_circle:",
            on_click=_cancel,
            args=(bench, run),
        )

    watch()


def _cancel(bench: Bench, run: Run) -> None:
    bench.cancel()
    run.job.join(1.0)


def _ended(run: Run, words: Words) -> None:
    name = run.asked.path.name
    if run.job.state == "done":
        st.success(words("machine.measured", name=name), icon=":material/check:")
    elif run.cancelled:
        st.info(words("machine.cancelled", name=name), icon=":material/stop_circle:")
    else:
        reason = str(run.job.error).removeprefix("profiles: ")
        st.error(words("machine.failed", reason=reason), icon=":material/error:")


def fresh(bench: Bench) -> Path | None:
    """The profile that this session has watched being measured, once, when that has ended."""
    run = bench.latest
    if run is None or run.running or st.session_state.get(_WATCHED) != str(run.asked.path):
        return None
    if st.session_state.get(_FOLLOWED) is run.job:
        return None
    st.session_state[_FOLLOWED] = run.job
    return run.asked.path


def resume(bench: Bench, shown: Known, words: Words) -> None:
    """Continue an unfinished profile where this machine can."""
    if shown.profile.complete:
        return
    running = bench.latest is not None and bench.latest.running
    asked = continued(shown.profile, shown.path) if shown.path is not None else None
    if shown.origin == "stored" and asked is not None and not running:
        st.button(
            words("machine.continue"),
            key="machine_continue",
            icon=":material/resume:",
            on_click=_launch,
            args=(bench, asked),
        )
