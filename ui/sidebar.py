"""The scenario's inputs, shared by all pages, each with its mistake beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from html import escape
from typing import Any

import streamlit as st

from ui import state
from ui.charts.style import FIGURE_FORMATS
from ui.fields import AMOUNTS, BY_KEY, is_traced
from ui.options import accelerator_label, accelerator_line, networks_of, regions_of
from ui.show import FIGURE_FORMAT
from ui.text import LANGUAGES, Words


class Sidebar:
    """Draws the inputs and remembers where the mistake of each belongs."""

    def __init__(self, words: Words) -> None:
        self.words = words
        self._slots: dict[str, Any] = {}

    def draw(self) -> dict[str, str]:
        """Draw everything and return the values of all fields."""
        with st.sidebar:
            self._model()
            self._data()
            self._hardware()
            self._recipe()
            self._batch()
            self._limits()
            self._more()
        return state.values()

    def show(self, mistakes: Mapping[str, str]) -> None:
        """Put each mistake beside its field."""
        for key, text in mistakes.items():
            if key in self._slots:
                self._slots[key].html(f'<div class="fr-mistake" role="alert">{escape(text)}</div>')

    def say(self, key: str, text: str) -> None:
        """A quiet line under a field, when it has no mistake."""
        self._slots[key].html(f'<div class="fr-hint">{escape(text)}</div>')

    def _group(self, name: str, *, open: bool = False) -> Any:
        return st.expander(self.words(f"side.{name}"), expanded=open)

    def _slot(self, key: str) -> None:
        self._slots[key] = st.empty()

    def _label(self, key: str) -> dict[str, Any]:
        help_text = self.words.name("help", key)
        return {
            "label": self.words(f"field.{key}"),
            "key": key,
            "help": help_text if help_text != key.replace("_", " ") else None,
        }

    def _text(self, key: str, placeholder: str = "") -> None:
        st.text_input(**self._label(key), placeholder=placeholder, persist_state="session")
        self._slot(key)

    def _select(
        self, key: str, options: list[str], shown: Callable[[str], str] = str, *, new: bool = False
    ) -> None:
        st.selectbox(
            **self._label(key),
            options=options,
            format_func=shown,
            accept_new_options=new,
            persist_state="session",
        )
        self._slot(key)

    def _choice(self, key: str) -> None:
        """One of a closed list, named in the person's language where we have names."""
        self._select(
            key, list(BY_KEY[key].choices), lambda word: self.words.name(f"choice.{key}", word)
        )

    def _segments(self, key: str, options: tuple[str, ...] = (), **more: Any) -> str:
        st.segmented_control(
            **self._label(key),
            options=list(options or BY_KEY[key].choices),
            format_func=lambda word: self.words(f"choice.{key}.{word}"),
            required=True,
            width="stretch",
            persist_state="session",
            **more,
        )
        return str(st.session_state[key])

    def _row(self, *keys: str) -> None:
        """Short fields side by side."""
        for column, key in zip(st.columns(len(keys), gap="small"), keys, strict=True):
            with column:
                if BY_KEY[key].choices:
                    self._choice(key)
                else:
                    self._text(key)

    def _model(self) -> None:
        with self._group("model", open=True):
            source = self._segments("source", on_change=state.start_typing)
            if source == "preset":
                from planner.models.presets import preset_ids, traced_ids

                self._select("model", sorted((*preset_ids(), *traced_ids())), new=True)
            elif source == "config":
                self._config()
            else:
                self._dimensions()

    def _config(self) -> None:
        st.file_uploader(
            self.words("side.upload"),
            type=["json"],
            key="_upload",
            max_upload_size=1,
            on_change=state.take_upload,
        )
        st.text_area(
            **self._label("config"),
            height=150,
            on_change=state.tidy_config,
            persist_state="session",
        )
        self._slot("config")

    def _dimensions(self) -> None:
        self._row("layers", "hidden")
        self._row("heads", "kv_heads")
        self._row("head_dim", "vocab")
        self._row("mlp_kind", "ffn_hidden")
        if st.session_state["mlp_kind"] == "moe":
            self._row("num_experts", "top_k")
            self._text("expert_hidden")
        self._choice("tied")

    def _data(self) -> None:
        state.follow_model()
        with self._group("data", open=True):
            if is_traced(state.values()):
                self._text(self._segments("amount", AMOUNTS[1:]))
                return
            amount = self._segments("amount")
            if amount == "epochs":
                self._row("epochs", "dataset_tokens")
                self._text("seq_len")
            else:
                self._row(amount, "seq_len")

    def _hardware(self) -> None:
        import hardware_db

        with self._group("hardware", open=True):
            skus = [part.sku_id for part in hardware_db.accelerators()]
            self._select("sku", skus, accelerator_label, new=True)
            self._row("count", "per_node")
            networks = networks_of(st.session_state["sku"])
            usual = self.words("side.usual")
            self._select(
                "interconnect",
                ["", *networks],
                lambda name: networks.get(name, name) or usual,
                new=True,
            )

    def _recipe(self) -> None:
        from planner.stacks import stacks

        titles = {name: each.title for name, each in stacks().items()}
        usual = self.words("side.usual")
        with self._group("recipe", open=True):
            self._row("task", "precision")
            if st.session_state["task"] in ("lora", "qlora"):
                self._text("lora_rank")
            self._row("optimizer", "recompute")
            self._row("attention", "loss")
            self._row("compile", "offload")
            self._select(
                "stack", ["", *titles], lambda name: titles.get(name, name) or usual, new=True
            )

    def _batch(self) -> None:
        with self._group("batch"):
            self._text("global_batch")
            self._row("micro_batch", "accumulation")
            if self._segments("layout_by") == "typed":
                self._row("tp", "pp")
                self._row("cp", "ep")
                self._row("sharding", "interleave")

    def _limits(self) -> None:
        import hardware_db

        names = {each.provider: each.name for each in hardware_db.providers()}
        cheapest = self.words("side.any")
        with self._group("limits"):
            self._row("days", "usd")
            self._text("kwh")
            self._select(
                "provider", ["", *names], lambda name: names.get(name, name) or cheapest, new=True
            )
            regions = regions_of(st.session_state["sku"], st.session_state["provider"])
            self._select("region", ["", *regions], lambda name: name or "–", new=True)
            self._choice("mode")

    def _more(self) -> None:
        with self._group("more"):
            st.text_area(**self._label("extra"), height=100, persist_state="session")
            self._slot("extra")
            st.file_uploader(
                self.words("side.upload_run"),
                type=["yaml", "yml"],
                key="_run_file",
                max_upload_size=1,
                on_change=state.take_run_file,
            )
            self._slot("_run_file")
            wrong = state.run_file_mistake()
            if wrong:
                self.show({"_run_file": wrong})
            st.segmented_control(
                self.words("app.language"),
                list(LANGUAGES),
                key="lang",
                format_func=LANGUAGES.__getitem__,
                required=True,
                persist_state="session",
            )
            st.segmented_control(
                self.words("app.figure_format"),
                list(FIGURE_FORMATS),
                key=FIGURE_FORMAT,
                default=FIGURE_FORMATS[0],
                format_func=str.upper,
                help=self.words("app.figure_format_help"),
                required=True,
                persist_state="session",
            )


def hints(sidebar: Sidebar, now: Mapping[str, str], mistakes: Mapping[str, str]) -> None:
    """Quiet facts under fields that are right."""
    if "sku" not in mistakes:
        line = accelerator_line(now["sku"], sidebar.words)
        if line:
            sidebar.say("sku", line)
