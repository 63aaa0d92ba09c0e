"""Which profile to show and which to compare it with: kept here, shipped, or uploaded."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

from planner.errors import PlannerError
from ui import profile_store
from ui.profile_store import Known
from ui.stop_log import paths_allowed
from ui.text import Words

MOST_UPLOADS = 8  # kept in a session
_UPLOADS = "_machine_uploads"


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The profile to show and the one to compare it with."""

    shown: Known | None
    other: Known | None


def choose(fresh: Path | None, words: Words) -> Chosen:
    """The profiles to show and to compare; `fresh` is the file to show now."""
    with st.container(border=True, key="machine_choose", gap="small"):
        picks = st.container()
        known = profile_store.known(_upload(words))
        _show(fresh, known)
        if not known:
            picks.html(f'<p class="fr-take">{escape(words("machine.none"))}</p>')
            return Chosen(shown=None, other=None)
        by_key = {each.key: each for each in known}
        names = labels(known, words)
        left, right = picks.columns(2, gap="medium")
        with left:
            shown = _pick("machine_profile", list(by_key), names, words)
        with right:
            others = ["", *(key for key in by_key if key != shown)]
            other = _pick("machine_other", others, names, words)
        if paths_allowed():
            picks.caption(words("machine.kept_in", folder=profile_store.folder()))
    return Chosen(shown=by_key.get(shown), other=by_key.get(other))


def _pick(key: str, options: list[str], names: Mapping[str, str], words: Words) -> str:
    if st.session_state.get(key) not in options:
        st.session_state.pop(key, None)  # the file has gone
    return str(
        st.selectbox(
            words(key.replace("machine_", "machine.")),
            options,
            key=key,
            format_func=lambda one: names[one] if one else words("machine.nothing"),
            persist_state="session",
        )
    )


def label(one: Known, words: Words) -> str:
    """A profile in one line: device, preset, when, how many kernels, whence."""
    profile = one.profile
    parts = [
        str(profile.device["name"]),
        profile.preset,
        profile.created[:16].replace("T", " "),
        words("machine.num_kernels", count=one.num_measured),
        "" if profile.complete else words("machine.incomplete"),
        "" if one.origin == "stored" else words(f"machine.origin_{one.origin}"),
    ]
    return " · ".join(part for part in parts if part)


def labels(known: Sequence[Known], words: Words) -> dict[str, str]:
    """A label of its own for each: profiles of the same minute are told apart by their file."""
    shown = {each.key: label(each, words) for each in known}
    counts = Counter(shown.values())
    return {
        key: text if counts[text] == 1 else f"{text} · {key.partition(':')[2]}"
        for key, text in shown.items()
    }


def _show(path: Path | None, known: Sequence[Known]) -> None:
    for each in known:
        if path is not None and each.path == path:
            st.session_state["machine_profile"] = each.key


def _upload(words: Words) -> list[Known]:
    """The profiles that this session has uploaded; a wrong file is refused here."""
    kept: dict[str, Known] = st.session_state.setdefault(_UPLOADS, {})
    file = st.file_uploader(
        words("machine.upload"),
        type=["json"],
        key="machine_upload",
        max_upload_size=profile_store.MOST_MEGABYTES,
        help=words("machine.upload_help"),
    )
    if file is not None:
        try:
            found = profile_store.uploaded(file.name, bytes(file.getvalue()))
        except PlannerError as error:
            st.error(str(error), icon=":material/edit:")
        else:
            if found.key not in kept:
                st.session_state["machine_profile"] = found.key
            kept[found.key] = found
            while len(kept) > MOST_UPLOADS:
                del kept[next(iter(kept))]
    return list(reversed(kept.values()))
