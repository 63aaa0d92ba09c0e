"""Which layouts are valid for a model, as rules over arrays and as words for a person."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.engine.batch import Batch, Blocks
from planner.engine.configuration import Configuration

Array = np.ndarray[Any, np.dtype[Any]]


def valid(batch: Batch) -> Array:
    """Whether each candidate can run at all, (size,) of bool.

    Degrees multiply to the devices; tensor parallelism divides the heads, and divides the key-value
    heads or is a multiple of them (they are then replicated); every pipeline stage has a layer;
    expert parallelism divides the experts and the data-parallel ranks; context parallelism splits
    a sequence into two chunks a rank.
    """
    parallel, blocks = batch.parallel, batch.shape.blocks
    tp, pp, cp, ep, dp = (parallel.tp, parallel.pp, parallel.cp, parallel.ep, parallel.dp)
    result: Array = (tp * pp * cp * dp == parallel.num_devices) & (
        batch.shape.layers >= pp * parallel.interleave
    )
    if (tp > 1).any():
        result = result & _heads_divide(blocks, tp)
    if (ep > 1).any():
        result = result & _experts_divide(blocks, ep) & ((dp * cp) % ep == 0)
    if (cp > 1).any():
        result = result & ((cp == 1) | (parallel.seq_len % (2 * cp) == 0))
    if (parallel.interleave > 1).any():
        result = result & ((parallel.interleave == 1) | (parallel.accumulation % pp == 0))
    return np.broadcast_to(result, (batch.size,))


def _heads_divide(blocks: Blocks, tp: Array) -> Array:
    """Whether every kind of layer's heads can be split over the tensor group, (n,)."""
    keys = (
        (blocks.kv_lora_rank > 0)
        | (blocks.kv_heads % tp == 0)
        | (tp % np.maximum(blocks.kv_heads, 1) == 0)
    )
    divides = (blocks.count == 0) | ((blocks.heads % tp == 0) & keys)
    result: Array = np.all(divides, axis=0)
    return result


def _experts_divide(blocks: Blocks, ep: Array) -> Array:
    """Whether every kind of layer's experts can be split over the expert group, (n,)."""
    mixture = blocks.num_experts > 0
    divides = np.where(mixture, blocks.num_experts % ep == 0, mixture.any(axis=0))
    result: Array = np.all((blocks.count == 0) | (ep == 1) | divides, axis=0)
    return result


def problems(configuration: Configuration) -> list[tuple[str, object, str]]:
    """(field, value, remedy) of every rule that a configuration breaks."""
    found: list[tuple[str, object, str]] = []
    model, each = configuration.model, configuration
    product = each.tp * each.pp * each.cp * each.dp
    if product != each.num_devices:
        remedy = f"tp·pp·cp·dp is {product}: it must be hardware.count {each.num_devices}"
        found.append(("training.layout", _degrees(each), remedy))
    for block in model.blocks:
        found += _head_problems(each, block.heads, block.kv_heads, bool(block.kv_lora_rank))
        if each.ep > 1 and block.num_experts and block.num_experts % each.ep:
            remedy = f"must divide the {block.num_experts} experts"
            found.append(("training.layout.ep", each.ep, remedy))
    if each.ep > 1 and not any(block.num_experts for block in model.blocks):
        found.append(("training.layout.ep", each.ep, f"{model.name} has no experts: use 1"))
    if (each.dp * each.cp) % each.ep:
        remedy = f"must divide dp·cp, which is {each.dp * each.cp}"
        found.append(("training.layout.ep", each.ep, remedy))
    if model.layers < each.pp * each.interleave:
        remedy = f"pp·interleave must not pass the {model.layers} layers"
        found.append(("training.layout.pp", each.pp, remedy))
    if each.cp > 1 and each.seq_len % (2 * each.cp):
        remedy = f"2·cp must divide the sequence of {each.seq_len} tokens"
        found.append(("training.layout.cp", each.cp, remedy))
    if each.interleave > 1 and each.accumulation % each.pp:
        remedy = f"needs accumulation (now {each.accumulation}) to be a multiple of pp {each.pp}"
        found.append(("training.layout.interleave", each.interleave, remedy))
    return list(dict.fromkeys(found))


def _head_problems(
    each: Configuration, heads: int, kv_heads: int, latent: bool
) -> list[tuple[str, object, str]]:
    degrees = valid_tensor_degrees(heads, kv_heads, latent=latent, most=each.num_devices)
    if each.tp in degrees:
        return []
    listed = ", ".join(map(str, degrees))
    remedy = f"{heads} heads ({kv_heads} key-value heads) allow {listed}"
    return [("training.layout.tp", each.tp, remedy)]


def valid_tensor_degrees(
    heads: int, kv_heads: int, *, latent: bool = False, most: int = 8
) -> list[int]:
    """Tensor-parallel degrees up to `most` that divide the heads.

    Fewer key-value heads than ranks are replicated, which costs memory.

    >>> valid_tensor_degrees(28, 4), valid_tensor_degrees(64, 8)
    ([1, 2, 4], [1, 2, 4, 8])
    """
    degrees = [tp for tp in range(1, min(max(most, 1), heads) + 1) if heads % tp == 0]
    if latent:
        return degrees
    return [tp for tp in degrees if kv_heads % tp == 0 or tp % kv_heads == 0]


def _degrees(each: Configuration) -> str:
    return f"tp={each.tp},pp={each.pp},cp={each.cp},dp={each.dp}"
