"""How far a quick profile errs on products that it never saw.

`python -m benchmarks.profile_left_out --profile FILE [--threads N]`: measures products of random
layer-like sizes now, predicts them from the profile, and prints the errors by format, beside the
error of leaving out the profile's own shapes in turn. Wants a quiet machine, the profile's threads.
"""

from __future__ import annotations

import argparse
import random

from planner.profile_device.figures import read_figures
from planner.profile_device.quality import left_out
from profiles.device import open_device
from profiles.kernels.gemm import gemm
from profiles.statistics import median, quantile
from profiles.timing import Limits, time_kernel

WIDTHS = (256, 320, 384, 512, 640, 768, 1024, 1280, 1536, 2048, 3072)
TOKENS = (64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)
SHAPES = 30
LARGEST = 4e9  # FLOP


def main() -> None:
    """Prints median and 90th percentile of the errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, help="profile file of this machine")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    arguments = parser.parse_args()
    device = open_device("cpu")
    device.torch.set_num_threads(arguments.threads)
    device.clock = arguments.clock
    figures = read_figures(arguments.profile)
    own = left_out(figures)
    for number_format in ("fp32", "bf16"):
        curve = figures.product(number_format)
        draw = random.Random(number_format)
        errors: list[float] = []
        while len(errors) < SHAPES:
            m, n, k = draw.choice(TOKENS), draw.choice(WIDTHS), draw.choice(WIDTHS)
            if 2.0 * m * n * k > LARGEST or bool(curve.measured(m, n, k)):
                continue
            call = gemm(m, n, k, number_format).make(device).call
            limits = Limits(seconds=0.15, warmup_most_seconds=0.1)
            real = time_kernel(call, device, limits=limits).median_s
            errors.append(abs(float(curve.seconds(m, n, k)) / real - 1))
        row = own.get(number_format)
        told = f", its own left out {100 * row['median']:.1f} %" if row else ""
        print(
            f"{number_format}: {SHAPES} new shapes, median error {100 * median(errors):.1f} %, "
            f"p90 {100 * quantile(errors, 0.9):.1f} %{told}"
        )


if __name__ == "__main__":
    main()
