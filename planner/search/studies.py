"""A study: many trials of one search, by any number of workers, resumable, in one storage."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import socket
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.store.place import without_password

if TYPE_CHECKING:
    from optuna import Study
    from optuna.pruners import BasePruner
    from optuna.samplers import BaseSampler
    from optuna.storages import BaseStorage
    from optuna.trial import FrozenTrial, Trial

SCHEMA = 1  # of a study's attributes and parameters
ATTRIBUTE = "forerun"
WAIT = 0.25  # s between two looks at trials that other workers run
UNSEEN = 60.0  # s that a trial may be without a worker after it was taken
SILENT = 86_400.0  # s after which a trial on another machine is given up, without heartbeats
WORKER = "worker"  # user attribute of a trial: HOST:PROCESS
RETRIES = 3  # of a trial whose workers died

Objective = Callable[..., Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What makes a study: two workers with the same setup may share one."""

    name: str
    about: dict[str, Any]  # what is searched, as plain values: the same for all workers
    objectives: tuple[str, ...]
    starts: Sequence[dict[str, Any]]  # parameters tried first

    @property
    def fingerprint(self) -> str:
        text = json.dumps([self.about, self.objectives], sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def open_study(
    setup: Setup,
    storage: BaseStorage | None,
    sampler: BaseSampler,
    pruner: BasePruner | None = None,
) -> Study:
    """The study of that name, created with its starts if there is none yet.

    Raises PlannerError for a study that is not forerun's, of another version or another search.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    settings: dict[str, Any] = {"study_name": setup.name, "storage": storage, "sampler": sampler}
    settings["pruner"] = pruner or optuna.pruners.NopPruner()
    try:
        study = optuna.create_study(directions=["minimize"] * len(setup.objectives), **settings)
    except optuna.exceptions.DuplicatedStudyError:
        del settings["study_name"]
        study = optuna.load_study(study_name=setup.name, **settings)
        _check(study, setup)
        return study
    wanted = {"schema": SCHEMA, "fingerprint": setup.fingerprint}
    study.set_user_attr(ATTRIBUTE, {**wanted, "objectives": list(setup.objectives)})
    for params in setup.starts:
        study.enqueue_trial(params)
    return study


def _check(study: Study, setup: Setup) -> None:
    found = _attributes(study)
    if found is None:
        raise PlannerError("--study", setup.name, "is not a study of forerun: take another name")
    if found.get("schema") != SCHEMA:
        remedy = f"was made by another version (schema {found.get('schema')}, this one writes "
        raise PlannerError("--study", setup.name, f"{remedy}{SCHEMA}): take another name")
    if found.get("fingerprint") != setup.fingerprint:
        remedy = "is of another run, other limits or other objectives: take another name"
        raise PlannerError("--study", setup.name, remedy)


def _attributes(study: Study) -> dict[str, Any] | None:
    """What the creator wrote; waits a moment for one that has only just created it."""
    for _ in range(20):
        found = study.user_attrs.get(ATTRIBUTE)
        if isinstance(found, dict):
            return found
        if study.get_trials(deepcopy=False):
            return None
        time.sleep(WAIT)
    return None


def work(
    study: Study,
    objective: Objective,
    trials: int,
    *,
    progress: Callable[[int], None] | None = None,
) -> int:
    """Run trials until the study holds `trials` finished ones, all workers together.

    Returns how many this worker ran. Trials of dead workers are taken over; an interrupt gives
    the running trial back and is passed on.
    """
    done, running = 0, _Remembered(objective)
    while True:
        states = _states(study)
        if states["finished"] >= trials:
            return done
        if states["finished"] + states["running"] >= trials and not states["waiting"]:
            _take_over(study)
            time.sleep(WAIT)
            continue
        try:
            study.optimize(running, n_trials=1)
        except KeyboardInterrupt:
            running.give_back(study)
            raise
        done += 1
        if progress:
            progress(1)


class _Remembered:
    """An objective that knows which trial it was called with last."""

    def __init__(self, objective: Objective) -> None:
        self._objective = objective
        self._trial: Trial | None = None

    def __call__(self, trial: Trial) -> Any:
        self._trial = trial
        trial.set_user_attr(WORKER, f"{socket.gethostname()}:{os.getpid()}")
        value = self._objective(trial)
        self._trial = None
        return value

    def give_back(self, study: Study) -> None:
        """Let whoever goes on with the study try the interrupted trial again."""
        if self._trial is not None and self._trial.params:
            study.enqueue_trial(self._trial.params)


def _states(study: Study) -> dict[str, int]:
    from optuna.trial import TrialState

    found = {"finished": 0, "running": 0, "waiting": 0}
    for trial in study.get_trials(deepcopy=False):
        if trial.state in (TrialState.COMPLETE, TrialState.PRUNED):
            found["finished"] += 1
        elif trial.state == TrialState.RUNNING:
            found["running"] += 1
        elif trial.state == TrialState.WAITING:
            found["waiting"] += 1
    return found


def _take_over(study: Study) -> None:
    """Give trials whose worker shows no sign of life to the living."""
    import optuna

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        optuna.storages.fail_stale_trials(study)
        again = optuna.storages.RetryHeartbeatStaleTrialCallback(max_retry=RETRIES)
    running = (optuna.trial.TrialState.RUNNING,)
    for trial in study.get_trials(deepcopy=False, states=running):
        if _is_orphan(trial, heartbeats=_has_heartbeat(study)):
            with contextlib.suppress(optuna.exceptions.UpdateFinishedTrialError):
                state = optuna.trial.TrialState.FAIL
                study._storage.set_trial_state_values(trial._trial_id, state=state)
                again(study, trial)


def _is_orphan(trial: FrozenTrial, *, heartbeats: bool) -> bool:
    """Whether the worker of a running trial is surely gone.

    Heartbeats miss a worker that was killed before its first one, and a journal has none.
    """
    started = trial.datetime_start
    age = 0.0 if started is None else time.time() - started.timestamp()
    worker = trial.user_attrs.get(WORKER)
    if worker is None:
        return age > UNSEEN
    host, _, process = str(worker).rpartition(":")
    if host == socket.gethostname():
        return not _lives(int(process))
    return not heartbeats and age > SILENT


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _has_heartbeat(study: Study) -> bool:
    interval = getattr(study._storage, "get_heartbeat_interval", None)
    return interval is not None and interval() is not None


def shown(url: str | None) -> str | None:
    """A storage's URL that may be printed."""
    return None if url is None else without_password(url)
