"""A search for a target looks only at what the target can run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.engine import choices
from planner.errors import PlannerError
from planner.trainers.holds import DEGREES, HOLDS, LAUNCHERS, WORDS, Holds, refusal
from planner.trainers.job import Job
from planner.trainers.registry import check

if TYPE_CHECKING:
    from planner.search.group import Group
    from planner.search.restrictions import Restrictions
    from planner.search.space import Space
    from planner.search.table import Array

_RULED = ("tp", "pp", "cp", "ep", "dp", "interleave", "sharding")  # what rules look at


def narrowed(name: str, limits: Restrictions) -> tuple[Restrictions, list[str]]:
    """The restrictions of a search, narrowed to what target `name` holds, and in words how.

    What the user fixes stands, and is refused where the target cannot hold it.
    """
    holds, forbidden, bounds = HOLDS[name], dict(limits.forbidden), dict(limits.bounds)
    says: list[str] = []
    for axis, words in _searched_words(holds):
        _check_fixed(name, axis, limits, words)
        if axis in limits.fixed:
            continue
        forbidden[axis] = tuple(dict.fromkeys((*forbidden.get(axis, ()), *words)))
        says.append(f"no {axis} {', '.join(words)}")
    for axis in DEGREES:
        if axis not in holds.degrees:
            _check_fixed_degree(name, axis, limits)
            low, high = bounds.get(axis, (None, None))
            if low is not None and low > 1:
                raise refusal(name, axis, int(low), instead=("1",))
            bounds[axis] = (low, 1 if high is None else min(high, 1))
            says.append(f"{axis}=1")
    return replace(limits, forbidden=forbidden, bounds=bounds), says


def _searched_words(holds: Holds) -> list[tuple[str, tuple[str, ...]]]:
    """By axis of a search, the words that it may try and the config cannot hold."""
    from planner.search.axes import AXES

    found = []
    for axis in WORDS:
        held = getattr(holds, axis)
        lacking = tuple(w for w in AXES[axis].words if w not in held) if axis in AXES else ()
        if lacking:
            found.append((axis, lacking))
    return found


def _check_fixed(name: str, axis: str, limits: Restrictions, lacking: tuple[str, ...]) -> None:
    value = limits.fixed.get(axis)
    if value in lacking:
        raise refusal(name, axis, value, instead=getattr(HOLDS[name], axis))


def _check_fixed_degree(name: str, axis: str, limits: Restrictions) -> None:
    value = limits.fixed.get(axis, 1)
    if isinstance(value, int) and value > 1:
        raise refusal(name, axis, value, instead=("1",))


def runnable(name: str, found: Space) -> Space:
    """The space without what breaks a rule over two axes of target `name`.

    Raises PlannerError, the first refusal, where nothing is left.
    """
    if name in LAUNCHERS:
        return found
    kept: list[Group] = []
    first: PlannerError | None = None
    for group in found.groups:
        rows, refused = _rows(name, group)
        first = first or refused
        if rows.all():
            kept.append(group)
        elif rows.any():
            columns = {axis: column[rows] for axis, column in group.table.columns.items()}
            kept.append(replace(group, table=replace(group.table, columns=columns)))
    if not kept:
        assert first is not None, "a space has groups"
        raise first
    return replace(found, groups=tuple(kept))


def _rows(name: str, group: Group) -> tuple[Array, PlannerError | None]:
    """Which rows of a group's table the target runs, (rows,) of bool, and the first refusal."""
    columns = np.stack([group.table.columns[axis] for axis in _RULED], axis=1)
    distinct, back = np.unique(columns, axis=0, return_inverse=True)
    refusals = [_refused(name, _candidate(group, row.tolist())) for row in distinct]
    runs = np.array([each is None for each in refusals])
    return runs[back.ravel()], next((each for each in refusals if each is not None), None)


def _refused(name: str, job: Job) -> PlannerError | None:
    try:
        check(name, job)
    except PlannerError as refused:
        return refused
    return None


def _candidate(group: Group, values: list[int]) -> Job:
    """One layout of a group as a job; how long it takes does not matter to a rule."""
    from planner.search.group import plain_configuration

    layout: dict[str, object] = dict(zip(_RULED, values, strict=True))
    layout["sharding"] = choices.SHARDINGS[values[-1]]
    made = replace(plain_configuration(group.scenario), **layout)  # type: ignore[arg-type]
    each = group.scenario
    return Job(
        run=each.run,
        model=each.model,
        made=made,
        vendor=each.accelerator.vendor,
        stack=each.stack,
        steps=1,
        step_seconds=1.0,
        seconds=1.0,
        longest_seconds=1.0,
    )
