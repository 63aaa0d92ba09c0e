"""Where the scenario's model comes from: a preset, a config.json as text, or typed dimensions."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from ui.fields import DIMENSIONS

if TYPE_CHECKING:
    from planner.engine.model import Model

MOST_BYTES = 1 << 20  # of a config.json: the largest published ones are below
_WORDS = ("mlp_kind", "tied")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A model by its text. `preset` is resolved by the planner from the run itself."""

    kind: str  # preset | config | dimensions
    config: str = ""
    dimensions: tuple[tuple[str, str], ...] = ()

    def load(self) -> Model | None:
        """The model, None where the run names it. Raises PlannerError."""
        if self.kind == "config":
            return model_from_text(self.config)
        if self.kind == "dimensions":
            return model_from_typed(dict(self.dimensions))
        return None


def model_from_text(text: str) -> Model:
    """The model that the text of a config.json describes. Nothing in it is run."""
    from planner.models import model_from_config

    if not text.strip():
        raise PlannerError("config", None, "paste or upload a config.json")
    return model_from_config(_parse(text), name="config.json")


def _parse(text: str) -> dict[str, Any]:
    if len(text.encode("utf-8", "replace")) > MOST_BYTES:
        raise PlannerError("config", text[:40], f"larger than {MOST_BYTES >> 10} KiB")
    try:
        content = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, ValueError) else "nested too deep"
        raise PlannerError("config", text[:40], f"is not valid JSON: {reason}") from None
    if not isinstance(content, dict):
        raise PlannerError("config", text[:40], "must hold one JSON object")
    return content


def _refuse(word: str) -> float:
    raise ValueError(f"{word} is not a number that a config may hold")


def minified(text: str) -> str:
    """The same JSON without the spaces, so that it fits in a link; other text unchanged."""
    try:
        return json.dumps(_parse(text), separators=(",", ":"), ensure_ascii=False)
    except PlannerError:
        return text


def text_of_upload(raw: bytes) -> str:
    """The text of an uploaded file. Raises PlannerError for what cannot be one."""
    if len(raw) > MOST_BYTES:
        raise PlannerError("config", f"{len(raw):,} bytes", f"larger than {MOST_BYTES >> 10} KiB")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PlannerError("config", "the file", "is not UTF-8 text") from None


def model_from_typed(typed: dict[str, str]) -> Model:
    """The model of typed dimensions; an empty one is not stated."""
    from planner.models import model_from_dimensions

    stated: dict[str, Any] = {
        name: int(_whole(name, text))
        for name, text in typed.items()
        if name not in _WORDS and text.strip()
    }
    stated |= {"mlp_kind": typed["mlp_kind"], "tied": typed["tied"] == "yes"}
    return model_from_dimensions(name="typed", **stated)


def _whole(name: str, text: str) -> int:
    from planner.quantities import COUNT, read_whole

    return read_whole(COUNT, name, text)


def typed_from(model: Model) -> dict[str, str]:
    """Dimensions to start typing from: those of a model with one kind of layer."""
    block = model.blocks[-1]
    if block.kv_lora_rank or model.kind != "decoder":
        return {}
    kind = "moe" if block.num_experts else ("swiglu" if block.gated else "gelu")
    numbers = {
        "layers": model.layers,
        "hidden": model.hidden,
        "heads": block.heads,
        "kv_heads": block.kv_heads,
        "head_dim": block.head_dim,
        "vocab": model.vocab,
        "ffn_hidden": block.ffn_hidden,
        "num_experts": block.num_experts,
        "top_k": block.top_k,
        "expert_hidden": block.expert_hidden,
    }
    typed = {name: str(number) if number else "" for name, number in numbers.items()}
    return typed | {"mlp_kind": kind, "tied": "yes" if model.tied else "no"}


def key_of(error: PlannerError, kind: str) -> str:
    """The field beside which an error about the model belongs."""
    name = error.field.rpartition(" ")[2]
    if kind == "dimensions":
        return name if name in DIMENSIONS else "layers"
    return kind if kind == "config" else "model"
