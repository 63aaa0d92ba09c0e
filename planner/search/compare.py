"""Accelerators ranked for a run: the best configuration of each, and why one loses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import hardware_db
from planner.engine.constants import constants
from planner.errors import PlannerError
from planner.planning.outline import Outline
from planner.search.losing import why_not
from planner.search.points import Aim, Point, best, front, keeps, nearest, points
from planner.search.restrictions import Restrictions
from planner.search.rows import outline_of, row_of, short_row
from planner.search.scan import scan
from planner.search.space import Space, space

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.run import Run

SCHEMA = "forerun.compare/1"
COUNTS = tuple(1 << power for power in range(11))  # 1 to 1024 where the run says no number


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """Which accelerators to rank; empty and None let all pass."""

    skus: tuple[str, ...] = ()  # ids; empty = every one in the table
    owned: bool = False  # `skus` are owned: no price is asked for
    min_memory: float | None = None  # bytes of one accelerator


def compare(
    run: Run,
    *,
    filters: Filters | None = None,
    counts: Sequence[int] | None = None,
    by: str = "time",
    weights: dict[str, float] | None = None,
    restrictions: Restrictions | None = None,
    model: Model | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Rank accelerators for `run`, best first by `by`: time, cost, energy or value.

    Each is tried on every one of `counts` (the run's own where not given, else 1 to 1024) with
    every layout, sharding and recomputation. Raises PlannerError where none can run it.
    """
    chosen = filters or Filters()
    aim = Aim(by=by) if weights is None else Aim(by=by, weights=weights)
    skus, excluded = _skus(run, chosen)
    own = [run.hardware.count] if run.hardware.count else list(COUNTS)
    found = space(
        _bare(run, skus),
        restrictions or Restrictions(),
        model=model,
        skus=skus,
        counts=list(counts or own),
        words="run",
    )
    c = constants()
    done = scan(found.groups, c, progress=progress)
    return {
        "schema": SCHEMA,
        "by": by,
        **_ranked(found, points(found, done.keepers), aim),
        "excluded": excluded + _never(found, skus),
        "candidates": {"evaluated": done.evaluated, "seconds": done.seconds},
        "complete": done.complete,
        "warnings": list(found.warnings),
    }


def _bare(run: Run, skus: Sequence[str]) -> Run:
    """The run without a machine of its own unless that is among those compared."""
    own = run.hardware.sku
    if own is None:
        return run
    try:
        sku_id = hardware_db.resolve(own).sku_id
    except hardware_db.HardwareError as error:
        raise PlannerError("hardware.sku", own, error.remedy) from None
    return run.changed({"hardware.sku": sku_id if sku_id in skus else None})


def _skus(run: Run, filters: Filters) -> tuple[list[str], list[dict[str, Any]]]:
    """Accelerators to try, and those that a filter leaves out with the reason."""
    kept, excluded = [], []
    names = filters.skus or tuple(part.sku_id for part in hardware_db.accelerators())
    for sku in names:
        reason = _filtered(run, hardware_db.accelerator(sku), filters)
        if reason is None:
            kept.append(sku)
        else:
            excluded.append({"sku": sku, "reason": reason})
    if not kept:
        reasons = "; ".join(f"{row['sku']}: {row['reason']}" for row in excluded[:3])
        raise PlannerError("--skus", ", ".join(names[:4]), f"the filters leave none: {reasons}")
    return kept, excluded


def _filtered(run: Run, part: hardware_db.Accelerator, filters: Filters) -> str | None:
    memory, least = part.usable_bytes, filters.min_memory
    if least is not None and (memory is None or memory < least):
        has = "unknown memory" if memory is None else f"{memory / 1024**3:.0f} GiB"
        return f"{has}, at least {least / 1024**3:.0f} GiB asked for"
    wanted = run.price
    if filters.owned or (wanted.provider is None and wanted.mode == "on-demand"):
        return None
    try:
        price = hardware_db.price_for(part.sku_id, wanted.provider, wanted.region, wanted.mode)
    except hardware_db.HardwareError as error:
        raise PlannerError(f"price.{error.field}", error.value, error.remedy) from None
    if price is not None:
        return None
    where = f" at {wanted.provider}" if wanted.provider else ""
    return f"no {wanted.mode} price is known{where}"


def _never(found: Space, skus: Sequence[str]) -> list[dict[str, Any]]:
    """Accelerators with no candidate at all."""
    with_groups = {group.scenario.accelerator.sku_id for group in found.groups}
    rows = []
    for sku in skus:
        if sku not in with_groups:
            reasons = dict.fromkeys(each.reason for each in found.excluded if each.sku == sku)
            rows.append({"sku": sku, "reason": "; ".join(list(reasons)[:2])})
    return rows


def _ranked(found: Space, every: Sequence[Point], aim: Aim) -> dict[str, Any]:
    """The ranking with a reason for each place, and the front of all that fit."""
    budget = found.run.budget
    fitting = [point for point in every if point.fits and keeps(point, budget)]
    rows = [_of_sku(found, sku, mine, aim) for sku, mine in _by_sku(every).items()]
    rows.sort(key=lambda row: row[0])
    first = rows[0][2] if rows and rows[0][1].fits else None
    return {
        "ranking": [_row(found, each, first, aim) for each in rows],
        "pareto": [short_row(found, point) for point in front(fitting)],
    }


def _by_sku(every: Sequence[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in every:
        found.setdefault(point.pool.sku, []).append(point)
    return found


Ranked = tuple[tuple[int, float, float], Point, Outline, list[dict[str, Any]]]


def _of_sku(found: Space, sku: str, mine: Sequence[Point], aim: Aim) -> Ranked:
    """(order, best point, its outline, what each number of devices gives) of one accelerator."""
    budget = found.run.budget
    point = best(mine, aim, budget) or nearest(mine, budget)
    assert point is not None, sku
    group = 0 if point.fits and keeps(point, budget) else (1 if point.fits else 2)
    order = (group, aim.score(point) if point.fits else point.ratio, point.seconds)
    return order, point, outline_of(found, point), [_count_row(each) for each in mine]


def _count_row(point: Point) -> dict[str, Any]:
    return {
        "count": point.pool.count,
        "price_mode": point.mode,
        "precision": point.pool.precision,
        "fits": point.fits,
        "seconds": point.seconds if point.fits else None,
        "usd": point.usd if point.fits else None,
        "kwh": point.kwh if point.fits else None,
        "memory_share": point.ratio,
    }


def _row(found: Space, ranked: Ranked, first: Outline | None, aim: Aim) -> dict[str, Any]:
    _, point, bones, counts = ranked
    row = row_of(found, point, bones)
    row["within_limits"] = point.fits and keeps(point, found.run.budget)
    row["counts"] = counts
    row["why"] = why_not(bones, first, aim)
    return row
