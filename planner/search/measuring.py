"""A measured search: the study of real training steps on this device."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.search.measured import WORDS, Choices, Measured, as_rows
from planner.search.module_file import Subject, subject
from planner.search.restrictions import KEEP, Restrictions
from planner.search.space import refuse_profile
from planner.search.studies import Setup, open_study, shown, work

if TYPE_CHECKING:
    from optuna.samplers import BaseSampler

    from planner.run import Run
    from planner.search.learned import Trials

SCHEMA = "forerun.search.measured/1"
DEFAULT_BATCH = 32  # samples of a step where the run says none
_NO_TORCH = "needs torch: pip install -c constraints.txt -e '.[profile]' in forerun's folder"


def measured_search(
    run: Run,
    limits: Restrictions,
    wanted: Trials,
    *,
    device: str | None = None,
    progress: Callable[[int], None] | None = None,
) -> dict[str, Any]:
    """Try precision, micro-batch, accumulation and compilation by really training `run.model`.

    Raises PlannerError where torch or the module is missing.
    """
    _check_torch()
    import optuna

    from planner.store.studies import opened

    what = subject(run.model or "", run.data.input_shape)
    where = device or usual_device()
    options = choices(run, limits)
    objective = Measured(what, options, where)
    pruner = optuna.pruners.MedianPruner(n_startup_trials=4, n_warmup_steps=1)
    number = min(wanted.number, options.size)
    sampler = _sampler(wanted.seed, whole=number == options.size)
    with opened(wanted.storage) as storage:
        study = open_study(_setup(what, options, where, wanted.name), storage, sampler, pruner)
        with contextlib.suppress(KeyboardInterrupt):
            work(study, objective, number, progress=progress)
        trials = study.get_trials(deepcopy=False)
        rows = as_rows(trials)
        best = next((row for row in rows if row["feasible"]), None)
        return {
            "schema": SCHEMA,
            "model": what.name,
            "device": where,
            "global_batch": options.global_batch,
            "settings": options.size,
            "study": study.study_name,
            "storage": shown(wanted.storage),
            "trials": len([each for each in trials if each.state.is_finished()]),
            "best": best,
            "samples_per_second": options.global_batch / best["seconds"] if best else None,
            "measured": rows,
        }


def _sampler(seed: int, *, whole: bool) -> BaseSampler:
    """Every setting once where there are trials for all of them; else TPE."""
    import optuna

    if not whole:
        return optuna.samplers.TPESampler(seed=seed, n_startup_trials=5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
        return optuna.samplers.BruteForceSampler(seed=seed)


def choices(run: Run, limits: Restrictions) -> Choices:
    """Values to try, as the restrictions allow."""
    refuse_profile(run)
    training = run.training
    batch = training.global_batch or DEFAULT_BATCH
    divisors = [size for size in range(1, batch + 1) if batch % size == 0]
    words = {"precision": training.precision, "compile": training.compile}
    kept = {}
    for name, usual in WORDS.items():
        own = [words[name]] if limits.fixed.get(name) == KEEP else list(usual)
        kept[name] = tuple(str(word) for word in limits.kept(name, own))
        unknown = set(kept[name]) - set(usual)
        if unknown:
            remedy = f"is not measured: known are {', '.join(usual)}"
            raise PlannerError(name, ", ".join(sorted(unknown)), remedy)
    micro = limits.kept("micro_batch", list(divisors))
    return Choices(
        global_batch=batch,
        micro_batches=tuple(int(size) for size in micro),
        precisions=kept["precision"],
        compiles=kept["compile"],
    )


def usual_device() -> str:
    """The first accelerator that torch sees, else the processor."""
    import torch

    return "cuda:0" if torch.cuda.is_available() else "cpu"


def _setup(what: Subject, options: Choices, device: str, name: str | None) -> Setup:
    about = {
        "model": what.name,
        "device": device,
        "global_batch": options.global_batch,
        "micro_batches": options.micro_batches,
        "precisions": options.precisions,
        "compiles": options.compiles,
    }
    plain = {"micro_batch": 0, "precision": options.precisions[0], "compile": options.compiles[0]}
    large = {**plain, "micro_batch": len(options.micro_batches) - 1}
    starts = (plain, large) if len(options.micro_batches) > 1 else (plain,)
    made = Setup(name=name or "", about=about, objectives=("time",), starts=starts)
    return made if name else replace(made, name=f"measured-{made.fingerprint}")


def _check_torch() -> None:
    import importlib.util

    if importlib.util.find_spec("torch") is None:
        raise PlannerError("--measure", None, _NO_TORCH)
