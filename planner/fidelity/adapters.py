"""Low-rank adapters: the rank and targets a stack uses unless told otherwise, and their size."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from planner.engine.model import Block, Model

_FILE = Path(__file__).parent / "data" / "adapters.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class Adapter:
    """Rank and the projections that carry an adapter: q k v o mlp head, qkv for a fused one."""

    rank: int
    targets: frozenset[str]


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def usual_adapter(stack: str, model_name: str) -> Adapter:
    """What the stack adapts by default for that model.

    >>> usual_adapter("litgpt", "Llama-2-7b").rank
    32
    """
    name = model_name.lower()
    for row in _rows():
        if row["match"] in ("", stack) and row["model"] in name:
            return Adapter(rank=int(row["rank"]), targets=frozenset(row["targets"].split()))
    raise AssertionError("adapters.csv ends with a row that matches everything")


def adapter_params(model: Model, adapter: Adapter) -> int:
    """Trainable parameters of the adapters: rank · (inputs + outputs) for each target.

    Routed experts carry none. A gated network has three matrices, a plain one two.
    """
    layers = sum(
        block.count * _block_widths(model, block, adapter.targets) for block in model.blocks
    )
    head = model.hidden + model.vocab if "head" in adapter.targets else 0
    return adapter.rank * (layers + head)


def _block_widths(model: Model, block: Block, targets: frozenset[str]) -> int:
    """Sum of inputs and outputs over the adapted matrices of one layer."""
    hidden = model.hidden
    queries = block.heads * block.head_dim
    keys, values = block.kv_heads * block.head_dim, block.kv_heads * block.v_head_dim
    widths = {
        "q": hidden + queries,
        "k": hidden + keys,
        "v": hidden + values,
        "qkv": hidden + queries + keys + values,
        "o": block.heads * block.v_head_dim + hidden,
        "mlp": (3 if block.gated else 2) * (hidden + block.ffn_hidden) if block.ffn_hidden else 0,
    }
    return sum(width for target, width in widths.items() if target in targets)
