"""The form of the Search page: the aim, what stays, what is tried, and the command for it."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import streamlit as st

from planner.quantities import show_energy, show_usd
from planner.run import Run
from planner.search.axes import AXES
from planner.search.points import OBJECTIVES
from ui import page_fields, search_words
from ui.options import accelerator_label
from ui.page_fields import SEARCH_MODES, SEARCH_NUMBERS, SEARCH_WORDS
from ui.search_words import USUAL_TRIALS, Form, Wanted
from ui.text import Words

_EXAMPLES = {
    "count": "8,16,32",
    "tp": "1..8",
    "pp": "..4",
    "cp": "1",
    "ep": "1..8",
    "micro_batch": "1..4",
    "power_limit": "400,700",
    "most_devices": "64",
}
_EXPERT_EXAMPLE = "--fix optimizer\n--forbid precision=fp8\n--bound interleave=..2"


class Controls:
    """Draws the form and remembers where the mistake of each field belongs."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self._slots: dict[str, Any] = {}

    def draw(self, run: Run) -> Wanted | None:
        """What the form asks; None where a field is wrong, which is said beside it."""
        page_fields.begin("search", st.session_state)
        with st.container(border=True, key="search_form", gap="small"):
            by, weights = self._aim()
            trials, seed, study = self._trials()
            st.html(f'<p class="fr-take">{escape(limits_line(run, self.words))}</p>')
            keep = self._keep()
            with st.expander(self.words("search.values")):
                chosen, typed, free_batch, most = self._values()
            with st.expander(self.words("search.expert")):
                expert, shown = self._expert()
            self._slots[""] = st.empty()
        form = Form(
            by=by,
            weights=weights,
            keep=keep,
            chosen=chosen,
            typed=typed,
            free_batch=free_batch,
            most_devices=most,
            expert=expert,
            trials=trials,
            seed=seed,
            study=study,
        )
        wanted, mistakes = search_words.read(form)
        for name, text in mistakes.items():
            self.mistake(name, text)
        if wanted is not None:
            with shown:
                st.caption(self.words("search.same_command"))
                st.code(search_words.command(wanted), language="bash", wrap_lines=True)
        return wanted

    def mistake(self, name: str, text: str) -> None:
        """Put a message beside a field, under the form where it has none."""
        slot = self._slots.get(name, self._slots[""])
        slot.html(f'<div class="fr-mistake" role="alert">{escape(text)}</div>')

    def _aim(self) -> tuple[str, str]:
        aim, mode = st.columns((3, 2), gap="small")
        with aim:
            self._segments("by", OBJECTIVES)
        with mode:
            self._segments("mode", SEARCH_MODES)
        by = str(st.session_state["search_by"])
        return by, self._text("weights", "time=1,cost=1") if by == "value" else ""

    def _segments(self, name: str, options: tuple[str, ...]) -> None:
        st.segmented_control(
            self.words(f"search.{name}"),
            list(options),
            key=f"search_{name}",
            format_func=lambda word: self.words(f"search.{name}_{word}"),
            required=True,
            persist_state="session",
        )

    def _text(self, name: str, example: str, *, label: str | None = None) -> str:
        text = st.text_input(
            label or self.words(f"search.{name}"),
            key=f"search_{name}",
            placeholder=example,
            persist_state="session",
        )
        self._slots[name] = st.empty()
        return text

    def _keep(self) -> tuple[str, ...]:
        kept = st.multiselect(
            self.words("search.keep"),
            list(AXES),
            key="search_keep",
            format_func=lambda name: axis_name(name, self.words),
            placeholder=self.words("search.keep_nothing"),
            help=self.words("search.keep_help"),
            persist_state="session",
        )
        return tuple(kept)

    def _values(self) -> tuple[dict[str, tuple[str, ...]], dict[str, str], bool, str]:
        st.caption(self.words("search.values_help"))
        chosen: dict[str, tuple[str, ...]] = {}
        columns = st.columns(2, gap="small")
        for index, name in enumerate(SEARCH_WORDS):
            with columns[index % 2]:
                chosen[name] = self._pick(name)
        typed: dict[str, str] = {}
        columns = st.columns(4, gap="small")
        for index, name in enumerate(SEARCH_NUMBERS):
            with columns[index % 4]:
                label = axis_name(name, self.words)
                typed[name] = self._text(name, _EXAMPLES[name], label=label)
        with columns[len(SEARCH_NUMBERS) % 4]:
            most = self._text("most_devices", _EXAMPLES["most_devices"])
        free = st.toggle(
            self.words("search.free_batch"),
            key="search_free_batch",
            help=self.words("search.free_batch_help"),
            persist_state="session",
        )
        return chosen, typed, free, most

    def _pick(self, name: str) -> tuple[str, ...]:
        """Words to try of one axis; none are the usual ones."""
        if name == "sku":
            import hardware_db

            options = [part.sku_id for part in hardware_db.accelerators()]
        else:
            options = list(AXES[name].words)
        picked = st.multiselect(
            axis_name(name, self.words),
            options,
            key=f"search_{name}",
            format_func=accelerator_label if name == "sku" else str,
            placeholder=self.words("search.own" if name in ("sku", "price") else "side.usual"),
            persist_state="session",
        )
        self._slots[name] = st.empty()
        return tuple(picked)

    def _expert(self) -> tuple[str, Any]:
        text = st.text_area(
            self.words("search.expert_label"),
            key="search_expert",
            placeholder=_EXPERT_EXAMPLE,
            height=100,
            help=self.words("search.expert_help"),
            persist_state="session",
        )
        self._slots["expert"] = st.empty()
        return text, st.container(gap="small")

    def _trials(self) -> tuple[str | None, str, str]:
        if st.session_state["search_mode"] != "trials":
            return None, "", ""
        number, seed, study = st.columns((1, 1, 2), gap="small")
        with number:
            trials = self._text("trials", USUAL_TRIALS)
        with seed:
            start = self._text("seed", "0")
        with study:
            name = self._text("study", self.words("search.study_none"))
        st.caption(self.words("search.study_help"))
        return trials, start, name


def axis_name(name: str, words: Words) -> str:
    """What an axis is called, with the command's word for it where that differs."""
    return words(f"axis.{name}")


def limits_line(run: Run, words: Words) -> str:
    """The limits that the search keeps, and where they are set."""
    budget = run.budget
    said: Mapping[str, str | None] = {
        "days": None if budget.days is None else f"{budget.days:g}",
        "usd": None if budget.usd is None else show_usd(budget.usd),
        "kwh": None if budget.kwh is None else show_energy(budget.kwh),
    }
    parts = [words("search.limit_memory")]
    parts += [words(f"search.limit_{name}", amount=text) for name, text in said.items() if text]
    missing = [words(f"search.no_{name}") for name, text in said.items() if not text]
    return words("search.limits_line", limits=words("search.comma").join([*parts, *missing]))
