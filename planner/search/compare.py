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
from planner.search.points import Aim, Point, front, keeps, nearest, points
from planner.search.restrictions import Restrictions
from planner.search.rows import outline_of, row_of, short_row
from planner.search.scan import scan
from planner.search.space import Space, space
from planner.search.usual_aim import Choice, usual_aim

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
    by: str | None = None,
    weights: dict[str, float] | None = None,
    restrictions: Restrictions | None = None,
    model: Model | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Rank accelerators for `run`, best first by `by`: time, cost, energy or value.

    Each is tried on every one of `counts` (the run's own where not given, else 1 to 1024) with
    every layout, sharding and recomputation. Without `by` the aim follows from what is open
    (`usual_aim`) and the answer says why. `progress` is told the candidates done and all of them.
    Raises PlannerError where none can run it.
    """
    chosen = filters or Filters()
    skus, excluded = _skus(run, chosen)
    limits = restrictions or Restrictions()
    numbers = list(counts or ([run.hardware.count] if run.hardware.count else COUNTS))
    choice = _choice(run, chosen, _num_counts(numbers, limits), by, weights)
    found = space(
        _bare(run, skus),
        limits,
        model=model,
        skus=skus,
        counts=numbers,
        words="run",
    )
    done = scan(found.groups, constants(), progress=_summed(progress, found.size))
    return {
        "schema": SCHEMA,
        "by": choice.aim.by,
        "by_reason": choice.reason,
        "weights": dict(choice.aim.weights) if choice.aim.by == "value" else None,
        **_ranked(found, points(found, done.keepers), choice),
        "excluded": excluded + _never(found, skus),
        "candidates": {"evaluated": done.evaluated, "seconds": done.seconds},
        "complete": done.complete,
        "warnings": list(found.warnings),
    }


def _choice(
    run: Run, filters: Filters, num_counts: int, by: str | None, weights: dict[str, float] | None
) -> Choice:
    if by is None and weights is None:
        return usual_aim(run.budget, num_counts=num_counts, owned=filters.owned)
    named = by or "value"
    return Choice(aim=Aim(by=named) if weights is None else Aim(by=named, weights=weights))


def _num_counts(numbers: Sequence[int], limits: Restrictions) -> int:
    """How many numbers of devices are really tried."""
    return len(limits.kept("count", list(numbers)))


def _summed(
    progress: Callable[[int, int], None] | None, total: int
) -> Callable[[int], None] | None:
    if progress is None:
        return None
    done = 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        progress(done, total)

    return report


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


def _ranked(found: Space, every: Sequence[Point], choice: Choice) -> dict[str, Any]:
    """The ranking with a reason for each place, and the front of all that fit."""
    budget = found.run.budget
    fitting = [point for point in every if point.fits and keeps(point, budget)]
    rows = [_of_sku(found, sku, mine, choice) for sku, mine in _by_sku(every).items()]
    rows.sort(key=lambda row: row[0])
    first = rows[0][2] if rows and rows[0][1].fits else None
    return {
        "ranking": [_row(found, each, first, choice.aim) for each in rows],
        "pareto": [short_row(found, point) for point in front(fitting)],
    }


def _by_sku(every: Sequence[Point]) -> dict[str, list[Point]]:
    found: dict[str, list[Point]] = {}
    for point in every:
        found.setdefault(point.pool.sku, []).append(point)
    return found


Ranked = tuple[tuple[int, float, float], Point, Outline, list[dict[str, Any]]]


def _of_sku(found: Space, sku: str, mine: Sequence[Point], choice: Choice) -> Ranked:
    """(order, best point, its outline, what each number of devices gives) of one accelerator."""
    budget = found.run.budget
    point = choice.best(mine, budget) or nearest(mine, budget)
    assert point is not None, sku
    group = 0 if point.fits and keeps(point, budget) else (1 if point.fits else 2)
    order = (group, choice.aim.score(point) if point.fits else point.ratio, point.seconds)
    return order, point, outline_of(found, point), [_count_row(found, each) for each in mine]


def _count_row(found: Space, point: Point) -> dict[str, Any]:
    """What one number of devices gives at its best; nothing where it does not fit."""
    row = short_row(found, point)
    row["within_limits"] = point.fits and keeps(point, found.run.budget)
    return row if point.fits else row | {"seconds": None, "usd": None, "kwh": None}


def _row(found: Space, ranked: Ranked, first: Outline | None, aim: Aim) -> dict[str, Any]:
    _, point, bones, counts = ranked
    row = row_of(found, point, bones)
    row["within_limits"] = point.fits and keeps(point, found.run.budget)
    row["counts"] = counts
    row["why"] = why_not(bones, first, aim)
    return row
