"""Time of collectives over the groups of a layout.

Ranks are numbered tensor first, then context, then data, then pipeline, so tensor groups sit on
neighbouring devices. A group inside the scale-up domain runs at the link's rate; one that spans
domains at the network's, times its members inside one domain, each of which drives a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A communicator: `size` ranks, `stride` devices apart. Arrays (n,)."""

    size: Array
    stride: Array


def tensor_group(batch: Batch) -> Group:
    return Group(size=batch.parallel.tp, stride=np.ones(1))


def context_group(batch: Batch) -> Group:
    return Group(size=batch.parallel.cp, stride=batch.parallel.tp)


def data_group(batch: Batch) -> Group:
    """Ranks that hold the same parameters: gradients are reduced over data and context ranks."""
    parallel = batch.parallel
    return Group(size=parallel.dp * parallel.cp, stride=parallel.tp)


def shard_group(batch: Batch) -> Group:
    """Ranks over which states are sharded."""
    return Group(size=batch.parallel.shard_degree, stride=batch.parallel.tp)


def expert_group(batch: Batch) -> Group:
    return Group(size=batch.parallel.ep, stride=batch.parallel.tp)


def bus_rate(group: Group, batch: Batch, c: Constants) -> Array:
    """Bytes/s that one rank's ring sustains inside the group, (n,)."""
    machine = batch.machine
    inside = members_inside(group, batch)
    link = machine.link * c.link
    network = np.minimum(link, machine.network * c.network * inside)
    result: Array = np.where(group.size <= inside, link, network)
    return result


def members_inside(group: Group, batch: Batch) -> Array:
    """Members of the group in one scale-up domain, at least 1."""
    fitting = np.floor(batch.machine.domain / group.stride)
    result: Array = np.minimum(np.maximum(fitting, 1), group.size)
    return result


def gather_seconds(size_bytes: Array, group: Group, batch: Batch, c: Constants) -> Array:
    """All-gather or reduce-scatter of `size_bytes` (the whole tensor): (p-1)/p of it per rank."""
    if not (group.size > 1).any():
        return np.zeros(1)
    share = (group.size - 1) / group.size
    wire = size_bytes * share / bus_rate(group, batch, c)
    result: Array = np.where(group.size > 1, wire + _start(group, c), 0.0)
    return result


def all_reduce_seconds(size_bytes: Array, group: Group, batch: Batch, c: Constants) -> Array:
    """Ring all-reduce: a reduce-scatter and an all-gather."""
    return 2 * gather_seconds(size_bytes, group, batch, c)


def _start(group: Group, c: Constants) -> Array:
    """Start-up time grows with the logarithm of the ranks (tree and ring mixes)."""
    result: Array = c.collective_seconds * np.log2(np.maximum(group.size, 2))
    return result


def exchange_seconds(token_bytes: Array, copies: Array, batch: Batch, c: Constants) -> Array:
    """All-to-all that sends each token's `token_bytes` to `copies` experts over the group, (g, n).

    Fused kernels (DeepEP) send a token once to each distinct rank that holds one of its experts,
    a plain all-to-all once per expert. Between domains it travels once to each distinct domain:
    d·(1 - (1 - 1/d)^copies) of d on average with balanced routing.
    """
    group, machine = expert_group(batch), batch.machine
    inside = members_inside(group, batch)
    domains = group.size / inside
    fused = batch.recipe.fused_exchange > 0
    ranks = group.size * (1 - (1 - 1 / group.size) ** copies)
    sent = np.where(fused, ranks, copies) * (inside - 1) / group.size
    link = machine.link * np.where(fused, c.expert_link_fused, c.expert_link)
    local = token_bytes * sent / link
    distinct = domains * (1 - (1 - 1 / domains) ** copies)
    away = token_bytes * distinct * (domains - 1) / domains
    remote = away / (machine.network * c.expert_network)
    spread = np.where(domains > 1, remote, 0.0)
    result: Array = np.where(group.size > 1, local + spread + _start(group, c), 0.0)
    return result
