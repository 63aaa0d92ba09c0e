"""The best candidates of one pool (a machine and a precision), kept while candidates stream by."""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]

KEPT = 24  # candidates kept of those that surely fit, for alternatives and robustness
RELAXED = 1.1  # memory that the answer imagines, to say what more would buy


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Candidates, (n,) each, fastest first."""

    group: Array  # number of the group in the space
    index: Array  # position in the group
    seconds: Array  # of the whole run
    ratio: Array  # predicted peak over capacity
    surety: Array  # a ratio up to this fits with 90 % probability

    @property
    def size(self) -> int:
        return len(self.index)

    def at(self, which: Any) -> Kept:
        """Some of them: a slice, a mask or positions."""
        return Kept(**{item.name: getattr(self, item.name)[which] for item in fields(self)})

    def joined(self, other: Kept) -> Kept:
        """Both, fastest first; equally fast ones in the order of the space."""
        both = Kept(
            **{
                item.name: np.concatenate([getattr(self, item.name), getattr(other, item.name)])
                for item in fields(self)
            }
        )
        return both.at(np.lexsort((both.index, both.group, both.seconds)))


def _nothing() -> Kept:
    whole, real = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Kept(group=whole, index=whole, seconds=real, ratio=real, surety=real)


@dataclass(slots=True, kw_only=True)
class Keeper:
    """What is known of one pool so far. A candidate slower than `bound` cannot matter any more."""

    sure: Kept = field(default_factory=_nothing)
    likely: Kept = field(default_factory=_nothing)  # fit by the best estimate
    roomy: Kept = field(default_factory=_nothing)  # would surely fit with a tenth more memory
    least: Kept = field(default_factory=_nothing)  # comes nearest to fitting

    @property
    def bound(self) -> float:
        """Seconds from which a candidate cannot enter any list: the slowest of a full sure one."""
        return float(self.sure.seconds[-1]) if self.sure.size >= KEPT else np.inf

    def add(self, more: Kept) -> None:
        """Take more candidates whose memory is known."""
        self.sure = self.sure.joined(more.at(more.ratio <= more.surety)).at(slice(KEPT))
        self.likely = self.likely.joined(more.at(more.ratio <= 1.0)).at(slice(KEPT))
        roomy = more.at(more.ratio <= more.surety * RELAXED)
        self.roomy = self.roomy.joined(roomy).at(slice(1))
        if more.size:
            near = self.least.joined(more)
            self.least = near.at([int(np.argmin(near.ratio))])

    @property
    def best(self) -> Kept:
        """The fastest that surely fits, else that fits, else the nearest to it; one or none."""
        for kept in (self.sure, self.likely):
            if kept.size:
                return kept.at(slice(1))
        return self.least

    @property
    def fits(self) -> bool:
        return self.likely.size > 0
