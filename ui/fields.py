"""The scenario's inputs: one flat set of keys, each a widget and a parameter of the address.

Every value is text, as a person writes it; the run file's own readers turn it into quantities.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from planner.engine import choices
from planner.models.dimensions import MLP_KINDS
from planner.run.limits import PRICE_MODES

SOURCES = ("preset", "config", "dimensions")
AMOUNTS = ("tokens", "samples", "epochs")
LAYOUTS = ("planner", "typed")


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One input. A field whose `when` does not hold is not shown and says nothing."""

    key: str  # of the widget and of the address
    default: str
    run_key: str | None = None  # dotted name in a run file
    choices: tuple[str, ...] = ()  # a closed list; empty: free text
    when: tuple[str, tuple[str, ...]] | None = None  # other key and the values it must have
    of_tokens: bool = False  # says nothing of a traced module, which knows samples only

    def active(self, values: Mapping[str, str]) -> bool:
        if self.of_tokens and is_traced(values):
            return False
        return self.when is None or values.get(self.when[0]) in self.when[1]


def is_traced(values: Mapping[str, str]) -> bool:
    """Whether the model is an operation table, as resnet-50, and no transformer."""
    from planner.models.presets import traced_ids

    return values.get("source") == "preset" and values.get("model", "").strip() in traced_ids()


def _dimension(key: str, default: str = "", choices: tuple[str, ...] = ()) -> Field:
    return Field(key=key, default=default, choices=choices, when=("source", ("dimensions",)))


_TYPED = ("layout_by", ("typed",))
_ADAPTERS = ("task", ("lora", "qlora"))

FIELDS = (
    Field(key="source", default="preset", choices=SOURCES),
    Field(key="model", default="llama-3-8b", run_key="model", when=("source", ("preset",))),
    Field(key="config", default="", when=("source", ("config",))),
    _dimension("layers"),
    _dimension("hidden"),
    _dimension("heads"),
    _dimension("kv_heads"),
    _dimension("head_dim"),
    _dimension("vocab"),
    _dimension("mlp_kind", "swiglu", MLP_KINDS),
    _dimension("ffn_hidden"),
    _dimension("num_experts"),
    _dimension("top_k"),
    _dimension("expert_hidden"),
    _dimension("tied", "no", ("no", "yes")),
    Field(key="amount", default="tokens", choices=AMOUNTS),
    Field(
        key="tokens",
        default="1T",
        run_key="data.tokens",
        when=("amount", ("tokens",)),
        of_tokens=True,
    ),
    Field(key="samples", default="", run_key="data.samples", when=("amount", ("samples",))),
    Field(key="epochs", default="1", run_key="data.epochs", when=("amount", ("epochs",))),
    Field(
        key="dataset_tokens",
        default="",
        run_key="data.dataset_tokens",
        when=("amount", ("epochs",)),
        of_tokens=True,
    ),
    Field(key="seq_len", default="8192", run_key="data.seq_len", of_tokens=True),
    Field(key="sku", default="h100-sxm5-80gb", run_key="hardware.sku"),
    Field(key="count", default="64", run_key="hardware.count"),
    Field(key="per_node", default="", run_key="hardware.per_node"),
    Field(key="interconnect", default="", run_key="hardware.interconnect"),
    Field(key="task", default="pretrain", run_key="training.task", choices=choices.TASKS),
    Field(
        key="lora_rank",
        default="16",
        run_key="training.lora.rank",
        when=_ADAPTERS,
    ),
    Field(
        key="precision", default="bf16", run_key="training.precision", choices=choices.PRECISIONS
    ),
    Field(
        key="optimizer", default="adamw", run_key="training.optimizer", choices=choices.OPTIMIZERS
    ),
    Field(
        key="recompute", default="none", run_key="training.recompute", choices=choices.RECOMPUTES
    ),
    Field(
        key="attention", default="flash", run_key="training.attention", choices=choices.ATTENTIONS
    ),
    Field(key="loss", default="auto", run_key="training.loss", choices=("auto", *choices.LOSSES)),
    Field(key="compile", default="none", run_key="training.compile", choices=choices.COMPILES),
    Field(key="offload", default="none", run_key="training.offload", choices=choices.OFFLOADS),
    Field(key="stack", default="", run_key="training.stack"),
    Field(key="global_batch", default="auto", run_key="training.global_batch"),
    Field(key="micro_batch", default="auto", run_key="training.micro_batch"),
    Field(key="accumulation", default="auto", run_key="training.accumulation"),
    Field(key="layout_by", default="planner", choices=LAYOUTS),
    Field(key="tp", default="1", run_key="training.layout.tp", when=_TYPED),
    Field(key="pp", default="1", run_key="training.layout.pp", when=_TYPED),
    Field(key="cp", default="1", run_key="training.layout.cp", when=_TYPED),
    Field(key="ep", default="1", run_key="training.layout.ep", when=_TYPED),
    Field(
        key="sharding",
        default="auto",
        run_key="training.layout.sharding",
        choices=("auto", *choices.SHARDINGS),
        when=_TYPED,
    ),
    Field(key="interleave", default="1", run_key="training.layout.interleave", when=_TYPED),
    Field(key="usd", default="", run_key="budget.usd"),
    Field(key="days", default="", run_key="budget.days"),
    Field(key="kwh", default="", run_key="budget.kwh"),
    Field(key="provider", default="", run_key="price.provider"),
    Field(key="region", default="", run_key="price.region"),
    Field(key="mode", default="on-demand", run_key="price.mode", choices=PRICE_MODES),
    Field(key="extra", default=""),
)

BY_KEY = {field.key: field for field in FIELDS}
BY_RUN_KEY = {field.run_key: field for field in FIELDS if field.run_key}
DEFAULTS = {field.key: field.default for field in FIELDS}
DIMENSIONS = tuple(field.key for field in FIELDS if field.when == ("source", ("dimensions",)))


def active_fields(values: Mapping[str, str]) -> Iterator[Field]:
    """The fields that say something at these values."""
    return (field for field in FIELDS if field.active(values))


def key_of(run_key: str) -> str | None:
    """The field beside which an error about `run_key` belongs.

    >>> key_of("data.tokens"), key_of("training.layout"), key_of("overhead.failures")
    ('tokens', 'tp', 'extra')
    """
    if run_key in BY_RUN_KEY:
        return BY_RUN_KEY[run_key].key
    inside = [each.key for name, each in BY_RUN_KEY.items() if name.startswith(f"{run_key}.")]
    if inside and "." in run_key:
        return inside[0]
    section = run_key.partition(".")[0]
    return "extra" if section in ("data", "hardware", "training", "overhead") else None
