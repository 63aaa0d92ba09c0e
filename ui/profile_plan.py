"""From a profile to the Plan page: the scenario on the device that was measured."""

from __future__ import annotations

import streamlit as st

from planner.errors import PlannerError
from planner.profile_device.machine import listed
from ui import jump, profile_store
from ui.profile_store import Known
from ui.stop_log import paths_allowed
from ui.text import Words

_REFUSED = "_machine_keep_refused"


def draw(known: Known, words: Words) -> None:
    """The button that plans with a profile on disk; an upload can be kept first."""
    if known.path is None:
        _keep(known, words)
        return
    if st.button(
        words("machine.plan"),
        key="machine_plan",
        icon=":material/flight_takeoff:",
        help=words("machine.plan_help"),
    ):
        jump.to_plan(changes_of(known))


def changes_of(known: Known) -> dict[str, object]:
    """What to change of a scenario, by dotted key. A device that no table knows is planned alone:
    nothing says how it is joined to another."""
    part = listed(known.profile.device.get("sku_id"))
    found: dict[str, object] = {"hardware.profile": str(known.path)}
    if part is not None:
        return found | {"hardware.sku": part.sku_id}
    alone = ("sku", "per_node", "interconnect")
    return found | {f"hardware.{name}": None for name in alone} | {"hardware.count": 1}


def _keep(known: Known, words: Words) -> None:
    """Only on one's own machine: a server for others is not filled by their uploads."""
    if not paths_allowed():
        return
    refused = st.session_state.pop(_REFUSED, None)
    if refused:
        st.error(refused, icon=":material/edit:")
    st.button(
        words("machine.keep"),
        key="machine_keep",
        icon=":material/save:",
        help=words("machine.keep_help"),
        on_click=_kept,
        args=(known,),
    )


def _kept(known: Known) -> None:
    try:
        path = profile_store.keep(known)
    except PlannerError as error:
        st.session_state[_REFUSED] = str(error)
    else:
        st.session_state["machine_profile"] = f"stored:{path.name}"
