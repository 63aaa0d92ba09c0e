"""Many candidates at once: the numbers of a batch of configurations as arrays.

Every array is (n,) over candidates, or (1,) where all candidates share the value; arrays over the
kinds of layers are (g, n) or (g, 1). One plan is a batch of one, a search a batch of millions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine import choices
from planner.engine.machine import Machine, machines
from planner.engine.model import Block, Model
from planner.engine.recipe import Recipe, recipes
from planner.engine.records import columns, names
from planner.engine.software import Software, softwares

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.engine.configuration import Configuration
    from planner.engine.table import Table
    from planner.stacks import Stack

Array = np.ndarray[Any, np.dtype[Any]]

NO_WINDOW = 2**62  # tokens: a window that never binds


@dataclass(frozen=True, slots=True, kw_only=True)
class Blocks:
    """Kinds of layers as (g, n) arrays; a candidate with fewer kinds has count 0 in the rest."""

    count: Array  # layers of this kind
    heads: Array
    kv_heads: Array
    head_dim: Array
    v_head_dim: Array
    q_lora_rank: Array
    kv_lora_rank: Array
    rope_head_dim: Array
    window: Array  # tokens, NO_WINDOW = full
    causal: Array  # 0 or 1
    cross_attention: Array  # 0 or 1
    encoder: Array  # 0 or 1: processes the source tokens
    ffn_hidden: Array
    gated: Array  # 0 or 1
    num_experts: Array
    top_k: Array
    expert_hidden: Array
    expert_input: Array  # width that routed experts read
    state_space: Array  # 0 or 1
    shared_hidden: Array
    attention_params: Array
    ffn_params: Array
    expert_params: Array
    shared_params: Array
    router_params: Array
    norm_params: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A model's widths and parameters outside its layers, (n,) each."""

    blocks: Blocks
    hidden: Array
    vocab: Array
    layers: Array
    input_embedding_params: Array
    position_params: Array
    head_params: Array  # beyond a tied matrix
    final_params: Array
    tied: Array  # 0 or 1
    params_total: Array
    trainable_params: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallel:
    """Layout and batch, (n,) each; words as the codes of `choices`."""

    num_devices: Array
    tp: Array
    pp: Array
    cp: Array
    ep: Array
    dp: Array
    sharding: Array
    shard_degree: Array  # devices over which states are sharded (1 = none)
    interleave: Array
    sequence_parallel: Array  # 0 or 1
    seq_len: Array
    encoder_seq_len: Array
    micro_batch: Array
    accumulation: Array
    recompute: Array
    attention: Array
    loss: Array
    compile: Array
    offload: Array


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch of `size` candidates."""

    shape: Shape
    parallel: Parallel
    recipe: Recipe
    software: Software
    machine: Machine
    size: int
    table: Table | None = None  # of a traced module: all candidates train it ...
    precision: str = ""  # ... in this precision

    def vary(self, size: int, **arrays: Array) -> Batch:
        """The same batch with some layout arrays replaced by arrays of (size,)."""
        return replace(self, parallel=replace(self.parallel, **arrays), size=size)


def splits_data_alone(batch: Batch) -> bool:
    """Whether every device does all the work of its own samples, as a device alone does."""
    parallel = batch.parallel
    degrees = (parallel.tp, parallel.pp, parallel.cp, parallel.ep)
    return all(bool(np.max(each) == 1) for each in degrees)


def batch_of(
    configurations: Sequence[Configuration],
    accelerator: Callable[[str], Accelerator],
    stack: Callable[[str], Stack],
) -> Batch:
    """Arrays of `configurations`; `accelerator` and `stack` look names up."""
    assert configurations, "a batch holds at least one configuration"
    parts = [accelerator(each.sku) for each in configurations]
    stacks = [stack(each.stack) for each in configurations]
    first = configurations[0]
    tables = {id(each.model.table) for each in configurations}
    assert len(tables) == 1, "a batch holds transformers or one traced module"
    return Batch(
        shape=shapes([each.model for each in configurations], configurations),
        parallel=_parallel(configurations),
        recipe=recipes(configurations, stacks),
        software=softwares(configurations, stacks),
        machine=machines(configurations, parts),
        size=len(configurations),
        table=first.model.table,
        precision=first.precision if first.model.table else "",
    )


def shapes(models: Sequence[Model], configurations: Sequence[Configuration]) -> Shape:
    """The models' arrays; trainable parameters come from the configurations."""
    rows = [_shape_row(*pair) for pair in zip(models, configurations, strict=True)]
    return Shape(blocks=_blocks([model.blocks for model in models]), **columns(rows))


_MODEL_FIELDS = tuple(
    name for name in names(Shape) if name not in ("blocks", "params_total", "trainable_params")
)


def _shape_row(model: Model, configuration: Configuration) -> dict[str, float]:
    total, trainable = model.params_total, configuration.trainable_params
    row = {name: getattr(model, name) for name in _MODEL_FIELDS}
    return row | {
        "params_total": total,
        "trainable_params": total if trainable is None else trainable,
    }


_EMPTY = Block(count=0, heads=1, kv_heads=1, head_dim=1, v_head_dim=1)


def _blocks(kinds: Sequence[tuple[Block, ...]]) -> Blocks:
    depth = max(len(each) for each in kinds)
    rows = [[*each, *[_EMPTY] * (depth - len(each))] for each in kinds]
    table = np.array(
        [[[_block_value(each, name) for name in names(Blocks)] for each in row] for row in rows],
        dtype=np.float64,
    )
    arrays = np.ascontiguousarray(table.transpose(2, 1, 0))
    return Blocks(**dict(zip(names(Blocks), arrays, strict=True)))


def _block_value(block: Block, name: str) -> float:
    if name == "encoder":
        return float(block.side == "encoder")
    if name == "window":
        return float(block.window or NO_WINDOW)
    return float(getattr(block, name))


_WORDS = {
    "sharding": choices.SHARDINGS,
    "recompute": choices.RECOMPUTES,
    "attention": choices.ATTENTIONS,
    "loss": choices.LOSSES,
    "compile": choices.COMPILES,
    "offload": choices.OFFLOADS,
}


def _parallel(configurations: Sequence[Configuration]) -> Parallel:
    codes = columns([_codes(each) for each in configurations])
    return Parallel(
        **columns([_degrees(each) for each in configurations]),
        **{name: array.astype(np.int8) for name, array in codes.items()},
    )


_DEGREES = tuple(
    name for name in names(Parallel) if name not in (*_WORDS, "shard_degree", "encoder_seq_len")
)


def _codes(configuration: Configuration) -> dict[str, float]:
    return {
        name: choices.code(words, getattr(configuration, name)) for name, words in _WORDS.items()
    }


def _degrees(configuration: Configuration) -> dict[str, float]:
    row = {name: getattr(configuration, name) for name in _DEGREES}
    return row | {
        "shard_degree": _shard_degree(configuration),
        "encoder_seq_len": configuration.encoder_seq_len or configuration.seq_len,
    }


def _shard_degree(configuration: Configuration) -> int:
    if configuration.sharding in ("none", "layer-split"):
        return 1
    return configuration.shard_degree or configuration.dp * configuration.cp
