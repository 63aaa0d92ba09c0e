"""What this machine is: its device, threads, formats and software, as cards."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from planner.quantities import show_bytes
from profiles import machine
from profiles.formats import FORMATS
from ui.headline import Card, card_html
from ui.measuring import Bench
from ui.text import Words

_WAYS = ("native", "emulated", "unsupported", "unknown")
_FIRST_WAIT = 0.3  # s: a description that is at hand is not announced


def devices(bench: Bench, words: Words) -> list[dict[str, Any]]:
    """The devices that can be measured; empty while they are being asked for, and without torch,
    which is said."""
    job = bench.description()
    if job.state == "running":
        job.join(_FIRST_WAIT)
    if job.state == "running":
        _asking(bench, words)
        return []
    if job.state == "failed":
        _failed(bench, str(job.error), words)
        return []
    found: list[dict[str, Any]] = job.result
    return found


def _asking(bench: Bench, words: Words) -> None:
    @st.fragment(run_every=0.5)
    def watch() -> None:
        if bench.description().state != "running":
            st.rerun()
        st.caption(words("machine.asking"))

    watch()


def _failed(bench: Bench, reason: str, words: Words) -> None:
    if importlib.util.find_spec("torch") is None or "pip install" in reason:
        st.warning(words("machine.no_torch"), icon=":material/info:")
        st.code("pip install -c constraints.txt -e '.[profile]'", language="sh")
    else:
        st.warning(words("machine.not_described", reason=reason), icon=":material/info:")
    st.button(
        words("accuracy.again"),
        key="machine_again",
        on_click=bench.forget_description,
        icon=":material/refresh:",
    )


def draw(device: Mapping[str, Any] | None, words: Words) -> None:
    """The cards of a device; of the host alone where nothing else is known."""
    found = _host(words) if device is None else _device(device, words)
    body, name = "".join(map(card_html, found)), escape(words("machine.facts"), quote=True)
    st.html(f'<section class="fr-hero fr-four" aria-label="{name}">{body}</section>')


def _host(words: Words) -> tuple[Card, ...]:
    """What the system says without torch."""
    return _processor(machine.cpu_name(), machine.memory_total(), "CPU", words), _cores(
        machine.topology(), None, words
    )


def _processor(name: str, memory: float | None, label: str, words: Words) -> Card:
    held = words("machine.memory_of", size=show_bytes(memory))
    return Card(name="device", label=words("machine.device"), value=label, notes=(name, held))


def _cores(topology: Mapping[str, int | None], threads: int | None, words: Words) -> Card:
    usable, logical, sockets = (topology.get(key) for key in ("usable", "logical", "sockets"))
    return Card(
        name="threads",
        label=words("machine.threads"),
        value=str(threads or usable or logical or "–"),
        notes=(
            words("machine.processors", usable=usable or "–", logical=logical or "–"),
            words("machine.sockets", sockets=sockets or "–"),
        ),
    )


def _device(found: Mapping[str, Any], words: Words) -> tuple[Card, ...]:
    """Device, threads, formats, software."""
    software = found["environment"]
    name = found["name"]
    sku = found["sku_id"] or words("machine.no_sku")
    first = _processor(name, found["memory_bytes"], found["label"].upper(), words)
    return (
        Card(name=first.name, label=first.label, value=first.value, notes=(*first.notes, sku)),
        _cores(software["cpu"], found["num_threads"], words),
        _formats(found["formats"], words),
        _software(software, words),
    )


def _formats(formats: Mapping[str, str], words: Words) -> Card:
    by_way = {way: [name.upper() for name in FORMATS if formats.get(name) == way] for way in _WAYS}
    notes = [f"{words(f'machine.{way}')}: {', '.join(own)}" for way, own in by_way.items() if own]
    return Card(
        name="formats",
        label=words("machine.formats"),
        value=words("machine.num_native", count=len(by_way["native"])),
        notes=tuple(notes),
    )


def _software(software: Mapping[str, Any], words: Words) -> Card:
    lines = [("CUDA", software["cuda"]), ("ROCm", software["hip"]), ("driver", software["driver"])]
    notes = [f"{name} {version}" for name, version in lines if version]
    flags = software["cpu"].get("capability")
    return Card(
        name="software",
        label="torch",
        value=str(software["torch"]).partition("+")[0],
        notes=(
            *notes,
            words("machine.instructions", name=flags or "–"),
            f"Python {software['python']}, {software['system']}",
        ),
    )
