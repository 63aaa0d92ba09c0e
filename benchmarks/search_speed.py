"""How fast the exhaustive search is: candidates a second, growth of time and memory, named jobs.

`python -m benchmarks.search_speed [--threads N]` prints a table; run it on an idle machine.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np

from planner.engine.constants import constants
from planner.run import Run
from planner.search.compare import compare
from planner.search.restrictions import restrictions
from planner.search.scan import scan
from planner.search.space import Space, space

GPT3 = {
    "data.tokens": 3 * 10**11,
    "data.seq_len": 2048,
    "hardware.sku": "a100-sxm4-80gb",
    "hardware.count": 1024,
    "training.global_batch": 1536,
    "training.stack": "megatron",
}
SHARDINGS = "sharding=none,zero1,zero2,zero3"
WIDE = (
    SHARDINGS,
    "compile=all",
    "loss=all",
    "attention=all",
    "precision=bf16,fp16,fp32",
    "global_batch=384,512,768,1536,3072,6144",
    "count=256,512,1024,2048",
)
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--threads", type=int, default=None)
    threads = parser.parse_args().threads
    growth(threads)
    named(threads)
    accelerators()


def growth(threads: int | None) -> None:
    """Time and memory against the number of candidates, with the fitted slope of the logarithms."""
    whole = space(Run(model="gpt3-175b").changed(GPT3), restrictions(tries=WIDE))
    print(f"{whole.size:,} valid candidates of GPT-3 175B\n")
    print("candidates   wall s    cpu s   per wall second   per cpu second   peak MB")
    counts, times = [], []
    for size in SIZES:
        part = _part(whole, size)
        cpu, wall = time.process_time(), time.perf_counter()
        done = scan(part, constants(), threads=threads)
        cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{done.evaluated:>10,} {wall:>8.2f} {cpu:>8.2f} {done.evaluated / wall:>17,.0f}"
            f" {done.evaluated / cpu:>16,.0f} {peak:>9.0f}"
        )
        counts.append(done.evaluated)
        times.append(cpu)
    slope = np.polyfit(np.log(counts[1:]), np.log(times[1:]), 1)[0]
    print(f"\nCPU time grows as candidates to the power {slope:.3f}\n")


def _part(whole: Space, size: int) -> list:  # type: ignore[type-arg]
    """The first groups that hold about `size` candidates."""
    found, held = [], 0
    for group in whole.groups:
        if held >= size:
            break
        found.append(group)
        held += group.table.size
    return found


def named(threads: int | None) -> None:
    """GPT-3 175B on 1024 A100: all layouts, recomputations and shardings."""
    started = time.perf_counter()
    limits = restrictions(
        fix=["count", "precision", "compile", "attention", "loss"], tries=[SHARDINGS]
    )
    found = space(Run(model="gpt3-175b").changed(GPT3), limits)
    done = scan(found.groups, constants(), threads=threads)
    print(
        f"GPT-3 175B on 1024 A100, {found.size:,} candidates, exact: "
        f"{time.perf_counter() - started:.2f} s ({done.seconds:.2f} s of it evaluating)"
    )


def accelerators() -> None:
    """Every accelerator, 1 to 1024 of each, every layout."""
    run = Run(model="llama-3-8b").changed(
        {"data.tokens": 10**12, "data.seq_len": 8192, "training.global_batch": 1024}
    )
    cpu, wall = time.process_time(), time.perf_counter()
    answer = compare(run)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    print(
        f"compare, {len(answer['ranking'])} accelerators x 1 to 1024, "
        f"{answer['candidates']['evaluated']:,} candidates: {wall:.2f} s wall, {cpu:.2f} s CPU"
    )


if __name__ == "__main__":
    main()
