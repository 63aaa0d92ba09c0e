"""Traced modules planned by this machine's profile against really measured training steps.

`python -m benchmarks.profile_modules --profile FILE`: plans ResNet-50, a U-Net and an MLP as
`forerun plan --model FILE.py:function --profile FILE` does, trains them for a few steps, and
prints both, at the machine's pace as `benchmarks.profile_steps` takes it. Use the profile's own
threads and clock.
"""

from __future__ import annotations

import argparse
import gc
import math
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.profile_steps import WARM_STEPS, in_fresh_process, pace
from planner import Run, plan
from profiles.device import Device, open_device
from profiles.modules import make_module, module_step
from profiles.step import StepMeasurement, measure_step

ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One module under one batch and format."""

    file: str
    input_shape: tuple[int, ...]
    micro_batch: int
    precision: str

    def run(self, profile: str) -> Run:
        return Run(model=str(ROOT / self.file)).changed(
            {
                "data.samples": 10**6,
                "data.input_shape": ",".join(map(str, self.input_shape)),
                "hardware.profile": profile,
                "training.precision": self.precision,
                "training.micro_batch": self.micro_batch,
                "training.accumulation": 1,
            }
        )


CASES = [
    Case(file=file, input_shape=shape, micro_batch=size, precision=word)
    for file, shape, sizes in (
        ("planner/tracing/resnet.py:resnet50", (3, 224, 224), (1, 4)),
        ("examples/modules.py:unet", (3, 128, 128), (1, 4)),
        ("examples/modules.py:mlp", (784,), (64, 256)),
    )
    for size in sizes
    for word in ("fp32", "bf16")
]


def measured(case: Case, device: Device, seconds: float) -> StepMeasurement:
    step = module_step(
        make_module(str(ROOT / case.file)),
        device,
        micro_batch=case.micro_batch,
        input_shape=case.input_shape,
        precision=case.precision,
        optimizer="adamw",
        compile="none",
    )
    for _ in range(WARM_STEPS):
        step()
    found = measure_step(step, device=device, steps=5, seconds=seconds)
    del step
    gc.collect()
    return found


def main() -> None:
    """Prints one row per module and format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, help="profile file of this machine")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--seconds", type=float, default=10.0, help="of one module's steps")
    arguments = parser.parse_args()
    device = open_device("cpu")
    device.torch.set_num_threads(arguments.threads)
    device.clock = arguments.clock
    errors = []
    print("module   batch format  pace  measured   planned    error 80 %     peak MiB")
    for case in CASES:
        found = plan(case.run(arguments.profile))
        before = pace(arguments.profile, device, found)
        real = in_fresh_process(measured, case, device, arguments.seconds)
        now = math.sqrt(before * pace(arguments.profile, device, found))
        seconds = real.step_s / now + found.step.parts["overhead"]
        errors.append(abs(found.step.seconds / seconds - 1))
        inside = "inside" if found.step.low <= seconds <= found.step.high else "OUTSIDE"
        parts = found.memory.parts
        tensors = (found.memory.peak_bytes - parts["reserve"] - parts["context"]) / 2**20
        print(
            f"{case.file.rpartition(':')[2]:8} {case.micro_batch:5} {case.precision:>6} {now:5.2f} "
            f"{1e3 * seconds:6.0f} ms {1e3 * found.step.seconds:6.0f} ms "
            f"{100 * (found.step.seconds / seconds - 1):+6.1f} % "
            f"{inside:>7}  {real.peak_bytes / 2**20:.0f} measured, {tensors:.0f} planned",
            flush=True,
        )
    largest = 100 * max(errors)
    print(f"median error of the time {100 * median(errors):.1f} %, largest {largest:.1f} %")


if __name__ == "__main__":
    main()
