"""Bias of our timer against torch.utils.benchmark, and how well two runs agree.

`python -m benchmarks.profile_timer [--threads N] [--clock wall|cpu]`: both timers take turns on the
same kernel in one process, each first in every other pair; the ratio of each pair counts. The
second figure is the median difference between two runs of kernels above one millisecond. Wants a
quiet machine.
"""

from __future__ import annotations

import argparse
import time

from torch.utils.benchmark import Timer

from profiles.device import open_device
from profiles.statistics import median
from profiles.timing import Limits, time_kernel

ROUNDS = 30


def main() -> None:
    """Prints the bias per kernel and the difference from run to run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    arguments = parser.parse_args()
    device = open_device("cpu")
    torch = device.torch
    torch.set_num_threads(arguments.threads)
    device.clock = arguments.clock
    clock = time.process_time if arguments.clock == "cpu" else time.perf_counter
    limits = Limits(seconds=0.2, width=1e-9, samples_most=10_000)
    gelu = torch.nn.functional.gelu
    biases = []
    for name, sides in (("product", (128, 512, 1024)), ("gelu", (512, 2048))):
        for side in sides:
            a = torch.randn(side, side)
            statement = "a @ a" if name == "product" else "gelu(a)"
            timer = Timer(
                statement,
                globals={"a": a, "gelu": gelu},
                num_threads=arguments.threads,
                timer=clock,
            )
            ratios = []
            call = (lambda a=a: a @ a) if name == "product" else (lambda a=a: gelu(a))
            for turn in range(ROUNDS):
                both = [
                    lambda call=call: time_kernel(call, device, limits=limits).median_s,
                    lambda timer=timer: timer.blocked_autorange(min_run_time=0.2).median,
                ]
                seconds = {i: both[i]() for i in ((0, 1) if turn % 2 else (1, 0))}
                ratios.append(seconds[0] / seconds[1])
            biases.append(abs(median(ratios) - 1))
            print(f"{name:8} {side:5}² bias {100 * (median(ratios) - 1):+.2f} %")
    print(f"worst bias {100 * max(biases):.2f} %")
    print(f"run to run, kernels above 1 ms: {100 * _between_runs(device, limits):.2f} %")


def _between_runs(device: object, limits: Limits) -> float:
    from profiles.device import Device

    assert isinstance(device, Device)
    torch = device.torch
    kernels = [torch.randn(side, side) for side in (640, 768, 896, 1024)]
    runs = [
        [time_kernel(lambda a=a: a @ a, device, limits=limits).median_s for a in kernels]
        for _ in range(2)
    ]
    return median([abs(x / y - 1) for x, y in zip(*runs, strict=True)])


if __name__ == "__main__":
    main()
