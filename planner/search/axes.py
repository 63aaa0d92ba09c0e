"""What a search may vary: the names, their words or numbers, and how a value is read."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine import choices
from planner.errors import PlannerError, nearest
from planner.quantities import COUNT, WATTS, read, read_whole
from planner.run.layout import SHARDING_ALIASES
from planner.run.values import one_of

PRICE_MODES = ("on-demand", "spot")  # with recorded prices

Value = str | int | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One thing that candidates differ in."""

    name: str
    kind: str  # words | whole | watts | sku
    words: tuple[str, ...]  # empty for numbers
    help: str

    @property
    def bounded(self) -> bool:
        """Whether a lower and an upper bound make sense."""
        return self.kind in ("whole", "watts")

    def read(self, field: str, text: str) -> Value:
        """One value as a person writes it. Raises PlannerError."""
        text = text.strip()
        if self.kind == "whole":
            return read_whole(COUNT, field, text)
        if self.kind == "watts":
            return read(WATTS, field, text)
        if self.kind == "sku":
            return _sku(field, text)
        aliases = SHARDING_ALIASES if self.name == "sharding" else None
        return one_of(self.words, aliases)(field, text)


def _sku(field: str, text: str) -> str:
    import hardware_db

    try:
        return hardware_db.resolve(text).sku_id
    except hardware_db.HardwareError as error:
        raise PlannerError(field, text, error.remedy) from None


def _words(name: str, words: tuple[str, ...], help: str) -> Axis:
    return Axis(name=name, kind="words", words=words, help=help)


def _whole(name: str, help: str) -> Axis:
    return Axis(name=name, kind="whole", words=(), help=help)


_ALL = (
    Axis(name="sku", kind="sku", words=(), help="accelerator"),
    _whole("count", "number of accelerators"),
    Axis(name="power_limit", kind="watts", words=(), help="board limit, W (predicted, never set)"),
    _words("price", PRICE_MODES, "how the hardware is rented"),
    _words("precision", choices.PRECISIONS, "number formats"),
    _words("compile", choices.COMPILES, "compilation"),
    _words("attention", choices.ATTENTIONS, "attention kernel"),
    _words("loss", choices.LOSSES, "how logits and cross-entropy are computed"),
    _words("sharding", tuple(w for w in choices.SHARDINGS if w != "layer-split"), "of the states"),
    _words("recompute", choices.RECOMPUTES, "recomputation of activations"),
    _whole("tp", "tensor parallel degree"),
    _whole("pp", "pipeline stages"),
    _whole("cp", "context parallel degree"),
    _whole("ep", "expert parallel degree"),
    _whole("dp", "data parallel degree"),
    _whole("interleave", "virtual stages of a device"),
    _whole("micro_batch", "sequences of a device and micro-step"),
    _whole("accumulation", "micro-steps of a step"),
    _whole("global_batch", "sequences of a step"),
)
AXES = {axis.name: axis for axis in _ALL}
ALIASES = {"price_mode": "price", "accelerator": "sku", "devices": "count", "gpus": "count"}


def axis(field: str, name: str) -> Axis:
    """The axis of a name, in any spelling. Raises PlannerError with the nearest names."""
    word = name.strip().lower().replace("-", "_").rpartition(".")[2]
    word = ALIASES.get(word, word)
    if word in AXES:
        return AXES[word]
    near = nearest(word, AXES, count=1)
    guess = f"did you mean {near[0]}? " if near else ""
    raise PlannerError(field, name, f"{guess}what can be searched: {', '.join(AXES)}")
