"""One candidate as a row of an answer, through the same functions as a single plan."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from planner.engine import choices
from planner.planning.chosen import chosen_of
from planner.planning.doubts import evidence_of
from planner.planning.outline import Outline, outline
from planner.planning.plan import verdict_of
from planner.planning.result import plain
from planner.planning.scenario import scenario
from planner.run import Run
from planner.search.points import Point
from planner.search.precision_cost import extra_tokens
from planner.search.space import Space

WORDS = ("precision", "compile", "attention", "loss")  # that groups differ in
NOT_SAID = ("by_planner", "compared")  # a search decides everything


def outline_of(space: Space, point: Point) -> Outline:
    """A candidate as the outline of a run with nothing left open."""
    group = space.groups[point.group]
    return outline(scenario(group.run(point.index, point.mode), model=group.scenario.model))


def row_of(space: Space, point: Point, bones: Outline | None = None) -> dict[str, Any]:
    """A candidate with its step, memory, run, cost, energy and evidence."""
    bones = bones or outline_of(space, point)
    low, high = bones.memory_spread.bounds(bones.peak_bytes)
    chosen = {name: said for name, said in chosen_of(bones).items() if name not in NOT_SAID}
    chosen["power_limit"] = point.pool.power_limit
    return {
        "sku": point.pool.sku,
        "count": point.pool.count,
        "price_mode": point.mode,
        "fits": bones.fits,
        "verdict": verdict_of(bones.fit_probability),
        "fit_probability": bones.fit_probability,
        "chosen": chosen,
        "step": plain(bones.step),
        "memory": {
            "peak_bytes": bones.peak_bytes,
            "low": low,
            "high": high,
            "capacity_bytes": bones.capacity_bytes,
        },
        "run": plain(bones.run),
        "cost": plain(bones.cost),
        "energy": plain(bones.energy),
        "penalty": _penalty(space, bones),
        "evidence": plain(evidence_of(bones)),
    }


def short_row(space: Space, point: Point) -> dict[str, Any]:
    """A candidate in few words, for lists."""
    group = space.groups[point.group]
    values = group.values(point.index)
    return {
        "sku": point.pool.sku,
        "count": point.pool.count,
        "price_mode": point.mode,
        "precision": point.pool.precision,
        "power_limit": point.pool.power_limit,
        "compile": group.words["compile"],
        "attention": group.words["attention"],
        "loss": group.words["loss"],
        "stack": group.scenario.stack.name,
        **{name: values[name] for name in ("tp", "pp", "cp", "ep", "dp", "interleave")},
        "sharding": choices.SHARDINGS[values["sharding"]],
        "recompute": choices.RECOMPUTES[values["recompute"]],
        "micro_batch": values["micro_batch"],
        "accumulation": values["accumulation"],
        "global_batch": values["global_batch"],
        "seconds": point.seconds,
        "usd": point.usd,
        "kwh": point.kwh,
        "memory_share": point.ratio,
        "fits": point.fits,
        "sure": point.sure,
    }


def runs_of_rows(space: Space, rows: Sequence[Mapping[str, Any]]) -> list[Run]:
    """The runs of short rows, with nothing left open. The rows must be of this space."""
    pools = [each.pool for each in space.groups]
    groups = {
        (pool.sku, pool.count, pool.power_limit, *(each.words[name] for name in WORDS)): each
        for pool, each in zip(pools, space.groups, strict=True)
    }
    found = []
    for row in rows:
        codes = {
            "sharding": choices.SHARDINGS.index(row["sharding"]),
            "recompute": choices.RECOMPUTES.index(row["recompute"]),
        }
        names = ("sku", "count", "power_limit", *WORDS)
        group = groups[tuple(row[name] for name in names)]
        found.append(group.run_of({**row, **codes}, row["price_mode"]))
    return found


def _extra(bones: Outline) -> dict[str, Any] | None:
    tokens = bones.run.tokens
    return None if tokens is None else extra_tokens(bones.scenario, float(tokens))


def _penalty(space: Space, bones: Outline) -> dict[str, Any] | None:
    """What batch and precision cost in tokens at equal loss; None where both are the usual."""
    batch = space.lengthened.penalties[bones.configuration.global_batch]
    found = {
        "batch": None if batch.factor == 1.0 else asdict(batch),
        "precision": _extra(bones),
    }
    return found if any(found.values()) else None
