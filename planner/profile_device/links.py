"""Links between measured devices: what collectives took among the ranks that were measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import geometric_mean

from planner.profile_device.reader import Measured
from profiles.at_once import COPY, PRODUCT, slowdowns
from profiles.links import Group, Link, links_by_group

ALL_REDUCE, GATHERS = ("all_reduce",), ("all_gather", "reduce_scatter")
_PASSES = {"all_reduce": 2}  # a scatter and a gather


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredLink:
    """A link as the collectives of a group found it, each with its own latency and bandwidth."""

    group: Group
    fits: dict[str, Link]  # by operation: those that the engine builds on
    slower: dict[str, float]  # at_once kernel -> its time while all ranks work over alone

    @property
    def ranks_per_node(self) -> int:
        return self.group.ranks // self.group.nodes

    def bytes_per_second(self, *operations: str) -> float:
        """Bus bandwidth of those of `operations` that were measured, of all otherwise."""
        return geometric_mean(each.bytes_per_second for each in self._of(operations).values())

    def start_seconds(self, *operations: str) -> float:
        """Start-up of one gather, as the engine counts it: per doubling of the ranks."""
        found = self._of(operations)
        starts = [each.latency_s / _PASSES.get(name, 1) for name, each in found.items()]
        return sum(starts) / len(starts) / math.log2(self.group.ranks)

    @property
    def products_slower(self) -> float:
        """Time of products while all ranks work, over alone; 1 where nobody timed it."""
        return self.slower.get(PRODUCT, 1.0)

    @property
    def traffic_slower(self) -> float:
        """The same of memory-bound work."""
        return self.slower.get(COPY, 1.0)

    def _of(self, operations: Sequence[str]) -> dict[str, Link]:
        return {name: self.fits[name] for name in operations if name in self.fits} or self.fits


def links_of(results: Sequence[Measured]) -> tuple[MeasuredLink, ...]:
    """Every group of ranks that was measured at enough sizes, those with most ranks first."""
    timed = [
        (each.kernel, each.shape, each.bytes, each.seconds)
        for each in results
        if each.kernel in (*ALL_REDUCE, *GATHERS)
    ]
    found = {
        group: {name: link for name, link in links.items() if link is not None}
        for group, links in links_by_group(timed).items()
    }
    slower = slowdowns((each.kernel, each.shape, each.seconds) for each in results)
    return tuple(
        MeasuredLink(group=group, fits=fits, slower=slower.get(group, {}))
        for group, fits in found.items()
        if fits
    )
