"""Workers on one study: four against one on trials that sleep, and one that is killed.

`python -m benchmarks.search_workers postgresql://USER:PASSWORD@HOST/DATABASE` prints the rates and
their ratio, and what became of the trials of a worker that `kill -9` ended. Run it on an idle
machine: the database and four workers share its processors.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from pathlib import Path

import optuna

from planner.search.studies import Setup, open_study, work
from planner.store.studies import opened

PROJECT = Path(__file__).resolve().parents[1]
SLEEP, TRIALS, WORKERS = 0.2, 120, 4  # s of a trial
HEARTBEAT, GRACE = 1, 4  # s


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("storage")
    parser.add_argument("--work", nargs=2, metavar=("STUDY", "TRIALS"), help=argparse.SUPPRESS)
    words = parser.parse_args()
    if words.work:
        name, trials = words.work
        run_worker(words.storage, name, int(trials))
    else:
        speed(words.storage)
        killed(words.storage)


def run_worker(storage: str, name: str, trials: int) -> None:
    """Trials that sleep, until the study holds `trials` finished ones."""
    with opened(storage, heartbeat=HEARTBEAT, grace=GRACE) as place:
        work(_study(place, name), _objective, trials)


def _objective(trial: optuna.Trial) -> float:
    x = trial.suggest_float("x", 0, 1)
    time.sleep(SLEEP)
    return x


def _study(place: optuna.storages.BaseStorage | None, name: str) -> optuna.Study:
    setup = Setup(name=name, about={"what": "sleep"}, objectives=("time",), starts=())
    return open_study(setup, place, optuna.samplers.RandomSampler())


def speed(storage: str) -> None:
    """Rates while all workers are at work: the start of an interpreter is not counted."""
    one = _rate(_together(storage, 1, TRIALS // WORKERS))
    several = _rate(_together(storage, WORKERS, TRIALS))
    print(f"one worker    {one:6.2f} trials a second (of {SLEEP} s each)")
    ratio = several / one
    print(f"{WORKERS} workers     {several:6.2f} trials a second: {ratio:.2f} times (target 3)")


def killed(storage: str) -> None:
    """One of three workers is killed in the middle; the others finish."""
    name = _name()
    with opened(storage) as place:
        study = _study(place, name)
        workers = [_start(storage, name, 60) for _ in range(3)]
        while len(_finished(study)) < 12:
            time.sleep(0.1)
        victim = workers.pop()
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        for each in workers:
            assert each.wait() == 0
        trials = study.get_trials(deepcopy=False)
        states = Counter(each.state.name.lower() for each in trials)
        doubled = len(trials) - len({each.number for each in trials})
        left = states["running"] + states["waiting"]
        print(
            f"one of 3 killed: {states['complete']} finished of 60 asked for, "
            f"{states['fail']} given up with its worker and tried again, {left} left over, "
            f"{doubled} doubled"
        )
        optuna.delete_study(study_name=name, storage=place)


def _together(storage: str, workers: int, trials: int) -> list[optuna.trial.FrozenTrial]:
    name = _name()
    with opened(storage) as place:
        study = _study(place, name)
        for each in [_start(storage, name, trials) for _ in range(workers)]:
            assert each.wait() == 0
        done = _finished(study)
        optuna.delete_study(study_name=name, storage=place)
    return done


def _start(storage: str, name: str, trials: int) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchmarks.search_workers", storage, "--work"]
    return subprocess.Popen([*command, name, str(trials)], cwd=PROJECT)


def _finished(study: optuna.Study) -> list[optuna.trial.FrozenTrial]:
    states = (optuna.trial.TrialState.COMPLETE,)
    return study.get_trials(deepcopy=False, states=states)


def _rate(trials: list[optuna.trial.FrozenTrial]) -> float:
    """Trials a second from when the last worker has begun until the first one ends."""
    by_worker: dict[str, list[optuna.trial.FrozenTrial]] = {}
    for each in trials:
        by_worker.setdefault(each.user_attrs["worker"], []).append(each)
    begin = max(min(each.datetime_start for each in mine) for mine in by_worker.values())
    end = min(max(each.datetime_complete for each in mine) for mine in by_worker.values())
    inside = [each for each in trials if begin < each.datetime_complete <= end]
    return len(inside) / (end - begin).total_seconds()


def _name() -> str:
    return f"benchmark-{uuid.uuid4().hex[:12]}"


if __name__ == "__main__":
    main()
