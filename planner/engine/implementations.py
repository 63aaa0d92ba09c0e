"""How the code of a training stack runs a layer and the loss, as far as memory depends on it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planner.errors import PlannerError, nearest

FILE = Path(__file__).parent / "data" / "implementations.toml"

WORDS = {
    "norm": ("fused", "eager"),
    "qkv": ("split", "fused", "model"),
    "key_values": ("grouped", "repeated"),
    "gated": ("fused", "eager"),
    "gelu": ("kernel", "composed", "as-published"),
    "plain_attention": ("sdpa-math", "eager", "eager-fp32-softmax"),
    "eager_logits": ("float", "float-held", "model", "compiled"),
    "chunks": ("checkpointed", "listed", "fused-linear"),
    "adapters": ("model", "fp32", "autocast"),
    "buffers": ("none", "main", "buckets", "zero"),
    "lengths": ("fixed", "varied"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Implementation:
    """One code base of model, loss and gradient handling. Words are those of `WORDS`."""

    name: str
    norm: str  # RMSNorm as one kernel, or as separate FP32 operations
    qkv: str  # one product for queries, keys and values, three, or as the published model
    key_values: str  # key-value heads as they are, or repeated for every query head
    gated: str  # SwiGLU as one kernel or as separate operations
    gelu: str  # one kernel, or composed of operations where the published model says so
    plain_attention: str  # what runs where flash attention does not
    dropout: bool  # in attention and on the residual, as the stack is usually run
    eager_logits: str  # how a loss on whole logits is computed: cast to FP32, held, as they are
    chunks: str  # how a chunked loss handles its chunks
    adapters: str  # format of low-rank adapters: the model's, FP32, 16-bit copies by autocast
    adapter_dropout: bool  # each adapter drops out its own copy of the input
    decoded_keeps_inputs: bool  # 4-bit products keep their inputs (bitsandbytes)
    frozen_outer_bytes: float  # per parameter of what a 4-bit base leaves unquantised
    buffers: str  # gradients: none extra, one standing buffer, DDP buckets, ZeRO buckets
    gathered_units: float  # sharded layers that are whole at a time
    whole_at_load: bool  # every rank loads the whole weights before they are sharded
    lengths: str  # batches of one length, or of varied lengths (which fragments the allocator)
    source: str

    def __post_init__(self) -> None:
        for field, words in WORDS.items():
            word = getattr(self, field)
            if word not in words:
                place = f"implementations.{self.name}.{field}"
                raise PlannerError(place, word, f"one of {', '.join(words)}")


@cache
def implementations() -> dict[str, Implementation]:
    """Every implementation by name."""
    rows = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: Implementation(name=name, **fields) for name, fields in rows.items()}


def implementation(name: str) -> Implementation:
    """The implementation of that name.

    >>> implementation("megatron").qkv
    'fused'

    Raises PlannerError for an unknown name, with the nearest known ones.
    """
    known = implementations()
    if name in known:
        return known[name]
    close = nearest(name, known) or list(known)
    raise PlannerError("stacks.implementation", name, f"known: {', '.join(close)}")
