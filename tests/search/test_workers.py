"""Many processes on one study: nothing fails, nothing is lost, nothing is done twice."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import optuna
import pytest

from planner.errors import PlannerError
from planner.search.studies import Setup, open_study
from planner.store.studies import opened, study_storage
from tests.search.objective import SETUP

PROJECT = Path(__file__).resolve().parents[2]
FINISHED = optuna.trial.TrialState.COMPLETE


def worker(url: str, name: str, *words: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.search.objective", url, name, *map(str, words)],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


Opened = Callable[[str], optuna.Study]


@pytest.fixture
def name() -> str:
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def study_of(name: str) -> Iterator[Opened]:
    """Studies by URL, whose connections are closed at the end."""
    with contextlib.ExitStack() as stack:

        def study(url: str, **settings: Any) -> optuna.Study:
            storage = stack.enter_context(opened(url, **settings))
            sampler = optuna.samplers.RandomSampler()
            return open_study(Setup(name=name, **SETUP), storage, sampler)

        yield study


@pytest.fixture
def postgres(postgres_url: str, name: str) -> Iterator[str]:
    yield postgres_url
    with opened(postgres_url) as storage, contextlib.suppress(KeyError):
        assert storage is not None
        optuna.delete_study(study_name=name, storage=storage)


def finish(workers: list[subprocess.Popen[str]]) -> list[int]:
    """Trials that each worker ran."""
    ran = []
    for each in workers:
        out, err = each.communicate(timeout=240)
        assert each.returncode == 0, err
        ran.append(int(out))
    return ran


def finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    return [each for each in study.get_trials(deepcopy=False) if each.state == FINISHED]


@pytest.mark.parametrize("kind", ["sqlite", "journal"])
def test_eight_writers_and_a_reader_share_a_file(
    kind: str, name: str, tmp_path: Path, study_of: Opened
) -> None:
    where = {"sqlite": f"sqlite:///{tmp_path}/s.db", "journal": f"journal:{tmp_path}/s.journal"}
    study = study_of(where[kind])
    workers = [worker(where[kind], name, 8 * 12, 0.01) for _ in range(8)]
    while any(each.poll() is None for each in workers):
        study.get_trials(deepcopy=False)  # as a dashboard polls
        time.sleep(0.3)
    ran = finish(workers)
    trials = study.get_trials(deepcopy=False)
    assert all(each.state == FINISHED for each in trials)
    assert len({each.number for each in trials}) == len(trials) == sum(ran)
    assert 8 * 12 <= len(trials) <= 8 * 12 + 7  # trials that were running when the last ended


def rate(trials: list[optuna.trial.FrozenTrial]) -> float:
    """Trials a second while every one of their workers is at work."""
    by_worker: dict[int, list[optuna.trial.FrozenTrial]] = {}
    for each in trials:
        by_worker.setdefault(each.user_attrs["worker"], []).append(each)
    begin = max(min(each.datetime_start for each in mine) for mine in by_worker.values())
    end = min(max(each.datetime_complete for each in mine) for mine in by_worker.values())
    inside = [each for each in trials if begin < each.datetime_complete <= end]
    return len(inside) / (end - begin).total_seconds()


def test_four_workers_are_much_faster_than_one_on_postgres(
    postgres: str, name: str, study_of: Opened
) -> None:
    study = study_of(postgres)
    finish([worker(postgres, name, 20, 0.2)])
    ran = finish([worker(postgres, name, 20 + 120, 0.2) for _ in range(4)])
    done = finished(study)
    assert len(done) == 20 + sum(ran)
    assert min(ran) > 10, "all four take part"
    assert rate(done[20:]) > 2 * rate(done[:20])  # 3 and more where the cores are free


def test_a_killed_worker_loses_and_doubles_nothing(
    postgres: str, name: str, study_of: Opened
) -> None:
    study = study_of(postgres)
    workers = [worker(postgres, name, 40, 0.3, 1, 4) for _ in range(3)]
    while len(finished(study)) < 6:
        time.sleep(0.1)
    victim = workers.pop(0)
    victim.send_signal(signal.SIGKILL)
    victim.communicate()
    finish(workers)
    done = finished(study)
    lost = [
        each
        for each in study.get_trials(deepcopy=False)
        if each.state == optuna.trial.TrialState.FAIL
    ]
    assert 40 <= len(done) <= 42
    assert len(lost) <= 1, "the one that the victim was running"
    again = [each.system_attrs.get("failed_trial") for each in done]
    for each in lost:
        assert again.count(each.number) == 1
        (retried,) = [other for other in done if other.system_attrs.get("failed_trial") is not None]
        assert each.params.items() <= retried.params.items()  # none if killed before it drew any
    assert not [e for e in study.get_trials(deepcopy=False) if not e.state.is_finished()]


def test_a_study_goes_on_where_it_stopped(name: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    assert finish([worker(url, name, 5, 0)]) == [5]
    assert finish([worker(url, name, 8, 0)]) == [3]
    assert finish([worker(url, name, 8, 0)]) == [0]


def test_a_study_of_another_search_is_refused(name: str, tmp_path: Path, study_of: Opened) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    study_of(url)
    other = Setup(name=name, about={"test": "other"}, objectives=("time",), starts=())
    with opened(url) as storage, pytest.raises(PlannerError, match="of another run"):
        open_study(other, storage, optuna.samplers.RandomSampler())


def test_a_study_of_somebody_else_is_refused(name: str, tmp_path: Path, study_of: Opened) -> None:
    url = f"sqlite:///{tmp_path}/s.db"
    with opened(url) as storage:
        theirs = optuna.create_study(study_name=name, storage=storage)
        theirs.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=1)
    with pytest.raises(PlannerError, match="not a study of forerun"):
        study_of(url)


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("postgresql://a:secret@127.0.0.1:1/b", "cannot be reached"),
        ("sqlite:////no/such/folder/s.db", "no folder"),
        ("journal:/no/such/folder/s.journal", "no folder"),
        ("redis://localhost", "write sqlite"),
        ("nonsense", "write sqlite"),
    ],
)
def test_a_database_that_cannot_be_used_is_refused(url: str, says: str) -> None:
    with pytest.raises(PlannerError, match=says) as caught:
        study_storage(url)
    assert "secret" not in str(caught.value)


def test_a_database_lost_in_the_middle_stops_with_a_word(tmp_path: Path, study_of: Any) -> None:
    path = tmp_path / "s.db"
    study = study_of(f"sqlite:///{path}", patience=0.5)
    study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
    held = path.read_bytes()
    path.write_bytes(b"gone" + b"\0" * len(held))
    for side in ("s.db-wal", "s.db-shm"):
        (tmp_path / side).unlink(missing_ok=True)
    with pytest.raises(PlannerError, match="start again with the same --study"):
        study.optimize(lambda trial: trial.suggest_float("x", 0, 1), n_trials=2)
