"""What a search says: best, front, limits, robustness, the nearest where nothing fits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner import search
from planner.planning.plan import plan
from planner.run import Run
from planner.search.answer import Answer, _without_nothing
from planner.search.exhaustive import searched
from planner.search.points import Aim, Point, front
from planner.search.rows import runs_of_rows, short_row
from tests.search.jobs import job, limits

QUICK = ["precision=bf16", "compile", "loss", "attention"]


@pytest.fixture(scope="module")
def made() -> Answer:
    return search(job(), restrictions=limits(fix=QUICK))


@pytest.fixture(scope="module")
def answer(made: Answer) -> dict[str, Any]:
    return made.to_json()


def test_the_answer_is_json_with_the_best_first(answer: dict[str, Any]) -> None:
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer
    best = answer["best"]
    assert best["fits"]
    assert best["verdict"] == "fits"
    assert best["run"]["seconds"] == pytest.approx(answer["pareto"][0]["seconds"])
    assert answer["candidates"]["evaluated"] == answer["candidates"]["valid"]


def test_the_package_is_a_function_too() -> None:
    assert callable(search)
    assert search.search is not None


def test_no_point_of_the_front_beats_another(made: Answer) -> None:
    for one in made.front:
        for other in made.front:
            if one != other:
                pairs = zip(one.objectives, other.objectives, strict=True)
                assert not all(a <= b for a, b in pairs)
    for point in made.points:
        if point.fits:
            assert any(
                all(a <= b for a, b in zip(other.objectives, point.objectives, strict=True))
                for other in made.front
            )


def test_an_unknown_price_neither_wins_nor_vanishes(made: Answer) -> None:
    from dataclasses import replace

    known = made.front[0]
    free = replace(known, usd=None, seconds=known.seconds * 0.5)
    kept = front([known, free])
    assert kept == [free, known]
    assert Aim(by="cost").score(free) == float("inf")


def test_the_run_file_of_the_best_plans_to_the_best(answer: dict[str, Any]) -> None:
    planned = plan(Run.from_mapping(answer["run_file"]))
    assert planned.run.seconds == pytest.approx(answer["best"]["run"]["seconds"], rel=1e-9)
    assert planned.fits


def test_a_row_of_the_answer_is_the_run_that_it_came_from(made: Answer) -> None:
    rows = [short_row(made.space, point) for point in made.points]
    for point, run in zip(made.points, runs_of_rows(made.space, rows), strict=True):
        assert _without_nothing(run.to_mapping()) == made.run_file(point)


def test_an_interrupted_search_gives_the_best_that_it_had_shown(made: Answer) -> None:
    shown: list[Point | None] = []

    def interrupt(_: int) -> None:
        raise KeyboardInterrupt

    found = searched(made.space, Aim(), progress=interrupt, watch=lambda best: shown.append(best()))
    assert not found.scan.complete
    assert shown == [found.best]


def test_a_deadline_takes_the_cheapest_that_keeps_it() -> None:
    free = search(job(hardware__count=64), by="cost", restrictions=limits(fix=QUICK))
    assert free.best is not None
    assert free.best.pool.count < 64, "fewer devices talk less"
    days = free.best.seconds / 86_400
    tight = job(hardware__count=64, budget__days=days / 2)
    bound = search(tight, by="cost", restrictions=limits(fix=QUICK))
    assert bound.best is not None
    assert bound.best.seconds <= free.best.seconds / 2
    assert bound.best.usd is not None
    assert free.best.usd is not None
    assert bound.best.usd >= free.best.usd
    rows = {row["limit"]: row for row in bound.to_json()["relaxing"]}
    assert rows["budget.days"]["gain"] >= 0


def test_more_memory_can_only_help(answer: dict[str, Any]) -> None:
    (memory,) = [row for row in answer["relaxing"] if row["limit"] == "memory"]
    assert memory["gain"] >= 0
    assert memory["binds"] == (memory["gain"] > 0)


def test_robustness_says_how_often_the_best_stays(answer: dict[str, Any]) -> None:
    drawn = answer["robustness"]
    assert 0 <= drawn["stays_best"] <= 1
    assert 0 <= drawn["median_loss"] <= drawn["p90_loss"] <= drawn["worst_loss"]
    assert drawn["rivals"] > 10


def test_robustness_is_reproducible(made: Answer, answer: dict[str, Any]) -> None:
    assert made.to_json()["robustness"] == answer["robustness"]


def test_nothing_within_the_limits_names_the_nearest_and_what_to_relax() -> None:
    run = Run(model="llama-3.1-70b").changed(
        {
            "data.tokens": 10**12,
            "data.seq_len": 4096,
            "hardware.sku": "h100-sxm5-80gb",
            "hardware.count": 64,
            "budget.usd": 10,
            "budget.days": "1h",
        }
    )
    answer = search(run).to_json()
    assert not answer["fits"]
    assert answer["best"] is None
    nearest = answer["nearest"]
    assert {row["limit"] for row in nearest["violated"]} == {"budget.usd", "budget.days"}
    assert all(row["factor"] > 1 for row in nearest["relax"])
    for row in nearest["relax"]:
        assert row["to"] == pytest.approx(row["from"] * row["factor"])
    assert nearest["candidate"]["fits"]


def test_one_limit_alone_says_how_far_to_relax_it() -> None:
    answer = search(job(budget__usd=10, budget__days=10_000)).to_json()
    (row,) = answer["nearest"]["alone"]
    assert row["limit"] == "budget.usd"
    enough = search(job(budget__usd=row["to"] * 1.0001, budget__days=10_000))
    assert enough.fits


def test_nothing_that_fits_says_how_much_memory_lacks() -> None:
    run = job("llama-3-70b", hardware__count=2, hardware__sku="t4")
    answer = search(run).to_json()
    assert not answer["fits"]
    (row,) = answer["nearest"]["violated"]
    assert row["limit"] == "memory"
    assert row["factor"] > 1
    assert answer["pareto"] == []


def test_the_best_is_written_as_a_run_file(forerun: Callable[..., Any], tmp_path: Path) -> None:
    file, saved = tmp_path / "run.yaml", tmp_path / "best.yaml"
    file.write_text(yaml.safe_dump(job().to_mapping()), "utf-8")
    flags = ["--fix", "count", "--fix", "precision", "--fix", "compile", "--fix", "loss"]
    answer = forerun("search", file, *flags, "--json", "--save", saved).json
    planned = forerun("plan", saved, "--json", "--no-advice").json
    assert planned["run"]["seconds"] == pytest.approx(answer["best"]["run"]["seconds"], rel=1e-9)
    text = forerun("search", file, *flags).out
    for word in ("Best by time", "memory", "robust", "limits", "candidates evaluated"):
        assert word in text


def test_an_unknown_price_is_said_and_time_decides() -> None:
    run = job(hardware__sku="xeon-8480plus-amx", hardware__count=1, hardware__host_memory="1TB")
    answer = search(run, by="cost", restrictions=limits(fix=QUICK)).to_json()
    assert answer["best"]["cost"]["usd"] is None
    assert any("can be ranked by cost" in text for text in answer["warnings"])
    fastest = search(run, restrictions=limits(fix=QUICK)).to_json()
    assert answer["best"]["run"]["seconds"] == fastest["best"]["run"]["seconds"]


def test_a_point_can_be_hashed_for_comparison(made: Answer) -> None:
    assert isinstance(made.points[0], Point)
    assert len(set(made.points)) == len(made.points)
