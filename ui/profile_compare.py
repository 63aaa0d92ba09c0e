"""Two profiles against each other: the kernels that both measured, each at the same shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from profiles.result import Profile, Result
from ui.roofline import FAMILIES, family

CONDITIONS = ("torch", "num_threads", "clock", "cuda", "driver")  # that explain a difference


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One kernel at one shape in both profiles."""

    here: Result
    there: Result
    speed: float  # of `here` against `there`: above 1 `here` is faster


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The kernels of one family and format."""

    family: str
    format: str
    pairs: tuple[Pair, ...]

    @property
    def median(self) -> float:
        return middle([pair.speed for pair in self.pairs])


def pairs_of(here: Profile, there: Profile) -> list[Pair]:
    """The kernels that ran in both."""
    other = {each.key: each for each in there.results}
    return [
        Pair(here=each, there=match, speed=match.median_s / each.median_s)
        for each in here.results
        if each.median_s and (match := other.get(each.key)) is not None and match.median_s
    ]


def groups_of(pairs: Sequence[Pair]) -> list[Group]:
    """The pairs by family and format, families in the order of `ui.roofline.FAMILIES`."""
    found: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        found.setdefault((family(pair.here.kernel), pair.here.format), []).append(pair)
    return [
        Group(family=name, format=number_format, pairs=tuple(own))
        for (name, number_format), own in sorted(
            found.items(), key=lambda item: FAMILIES.index(item[0][0])
        )
    ]


def middle(speeds: Sequence[float]) -> float:
    """The median of ratios, the same whichever way round they are taken.

    >>> middle([0.5, 2.0])
    1.0
    """
    return math.exp(median(math.log(each) for each in speeds))


def conditions(here: Profile, there: Profile) -> list[tuple[str, object, object]]:
    """Under what the two were measured differently: name, here, there."""
    return [
        (name, here.environment.get(name), there.environment.get(name))
        for name in CONDITIONS
        if here.environment.get(name) != there.environment.get(name)
    ]
