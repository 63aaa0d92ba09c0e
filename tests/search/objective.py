"""A worker of a study whose trials take a measured time; run as a process by the tests.

`python -m tests.search.objective URL NAME TRIALS SECONDS [HEARTBEAT GRACE]`
"""

from __future__ import annotations

import sys
import time
from typing import Any

import optuna

from planner.search.studies import Setup, open_study, work
from planner.store.studies import opened

SETUP = {"about": {"test": "sleep"}, "objectives": ("time",), "starts": ()}


def slow(seconds: float) -> Any:
    def objective(trial: optuna.Trial) -> float:
        value = trial.suggest_int("x", 0, 1_000_000)
        time.sleep(seconds)
        return float(value)

    return objective


def main() -> None:
    url, name, trials, seconds, *beats = sys.argv[1:]
    heartbeat, grace = map(int, beats or ("10", "40"))
    with opened(url, heartbeat=heartbeat, grace=grace) as storage:
        study = open_study(Setup(name=name, **SETUP), storage, optuna.samplers.RandomSampler())
        sys.stdout.write(str(work(study, slow(float(seconds)), int(trials))))


if __name__ == "__main__":
    main()
