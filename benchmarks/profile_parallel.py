"""Planned against really measured data-parallel training steps on this machine's processors.

`python -m benchmarks.profile_parallel --profile FILE [--ranks 2]`: FILE holds collectives of as
many ranks (`torchrun --nproc-per-node 2 -m profiles.collectives --out FILE`). Plans three
transformers as `forerun plan --profile FILE --count 2` does, with gradients all-reduced
(DistributedDataParallel) and with everything sharded (fully_shard), trains them for a few steps
over Gloo, one thread a rank, and prints both with the error. Beside it the same step without
communication, in one process and in as many at once as there are ranks: what sharing the machine
alone costs. All times are divided by the machine's pace against the time of the profile, by a few
of its kernels.
"""

from __future__ import annotations

import argparse
import os
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass
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


def main() -> None:
    """Prints one row per model, batch and sharding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, help="profile file of this machine")
    parser.add_argument("--ranks", type=int, default=2)
    arguments = parser.parse_args()
    ranks, errors, inside = arguments.ranks, [], 0
    device = open_device("cpu")
    device.torch.set_num_threads(1)
    print("model    batch sharding  pace  alone  at once  measured   planned    error 80 %")
    for name in SIZES:
        for size in (1, 4):
            case = TransformerCase(name=name, micro_batch=size, precision="fp32")
            single = plan(case.run(arguments.profile), model=case.model())
            now = pace(arguments.profile, device, single)
            alone = measured(Job(case, "alone"), 1) / now
            at_once = measured(Job(case, "alone"), ranks) / now
            for way in WAYS:
                run = case.run(arguments.profile).changed(
                    {"hardware.count": ranks, "training.layout": {"sharding": way}}
                )
                step = plan(run, model=case.model()).step
                seconds = measured(Job(case, way), ranks) / now + step.parts["overhead"]
                holds = step.low <= seconds <= step.high
                errors.append(abs(step.seconds / seconds - 1))
                inside += holds
                parts = ", ".join(
                    f"{part} {1e3 * s:.3g}" for part, s in step.parts.items() if s > 0
                )
                print(
                    f"{name:8} {size:5} {way:8} {now:5.2f} {1e3 * alone:6.0f} {1e3 * at_once:8.0f} "
                    f"{1e3 * seconds:6.0f} ms {1e3 * step.seconds:6.0f} ms "
                    f"{100 * (step.seconds / seconds - 1):+6.1f} % "
                    f"{'inside' if holds else 'OUTSIDE':>7} | {parts}",
                    flush=True,
                )
    print(
        f"median error {100 * median(errors):.1f} %, largest {100 * max(errors):.1f} %; "
        f"{inside} of {len(errors)} inside the interval that is to hold 80 %"
    )


if __name__ == "__main__":
    main()
