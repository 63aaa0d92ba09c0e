"""How near Optuna comes to the exact optimum: regret over seeds, samplers and starts compared.

`python -m benchmarks.search_optuna [--seeds 20] [--trials 200] [--front 500]` prints two tables.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import dataclass

import numpy as np

from planner.run import Run
from planner.search.answer import Answer
from planner.search.encoding import Encoding
from planner.search.exhaustive import searched
from planner.search.learned import Trials, learned
from planner.search.points import Aim
from planner.search.restrictions import Restrictions, restrictions
from planner.search.space import space
from planner.search.starts import starts
from planner.search.studies import Setup, open_study, work
from planner.search.trials import Predicted

CLOSE = 0.02  # regret that counts as found


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """A search of a real model with limits that bind or nearly so."""

    name: str
    run: Run
    limits: Restrictions


def jobs() -> list[Job]:
    return [
        Job(
            name="Llama-3-8B, 64 H100, 40 days",
            run=Run(model="llama-3-8b").changed(
                {
                    "data.tokens": 10**12,
                    "data.seq_len": 8192,
                    "hardware.sku": "h100-sxm5-80gb",
                    "hardware.count": 64,
                    "training.global_batch": 1024,
                    "budget.days": 40,
                }
            ),
            limits=restrictions(),
        ),
        Job(
            name="GPT-3 175B, 1024 A100, 60 days",
            run=Run(model="gpt3-175b").changed(
                {
                    "data.tokens": 3 * 10**11,
                    "data.seq_len": 2048,
                    "hardware.sku": "a100-sxm4-80gb",
                    "hardware.count": 1024,
                    "training.global_batch": 1536,
                    "training.stack": "megatron",
                    "budget.days": 60,
                }
            ),
            limits=restrictions(
                tries=["sharding=none,zero1,zero2,zero3", "loss=all", "attention=all"],
                bound=["global_batch=384..3072"],
            ),
        ),
        Job(
            name="Mixtral-8x7B, 256 H100, 800 k$",
            run=Run(model="mixtral-8x7b").changed(
                {
                    "data.tokens": 10**12,
                    "data.seq_len": 4096,
                    "hardware.sku": "h100-sxm5-80gb",
                    "hardware.count": 256,
                    "training.global_batch": 1024,
                    "budget.usd": 800_000,
                }
            ),
            limits=restrictions(),
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--trials", type=int, default=200)
    parser.add_argument("--front", type=int, default=500)
    parser.add_argument("--kinds", default="tpe,tpe+starts,neighbours,neighbours+starts")
    given = parser.parse_args()
    exact = [(job, searched(space(job.run, job.limits), Aim(by="time"))) for job in jobs()]
    _regrets(exact, given.kinds.split(","), given.seeds, given.trials)
    if given.front:
        _fronts(exact, given.seeds, given.front)


def _regrets(exact: list[tuple[Job, Answer]], kinds: list[str], seeds: int, trials: int) -> None:
    print(f"regret after {trials} trials, {seeds} seeds")
    print(f"{'space':<32} {'valid':>10} {'sampler':<18} {'median':>8} {'worst':>8} {'found':>6}")
    for job, answer in exact:
        for kind in kinds:
            found = [_regret(answer, kind, seed, trials) for seed in range(seeds)]
            close = sum(regret <= CLOSE for regret in found)
            print(
                f"{job.name:<32} {answer.space.size:>10,} {kind:<18} {np.median(found):>8.2%}"
                f" {max(found):>8.2%} {close:>3}/{seeds}",
                flush=True,
            )


def _regret(answer: Answer, kind: str, seed: int, trials: int) -> float:
    """Share of time behind the exact best; infinite where no trial keeps the limits."""
    import optuna

    from planner.search.sampler import NeighbourSampler

    encoding = Encoding(answer.space)
    tpe = kind.startswith("tpe")
    sampler = optuna.samplers.TPESampler(seed=seed) if tpe else NeighbourSampler(encoding, seed)
    setup = Setup(
        name=f"{kind}-{seed}",
        about={},
        objectives=("time",),
        starts=starts(encoding) if kind.endswith("starts") else (),
    )
    study = open_study(setup, None, sampler)
    work(study, Predicted(encoding, Aim(by="time")), trials)
    kept = [
        trial.value
        for trial in study.get_trials(deepcopy=False)
        if trial.value is not None and all(value <= 0 for value in trial.constraints.values())
    ]
    assert answer.best is not None
    return min(kept, default=np.inf) / answer.best.seconds - 1


def _fronts(exact: list[tuple[Job, Answer]], seeds: int, trials: int) -> None:
    print(f"\nhypervolume of time, cost and energy after {trials} trials against the exact front")
    for job, answer in exact:
        started, shares = time.perf_counter(), []
        for seed in range(seeds):
            found = learned(answer, Trials(number=trials, seed=seed, several=True))
            shares.append(found["hypervolume"])
        took = (time.perf_counter() - started) / seeds
        print(
            f"{job.name:<32} median {np.median(shares):.1%} worst {min(shares):.1%}"
            f" ({took:.0f} s a study)",
            flush=True,
        )


if __name__ == "__main__":
    main()
