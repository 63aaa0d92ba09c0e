"""Searching by trials: valid encodings, seeds, good starts, regret against the exact answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import optuna
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.engine.constants import constants
from planner.search.answer import Answer
from planner.search.encoding import Encoding
from planner.search.exhaustive import searched
from planner.search.hypervolume import hypervolume
from planner.search.learned import Trials, history, learned
from planner.search.points import Aim
from planner.search.sampler import NeighbourSampler
from planner.search.scan import scan
from planner.search.space import space
from planner.search.starts import starts
from planner.search.trials import Predicted, constraints, point_of
from tests.search.jobs import job, limits

SPACE = space(job(), limits(fix=["attention"]))
ENCODING = Encoding(SPACE)


@pytest.fixture(scope="module")
def exact() -> Answer:
    return searched(SPACE, Aim())


@settings(max_examples=60)
@given(st.data())
def test_every_point_of_the_study_is_a_valid_candidate(data: st.DataObject) -> None:
    params = {
        each.name: data.draw(
            st.integers(0, len(each.values) - 1) if each.ordered else st.sampled_from(each.values)
        )
        for each in ENCODING.coordinates
    }
    number, index = ENCODING.decode(params)
    assert 0 <= index < SPACE.groups[number].table.size


@settings(max_examples=60)
@given(st.data())
def test_encoding_and_decoding_a_candidate_gives_it_back(data: st.DataObject) -> None:
    number = data.draw(st.integers(0, len(SPACE.groups) - 1))
    index = data.draw(st.integers(0, SPACE.groups[number].table.size - 1))
    assert ENCODING.decode(ENCODING.encode((number, index))) == (number, index)


def test_starts_are_different_and_valid() -> None:
    found = starts(ENCODING)
    assert len({ENCODING.decode(params) for params in found}) == len(found) >= 6


def test_a_trial_is_what_the_scan_says() -> None:
    (pool, keeper), *_ = scan(SPACE.groups, constants()).keepers.items()
    best = keeper.best
    point = point_of(SPACE, (int(best.group[0]), int(best.index[0])), constants())
    assert point.pool == pool
    assert point.seconds == pytest.approx(float(best.seconds[0]), rel=1e-12)
    assert constraints(SPACE, point)["memory"] <= 0


def run_trials(seed: int, number: int = 25) -> list[dict[str, Any]]:
    study = optuna.create_study(sampler=NeighbourSampler(ENCODING, seed))
    study.optimize(Predicted(ENCODING, Aim()), n_trials=number)
    return [trial.params for trial in study.trials]


def test_a_seed_gives_the_same_trials_again() -> None:
    assert run_trials(3) == run_trials(3)
    assert run_trials(3) != run_trials(4)


def test_no_candidate_is_tried_twice_by_neighbours() -> None:
    tried = [ENCODING.decode(params) for params in run_trials(5, 60)]
    explored = len(tried) // 6 + 1
    assert len(set(tried)) >= len(tried) - explored


def test_trials_come_near_the_exact_best(exact: Answer) -> None:
    regrets = [learned(exact, Trials(number=120, seed=seed))["regret"] for seed in range(3)]
    assert all(regret is not None and regret >= -1e-12 for regret in regrets)
    assert np.median(regrets) <= 0.02
    assert max(regrets) <= 0.15


def test_objectives_apart_cover_the_front(exact: Answer) -> None:
    found = learned(exact, Trials(number=150, seed=1, several=True))
    assert found["objectives"] == ["time", "cost", "energy"]
    assert found["hypervolume"] > 0.9
    assert found["trials"] == 150


def test_the_history_falls_to_the_best_of_the_study(exact: Answer) -> None:
    seen: list[list[dict[str, Any]]] = []
    found = learned(exact, Trials(number=20), watch=lambda study: seen.append(history(study)))
    assert [len(rows) for rows in seen] == list(range(1, 21))
    best = [row["best"] for row in seen[-1] if row["best"] is not None]
    assert best == sorted(best, reverse=True)
    assert best[-1] == pytest.approx(found["best"]["seconds"])
    assert sum(not row["keeps"] for row in seen[-1]) == found["infeasible"]


def test_importance_names_the_parameters(exact: Answer) -> None:
    found = learned(exact, Trials(number=60, seed=2))["importance"]
    assert set(found) <= {each.name for each in ENCODING.coordinates}
    assert sum(found.values()) == pytest.approx(1.0)


@pytest.mark.parametrize("seed", range(5))
def test_hypervolume_is_what_counting_says(seed: int) -> None:
    generator = np.random.default_rng(seed)
    front = [tuple(point) for point in generator.random((6, 3))]
    samples = generator.random((40_000, 3))
    inside = np.zeros(len(samples), dtype=bool)
    for point in front:
        inside |= np.all(samples >= np.array(point), axis=1)
    assert hypervolume(front, (1.0, 1.0, 1.0)) == pytest.approx(inside.mean(), abs=0.02)


def test_the_command_goes_on_with_a_study(forerun: Callable[..., Any], tmp_path: Any) -> None:
    words = ["--model", "llama-3-8b", "--tokens", "1e11", "--seq-len", 4096, "--sku"]
    words += ["h100-sxm5-80gb", "--count", 16, "--global-batch", 256, "--fix", "count"]
    words += ["--fix", "precision", "--fix", "compile", "--fix", "loss", "--json"]
    study = ["--storage", f"sqlite:///{tmp_path}/s.db", "--study", "mine"]
    first = forerun("search", *words, *study, "--trials", 6).json["study"]
    assert (first["trials"], first["of_this_worker"]) == (6, 6)
    worker = forerun("search", *words, *study, "--trials", 9, "--worker").json
    assert worker["of_this_worker"] == 3
    last = forerun("search", *words, *study, "--trials", 9).json["study"]
    assert (last["trials"], last["of_this_worker"]) == (9, 0)
    other = forerun("search", *words, *study, "--trials", 9, "--by", "cost")
    assert other.status == 2
    assert "another run" in other.err
