"""Planned against really measured data-parallel training steps on this machine's processors.

`python -m benchmarks.profile_parallel --profile FILE [--ranks 2] [--write]`: FILE holds collectives
of as many ranks (`torchrun --nproc-per-node 2 -m profiles.collectives --out FILE`). Plans three
transformers as `forerun plan --profile FILE --count 2` does, with gradients all-reduced
(DistributedDataParallel) and with everything sharded (fully_shard), trains them for a few steps
over Gloo, one thread a rank, and prints both with the error. Beside it the same step without
communication, in one process and in as many at once as there are ranks: what sharing the machine
alone costs. All times are divided by the machine's pace against the time of the profile, by a few
of its kernels. `--write` keeps the deviation of steps from their plans, which the intervals of
plans of several devices by a profile rest on.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from statistics import median
from typing import Any

import torch
import torch.multiprocessing as processes
from torch import distributed
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from benchmarks.profile_steps.pace import pace
from benchmarks.profile_steps.transformers import SEQ_LEN, SIZES, TransformerCase
from planner import plan
from planner.planning.result import StepPart
from planner.profile_device.quality import PARALLEL_FILE
from profiles.device import open_device
from profiles.training import transformer_step
from profiles.transformer import make_model

WARM, TIMED = 4, 7  # steps
WAYS = ("none", "zero3")
_LIMIT = 600  # s until a hung rank is given up


@dataclass(frozen=True, slots=True)
class Job:
    """What each rank does."""

    case: TransformerCase
    way: str  # none | zero3 | alone: without communication


def measured(job: Job, ranks: int) -> float:
    """Seconds of one step, the slowest rank's, median."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    begun = processes.get_context("spawn")
    answers = begun.Queue()
    args = (job, ranks, port, answers)
    workers: Any = processes.start_processes(  # type: ignore[no-untyped-call,attr-defined]
        _rank, args=args, nprocs=ranks, join=False, start_method="spawn"
    )
    found: list[float] = answers.get(timeout=_LIMIT)
    while not workers.join():
        pass
    return median(found)


def _rank(rank: int, job: Job, ranks: int, port: int, answers: Any) -> None:
    os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", rank=rank, world_size=ranks)
    torch.manual_seed(rank)
    case, device = job.case, open_device("cpu")
    step = transformer_step(
        _spread(make_model(case.dimensions), job.way),
        device,
        vocab=case.dimensions.vocab,
        micro_batch=case.micro_batch,
        seq_len=SEQ_LEN,
        precision=case.precision,
    )
    times = [_slowest(step) for _ in range(WARM + TIMED)]
    if rank == 0:
        answers.put(times[WARM:])
    distributed.barrier()
    distributed.destroy_process_group()


def _spread(model: Any, way: str) -> Any:
    if way == "none":
        return DistributedDataParallel(model)
    if way == "zero3":
        for layer in model.layers:
            fully_shard(layer)
        fully_shard(model)
    return model


def _slowest(step: Callable[[], None]) -> float:
    distributed.barrier()
    started = time.perf_counter()
    step()
    took = torch.tensor([time.perf_counter() - started], dtype=torch.float64)
    distributed.all_reduce(took, op=distributed.ReduceOp.MAX)
    return float(took.item())


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A plan and what was measured, times at the pace of the profile."""

    case: TransformerCase
    way: str
    pace: float  # of the machine, time now over time of the profile
    seconds: float  # measured, with what a plan adds for a loader and logging
    step: StepPart

    @property
    def log_error(self) -> float:
        return math.log(self.step.seconds / self.seconds)

    @property
    def inside(self) -> bool:
        return self.step.low <= self.seconds <= self.step.high


class Bench:
    """This machine's processors, and a profile of them."""

    def __init__(self, profile: str, ranks: int) -> None:
        self.profile, self.ranks = profile, ranks
        self.device = open_device("cpu")
        self.device.torch.set_num_threads(1)

    def at_pace(self, job: Job, ranks: int) -> tuple[float, float]:
        """Seconds of a job at the pace of the profile, and the pace now."""
        single = plan(job.case.run(self.profile), model=job.case.model())
        before = pace(self.profile, self.device, single)
        seconds = measured(job, ranks)
        now = math.sqrt(before * pace(self.profile, self.device, single))
        return seconds / now, now

    def row(self, case: TransformerCase, way: str) -> Row:
        """A step of all ranks, planned and measured."""
        run = case.run(self.profile).changed(
            {"hardware.count": self.ranks, "training.layout": {"sharding": way}}
        )
        step = plan(run, model=case.model()).step
        seconds, now = self.at_pace(Job(case, way), self.ranks)
        return Row(
            case=case, way=way, pace=now, seconds=seconds + step.parts["overhead"], step=step
        )


