"""The fields' values in a session, and how they follow the address, uploads and advice."""

from __future__ import annotations

from collections.abc import Mapping

import streamlit as st

from planner.errors import PlannerError
from ui import link, model_source, page_fields, run_file
from ui.fields import DEFAULTS, FIELDS, is_traced
from ui.text import LANGUAGES, language_of

_LINK, _NOTES, _WRONG_FILE = "_link", "_notes", "_wrong_file"
_TAKEN = "_taken"
_AS_TOKENS = "_as_tokens"  # the length was asked in tokens before a traced module was chosen
USUAL_SAMPLES = "115M"  # 90 passes over ImageNet's 1,281,167 images (Goyal et al. 2017)


def values() -> dict[str, str]:
    """The values of all fields as they stand."""
    state = st.session_state
    return {field.key: str(state.get(field.key) or "") for field in FIELDS}


def restore() -> None:
    """Bring the address and the fields together before the fields are drawn.

    A new session starts from its address, else from the run file the application was started
    with; later an address that is not the one we wrote comes from the browser's history.
    """
    state, params = st.session_state, st.query_params.to_dict()
    if "lang" not in state:
        asked = params.get("lang")
        state["lang"] = asked if asked in LANGUAGES else language_of(st.context.locale)
    taken = state.pop(_TAKEN, None)
    if taken is not None:
        _set(taken)
        return
    started = _LINK in state
    if started and (not _says_anything(params) or params == state[_LINK]):
        return
    if not started and not _says_anything(params):
        _set(run_file.start_values())
        return
    found, wrong = link.read(params)
    controls, wrong_controls = page_fields.read(params)
    state[_NOTES] = wrong + wrong_controls
    _set(found)
    page_fields.restored(state, controls)


def _says_anything(params: Mapping[str, str]) -> bool:
    return link.has_scenario(params) or any(key in page_fields.BY_KEY for key in params)


def publish(now: Mapping[str, str], page: str) -> None:
    """Write the scenario and the controls of the page into the address."""
    said = link.written(now) | page_fields.written(page, st.session_state)
    language = st.session_state["lang"]
    if language != language_of(st.context.locale):
        said["lang"] = language
    if st.query_params.to_dict() != said:
        st.query_params.from_dict(said)
    st.session_state[_LINK] = said


def notes() -> list[tuple[str, str, str]]:
    """What the address asked for and could not be understood: key, value and what was taken."""
    return [(key, value, _usual(key)) for key, value in st.session_state.get(_NOTES, ())]


def _usual(key: str) -> str:
    return DEFAULTS[key] if key in DEFAULTS else str(page_fields.BY_KEY[key].default or "–")


def apply(changes: Mapping[str, object]) -> None:
    """Change the fields as the planner advises: for the callback of a button."""
    _set(run_file.changed(values(), changes))


def take(found: Mapping[str, str]) -> None:
    """Let the next run of the page start from these fields, whatever its address can hold."""
    st.session_state[_TAKEN] = dict(found)


def _set(found: Mapping[str, str]) -> None:
    for key, value in found.items():
        st.session_state[key] = value


def start_typing() -> None:
    """Typing dimensions starts from those of the preset that was chosen."""
    state = st.session_state
    empty = not any(state.get(key) for key in ("layers", "hidden", "heads"))
    if state["source"] == "dimensions" and empty:
        from planner.models import load_model, preset_ids

        if state["model"] in preset_ids():
            _set(model_source.typed_from(load_model(state["model"])))


def follow_model() -> None:
    """A traced module's length is asked in samples, that of the model after it in tokens again.

    To be called after the model's field and before the amount's.
    """
    state = st.session_state
    if is_traced(values()) and state["amount"] == "tokens":
        state["amount"], state[_AS_TOKENS] = "samples", True
        state["samples"] = state.get("samples") or USUAL_SAMPLES
    elif not is_traced(values()) and state.pop(_AS_TOKENS, False) and state["amount"] == "samples":
        state["amount"] = "tokens"


def take_upload() -> None:
    file = st.session_state["_upload"]
    if file is None:
        return
    try:
        st.session_state["config"] = model_source.minified(
            model_source.text_of_upload(file.getvalue())
        )
    except PlannerError as error:
        st.session_state["config"] = str(error)


def tidy_config() -> None:
    st.session_state["config"] = model_source.minified(st.session_state["config"])


def take_run_file() -> None:
    file = st.session_state["_run_file"]
    if file is None:
        return
    from planner.run.yaml_text import parse_yaml

    try:
        text = model_source.text_of_upload(file.getvalue())
        _set(run_file.values_from_mapping(parse_yaml(text, file.name)))
        st.session_state.pop(_WRONG_FILE, None)
    except PlannerError as error:
        st.session_state[_WRONG_FILE] = str(error)


def run_file_mistake() -> str | None:
    """What is wrong with the run file that was opened last."""
    found: str | None = st.session_state.get(_WRONG_FILE)
    return found
