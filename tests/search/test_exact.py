"""The scan is exact: the same as one plan after the other, whatever order and chunks."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from planner.engine.constants import constants
from planner.planning.outline import Outline, outline
from planner.planning.plan import plan
from planner.planning.scenario import scenario
from planner.search.chunks import chunks
from planner.search.group import Group
from planner.search.points import points
from planner.search.rows import outline_of
from planner.search.scan import memory_ratio, run_seconds, scan
from planner.search.space import Space, space
from tests.search.jobs import A100, job, limits, small


def one_by_one(group: Group, indices: Sequence[int]) -> list[Outline]:
    return [
        outline(scenario(group.run(index, "on-demand"), model=group.scenario.model))
        for index in indices
    ]


def everything(found: Space) -> tuple[np.ndarray, np.ndarray]:
    """Run seconds and memory ratios of every candidate of a space, in its order."""
    seconds, ratios = [], []
    for chunk in chunks(found.groups, 4096):
        batch = chunk.batch()
        seconds.append(run_seconds(chunk, batch, constants()))
        ratios.append(memory_ratio(batch, constants()))
    return np.concatenate(seconds), np.concatenate(ratios)


@pytest.mark.parametrize("model", ["llama-3-8b", "mixtral-8x7b", "gpt2-xl"])
def test_an_array_result_is_the_single_plan_result(model: str) -> None:
    found = small(job(model, overhead__checkpoint_every="30min", data__loader_rate=40))
    (group,) = found.groups
    seconds, ratios = everything(found)
    picked = np.random.default_rng(7).choice(group.table.size, 60)
    for index, bones in zip(picked, one_by_one(group, picked.tolist()), strict=True):
        assert seconds[index] == pytest.approx(bones.run.seconds, rel=1e-9)
        assert ratios[index] == pytest.approx(bones.peak_bytes / bones.capacity_bytes, rel=1e-9)


def test_cost_and_energy_are_the_single_plan_s() -> None:
    found = small()
    done = scan(found.groups, constants())
    for point in points(found, done.keepers):
        bones = outline_of(found, point)
        assert point.usd == pytest.approx(bones.cost.usd, rel=1e-9)
        assert point.kwh == pytest.approx(bones.energy.kwh, rel=1e-9)


def test_the_best_is_the_best_of_all_that_surely_fit() -> None:
    found = small()
    seconds, ratios = everything(found)
    sure = ratios <= found.groups[0].surety
    assert 0 < sure.sum() < len(sure)
    (keeper,) = scan(found.groups, constants()).keepers.values()
    assert keeper.sure.seconds[0] == seconds[sure].min()
    assert np.array_equal(keeper.sure.seconds, np.sort(seconds[sure])[: keeper.sure.size])
    assert keeper.likely.seconds[0] == seconds[ratios <= 1].min()


def test_where_nothing_fits_the_least_memory_is_found() -> None:
    found = small(job("llama-3-70b", hardware__count=2))
    _, ratios = everything(found)
    (keeper,) = scan(found.groups, constants()).keepers.values()
    assert not keeper.fits
    assert keeper.best.ratio[0] == ratios.min() > 1


@pytest.mark.parametrize(("threads", "chunk"), [(1, 100), (2, 100), (2, 1000), (3, 10**6)])
def test_threads_and_chunks_change_nothing(threads: int, chunk: int) -> None:
    found = space(job(), limits(tries=["count=8,16"]))
    whole = scan(found.groups, constants(), threads=1, chunk=16_384)
    other = scan(found.groups, constants(), threads=threads, chunk=chunk)
    assert other.evaluated == whole.evaluated == found.size
    for pool, keeper in whole.keepers.items():
        mine = other.keepers[pool]
        assert np.array_equal(mine.best.index, keeper.best.index)
        assert np.array_equal(mine.best.group, keeper.best.group)
        assert mine.best.seconds[0] == pytest.approx(keeper.best.seconds[0], rel=1e-12)
        assert np.allclose(mine.sure.seconds, keeper.sure.seconds, rtol=1e-12)


def test_machines_evaluated_together_are_those_evaluated_alone() -> None:
    machines = ["sku=h100-sxm5-80gb,a100-sxm4-80gb,l40s", "count=1,4,8"]
    together = space(job(), limits(tries=machines, fix=["precision=bf16", "compile", "loss"]))
    done = scan(together.groups, constants(), chunk=50_000)
    for pool, keeper in done.keepers.items():
        run = job(hardware__sku=pool.sku, hardware__count=pool.count)
        alone = space(run, limits(fix=["count", "precision=bf16", "compile", "loss"]))
        (own,) = scan(alone.groups, constants()).keepers.values()
        assert own.best.seconds[0] == pytest.approx(keeper.best.seconds[0], rel=1e-12)
        assert own.best.ratio[0] == pytest.approx(keeper.best.ratio[0], rel=1e-12)


def test_the_saved_run_plans_to_the_same_answer() -> None:
    found = small(job(hardware__sku=A100))
    (point,) = points(found, scan(found.groups, constants()).keepers)
    made = plan(found.groups[point.group].run(point.index, point.mode))
    assert made.run.seconds == pytest.approx(point.seconds, rel=1e-9)
    assert made.fits == point.fits


def test_the_best_beats_what_a_plan_would_choose() -> None:
    found = small()
    (point,) = points(found, scan(found.groups, constants()).keepers)
    chosen = outline(scenario(found.run))
    assert point.seconds <= chosen.run.seconds * (1 + 1e-9)


def test_an_interrupt_keeps_the_best_so_far() -> None:
    found = small()

    def stop(_: int) -> None:
        raise KeyboardInterrupt

    done = scan(found.groups, constants(), threads=2, chunk=500, progress=stop)
    assert not done.complete
    assert done.evaluated == 500
    assert any(keeper.best.size for keeper in done.keepers.values())
