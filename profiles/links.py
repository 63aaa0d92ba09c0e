"""Latency and bandwidth of a link out of times by size, and what a collective puts on it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from profiles.result import Result

COLLECTIVES = ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")

_FEWEST = 3  # sizes that show a bandwidth
_SHOWN = 0.1  # share of the largest size's time, from which its bytes decide it


@dataclass(frozen=True, slots=True, kw_only=True)
class Link:
    """t(x) = latency + x / bandwidth."""

    latency_s: float
    bytes_per_second: float


def bus_bytes(operation: str, size: int, ranks: int) -> float:
    """Bytes that each rank's link carries for a buffer of `size` bytes (nccl-tests PERFORMANCE.md).

    >>> bus_bytes("all_reduce", 1024, 4), bus_bytes("all_gather", 1024, 4)
    (1536.0, 768.0)
    """
    share = (ranks - 1) / ranks
    factors = {"all_reduce": 2 * share, "send_recv": 1.0}
    return size * factors.get(operation, share)


def follows_shape(operation: str, shape: Mapping[str, int | str], moved: float) -> bool:
    """Whether `moved` bytes are what a collective of that shape puts on a link; True of what is no
    collective of several ranks.

    >>> shape = {"bytes": 1024, "ranks": 4, "nodes": 1, "backend": "gloo"}
    >>> follows_shape("all_reduce", shape, 1536.0), follows_shape("all_reduce", shape, 1e9)
    (True, False)
    """
    group, size = group_of(shape), shape.get("bytes")
    if operation not in COLLECTIVES or group is None:
        return True
    return isinstance(size, int) and math.isclose(moved, bus_bytes(operation, size, group.ranks))


def fit_link(points: Sequence[tuple[float, float]]) -> Link | None:
    """Fit (bytes, seconds) with weights that make relative errors count alike; None where the
    points, of three sizes or more, do not show a bandwidth.

    >>> fit_link([(1e3, 2e-5 + 1e3 / 1e9), (1e6, 2e-5 + 1e6 / 1e9), (1e8, 2e-5 + 1e8 / 1e9)])
    Link(latency_s=2e-05, bytes_per_second=1000000000.0)
    """
    known = [(x, t) for x, t in points if x >= 1 and t > 0]
    if len({x for x, _ in known}) < _FEWEST:
        return None
    sizes, times = (np.array(column) for column in zip(*known, strict=True))
    scale = float(sizes.max())
    design = np.stack([1 / times, sizes / scale / times], axis=1)
    (latency, slope), *_ = np.linalg.lstsq(design, np.ones(len(times)), rcond=None)
    if slope < _SHOWN * float(times[sizes.argmax()]):
        return None
    return Link(
        latency_s=float(f"{max(latency, 0.0):.6g}"),
        bytes_per_second=float(f"{scale / slope:.6g}"),
    )


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Group:
    """The ranks that a collective ran among."""

    ranks: int
    nodes: int
    backend: str


Timed = tuple[str, Mapping[str, int | str], float, float]  # operation, shape, bus bytes, seconds


def links_by_group(timed: Iterable[Timed]) -> dict[Group, dict[str, Link | None]]:
    """The link that each operation showed in each group, those of most ranks first; None for one
    whose sizes show no bandwidth.

    >>> shape = {"ranks": 2, "nodes": 1, "backend": "gloo"}
    >>> rows = [("all_reduce", shape, x, 1e-5 + x / 1e9) for x in (1e3, 1e6, 1e8)]
    >>> links_by_group(rows)[Group(ranks=2, nodes=1, backend="gloo")]
    {'all_reduce': Link(latency_s=1e-05, bytes_per_second=1000000000.0)}
    """
    points: dict[Group, dict[str, list[tuple[float, float]]]] = {}
    for operation, shape, moved, seconds in timed:
        group = group_of(shape)
        if operation in COLLECTIVES and group is not None:
            points.setdefault(group, {}).setdefault(operation, []).append((moved, seconds))
    return {
        group: {name: fit_link(each) for name, each in points[group].items()}
        for group in sorted(points, reverse=True)
    }


def links_between(results: Iterable[Result]) -> dict[Group, dict[str, Link | None]]:
    """The links that the results of a profile show."""
    known = [each for each in results if each.median_s is not None]
    return links_by_group((e.kernel, e.shape, e.bytes, e.median_s or 0.0) for e in known)


def group_of(shape: Mapping[str, int | str]) -> Group | None:
    """The group that a shape names; None for what names no group of several ranks."""
    ranks, nodes = shape.get("ranks"), shape.get("nodes", 1)
    if not isinstance(ranks, int) or not isinstance(nodes, int):
        return None
    if ranks < 2 or not 1 <= nodes <= ranks:
        return None
    return Group(ranks=ranks, nodes=nodes, backend=str(shape.get("backend", "")))