def show(row: Row, alone: float, at_once: float) -> None:
    """One line: times, error, whether the interval holds it, parts of the plan."""
    case, step = row.case, row.step
    parts = ", ".join(f"{part} {1e3 * s:.3g}" for part, s in step.parts.items() if s > 0)
    print(
        f"{case.name:8} {case.micro_batch:5} {row.way:8} {row.pace:5.2f} {1e3 * alone:6.0f} "
        f"{1e3 * at_once:8.0f} {1e3 * row.seconds:6.0f} ms {1e3 * step.seconds:6.0f} ms "
        f"{100 * math.expm1(row.log_error):+6.1f} % {'inside' if row.inside else 'OUTSIDE':>7} "
        f"| {parts}",
        flush=True,
    )


def sigma_of(rows: Sequence[Row]) -> float:
    """Root mean square of the logarithm of plan over step."""
    return math.sqrt(sum(row.log_error**2 for row in rows) / len(rows))


def summary(rows: Sequence[Row]) -> None:
    errors = [abs(math.expm1(row.log_error)) for row in rows]
    inside = sum(row.inside for row in rows)
    for way in WAYS:
        own = [math.expm1(row.log_error) for row in rows if row.way == way]
        print(
            f"  {way:8} median {100 * median(map(abs, own)):.1f} %, bias {100 * median(own):+.1f} %"
        )
    print(
        f"median error {100 * median(errors):.1f} %, largest {100 * max(errors):.1f} %; "
        f"{inside} of {len(rows)} inside the interval that is to hold 80 %; "
        f"deviation {sigma_of(rows):.3f}"
    )


def write(rows: Sequence[Row], ranks: int) -> None:
    """Keep the deviation with its origin."""
    meaning = (
        "standard deviation of the logarithm by which a data-parallel training step deviates from "
        "its plan by profile with collectives"
    )
    origin = {
        "command": "python -m benchmarks.profile_parallel --write",
        "date": datetime.now(UTC).date().isoformat(),
        "ranks": ranks,
        "steps": len(rows),
        "of": sorted({row.case.name for row in rows}),
    }
    found = {"sigma": round(sigma_of(rows), 4), "meaning": meaning, "measured": origin}
    PARALLEL_FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Prints one row per model, batch and sharding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, help="profile file of this machine")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--write", action="store_true", help="keep the deviation for intervals")
    arguments = parser.parse_args()
    bench = Bench(arguments.profile, arguments.ranks)
    rows = []
    print("model    batch sharding  pace  alone  at once  measured   planned    error 80 %")
    for name, size in product(SIZES, (1, 4)):
        case = TransformerCase(name=name, micro_batch=size, precision="fp32")
        alone, _ = bench.at_pace(Job(case, "alone"), 1)
        at_once, _ = bench.at_pace(Job(case, "alone"), bench.ranks)
        for way in WAYS:
            rows.append(bench.row(case, way))
            show(rows[-1], alone, at_once)
    summary(rows)
    if arguments.write:
        write(rows, bench.ranks)


if __name__ == "__main__":
    main()
