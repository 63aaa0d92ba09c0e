"""Planned against really measured training steps on this machine.

`python -m benchmarks.profile_steps --profile FILE [--write]`: plans plain transformers as
`forerun plan --profile FILE` does, trains them for a few steps, and prints both with the error.
Before and after each model a few of the profile's own kernels are timed again, products and traffic
apart: the machine's pace against the time of the profile, by which the measured step is divided,
since other work on the machine slows both. `--write` keeps the deviation of steps from their
plans, which the intervals of profiled plans rest on. Use the profile's own threads and clock.
Each model trains in a process of its own, as a user's does: what its allocator keeps depends on
what came before.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

from planner import Run, plan
from planner.engine.model import Block, Matrix, Model
from planner.planning.measured import curve_sigma
from planner.planning.outline import outline
from planner.planning.result import Plan
from planner.planning.scenario import scenario
from planner.profile_device.quality import FILE
from profiles.catalogue import kernels
from profiles.device import Device, open_device
from profiles.kernels.kernel import Kernel
from profiles.step import StepMeasurement, measure_step
from profiles.timing import Limits, time_kernel
from profiles.training import transformer_step
from profiles.transformer import Dimensions, make_model

SIZES = {
    "tiny": Dimensions(
        layers=4, hidden=256, heads=4, kv_heads=4, head_dim=64, ffn_hidden=1024, vocab=8192
    ),
    "small": Dimensions(
        layers=6, hidden=512, heads=8, kv_heads=8, head_dim=64, ffn_hidden=2048, vocab=8192
    ),
    "gated": Dimensions(
        layers=4,
        hidden=768,
        heads=12,
        kv_heads=4,
        head_dim=64,
        ffn_hidden=2048,
        gated=True,
        vocab=8192,
        tied=False,
    ),
}
SEQ_LEN = 256
WARM_STEPS = 4


def model_of(name: str, d: Dimensions) -> Model:
    """The engine's description of the same module."""
    query, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    up = Matrix(name="up", role="ffn", inputs=d.hidden, outputs=(1 + d.gated) * d.ffn_hidden)
    down = Matrix(name="down", role="ffn", inputs=d.ffn_hidden, outputs=d.hidden)
    qkv = Matrix(name="qkv", role="attention", inputs=d.hidden, outputs=query + 2 * keys)
    out = Matrix(name="out", role="attention", inputs=query, outputs=d.hidden)
    norms = d.hidden if d.gated else 2 * d.hidden
    block = Block(
        count=d.layers,
        heads=d.heads,
        kv_heads=d.kv_heads,
        head_dim=d.head_dim,
        v_head_dim=d.head_dim,
        ffn_hidden=d.ffn_hidden,
        gated=d.gated,
        attention_params=qkv.params + out.params,
        ffn_params=up.params + down.params,
        norm_params=2 * norms,
        matrices=(qkv, out, up, down),
    )
    return Model(
        name=name,
        family="llama" if d.gated else "gpt2",
        kind="decoder",
        hidden=d.hidden,
        vocab=d.vocab,
        blocks=(block,),
        input_embedding_params=d.vocab * d.hidden,
        head_params=0 if d.tied else d.vocab * d.hidden,
        final_params=norms,
        tied=d.tied,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One model under one batch and format."""

    name: str
    micro_batch: int
    precision: str

    @property
    def dimensions(self) -> Dimensions:
        return SIZES[self.name]

    def run(self, profile: str) -> Run:
        """The run whose plan is asked for."""
        return Run(model=self.name).changed(
            {
                "data.tokens": 10**7,
                "data.seq_len": SEQ_LEN,
                "hardware.profile": profile,
                "training.precision": self.precision,
                "training.micro_batch": self.micro_batch,
                "training.accumulation": 1,
                "training.stack": "hf-trainer",
                "training.loss": "eager",
            }
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A plan and what was measured, the time at the pace of the profile."""

    case: Case
    plan: Plan
    real: StepMeasurement
    pace: float  # of the machine, time now over time of the profile
    curves: float  # standard deviation of the logarithm that the curves are known to err by

    @property
    def seconds(self) -> float:
        """Measured, with what a plan adds for a loader and logging, which the bare loop lacks."""
        return self.real.step_s / self.pace + self.plan.step.parts["overhead"]

    @property
    def log_error(self) -> float:
        return math.log(self.plan.step.seconds / self.seconds)

    @property
    def inside(self) -> bool:
        return self.plan.step.low <= self.seconds <= self.plan.step.high

    @property
    def tensor_bytes(self) -> float:
        """Planned peak of the tensors alone: what counting tensors on a CPU sees."""
        parts = self.plan.memory.parts
        return self.plan.memory.peak_bytes - parts["reserve"] - parts["context"]


def cases() -> list[Case]:
    return [
        Case(name=name, micro_batch=micro_batch, precision=precision)
        for name, micro_batch, precision in product(SIZES, (1, 4), ("fp32", "bf16"))
    ]


def compared(case: Case, profile: str, device: Device, seconds: float) -> Compared:
    """Plan the case and measure it between two looks at the machine's pace."""
    model = model_of(case.name, case.dimensions)
    found = plan(case.run(profile), model=model)
    bones = outline(scenario(case.run(profile), model=model))
    assert bones.measured is not None
    before = pace(profile, device, found)
    real = in_fresh_process(measured, case, device, seconds)
    after = pace(profile, device, found)
    share = bones.measured.curves / bones.measured.total
    error = curve_sigma(bones.scenario, bones.measured.device)
    return Compared(
        case=case,
        plan=found,
        real=real,
        pace=math.sqrt(before * after),
        curves=share * (error or 0.0),
    )


def in_fresh_process(
    measure: Callable[[Any, Device, float], StepMeasurement],
    case: Any,
    device: Device,
    seconds: float,
) -> StepMeasurement:
    """`measure(case, device, seconds)` in a new process, with the same threads and clock."""
    begun = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=1, mp_context=begun) as pool:
        threads = device.torch.get_num_threads()
        return pool.submit(_measured_there, measure, case, device.clock, threads, seconds).result()


def _measured_there(
    measure: Callable[[Any, Device, float], StepMeasurement],
    case: Any,
    clock: str,
    threads: int,
    seconds: float,
) -> StepMeasurement:
    device = open_device("cpu")
    device.torch.set_num_threads(threads)
    device.clock = clock
    return measure(case, device, seconds)


def measured(case: Case, device: Device, seconds: float) -> StepMeasurement:
    step = transformer_step(
        make_model(case.dimensions),
        device,
        vocab=case.dimensions.vocab,
        micro_batch=case.micro_batch,
        seq_len=SEQ_LEN,
        precision=case.precision,
    )
    for _ in range(WARM_STEPS):  # an allocator keeps what it once had only after some steps
        step()
    found = measure_step(step, device=device, steps=5, seconds=seconds)
    del step
    gc.collect()
    return found


def pace(profile: str, device: Device, found: Plan) -> float:
    """Time now over time of the profile, of a few of its kernels, as the plan weighs them."""
    known = _profiled_seconds(profile)
    ratios: dict[str, list[float]] = {"products": [], "traffic": []}
    for kernel in kernels(device, "quick"):
        kind = _kind(kernel, str(found.chosen["precision"]))
        then = known.get((kernel.name, kernel.format, _sizes(kernel.shape)))
        if kind and then and kernel.mode == "steady":
            limits = Limits(seconds=0.2, warmup_most_seconds=0.1)
            now = time_kernel(kernel.make(device).call, device, limits=limits).median_s
            ratios[kind].append(now / then)
    parts = found.step.parts
    computed = sum(parts[name] for name in ("matmul", "attention", "output_layer"))
    share = computed / (found.step.seconds - parts["overhead"])
    return share * median(ratios["products"]) + (1 - share) * median(ratios["traffic"])


def _kind(kernel: Kernel, number_format: str) -> str | None:
    """Products as large as those of the models' layers; traffic of the larger sizes."""
    if kernel.format == number_format and kernel.name == "gemm" and 3e8 < kernel.flops < 7e8:
        return "products"
    large = kernel.format == "fp32" and kernel.bytes > 2e7
    return "traffic" if large and kernel.name in ("add", "gelu_backward") else None


def _profiled_seconds(profile: str) -> dict[Any, float]:
    with open(profile, encoding="utf-8") as file:
        rows = json.load(file)["results"]
    return {
        (row["kernel"], row["format"], _sizes(row["shape"])): row["median_s"]
        for row in rows
        if row["mode"] == "steady"
    }


def _sizes(shape: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(sorted(shape.items()))


def show(row: Compared) -> None:
    """One line: times, error, whether the interval holds it, peaks, phases, parts."""
    case, step, phases = row.case, row.plan.step, row.real.phases
    parts = ", ".join(f"{part} {1e3 * s:.3g}" for part, s in step.parts.items() if s > 0)
    real = ""
    if phases:
        timed = (phases.forward_s, phases.backward_s, phases.update_s)
        real = " ".join(f"{word} {1e3 * s:.3g}" for word, s in zip("fbu", timed, strict=True))
    print(
        f"{case.name:6} {case.micro_batch:5} {case.precision:>6} {row.pace:5.2f} "
        f"{1e3 * row.seconds:6.0f} ms {1e3 * step.seconds:6.0f} ms "
        f"{100 * math.expm1(row.log_error):+6.1f} % {'inside' if row.inside else 'OUTSIDE':>7}  "
        f"peak {row.real.peak_bytes / 2**20:.0f}/{row.tensor_bytes / 2**20:.0f} MiB  "
        f"{real} | {parts}",
        flush=True,
    )


def kept(row: Compared) -> dict[str, Any]:
    """What the summary needs of a row, to be kept in a file."""
    return {
        "model": row.case.name,
        "micro_batch": row.case.micro_batch,
        "precision": row.case.precision,
        "device": row.plan.chosen["sku"],
        "log_error": row.log_error,
        "curves": row.curves,
        "inside": row.inside,
        "peak_error": abs(row.tensor_bytes / row.real.peak_bytes - 1),
    }


def step_sigma(rows: list[dict[str, Any]]) -> float:
    """Standard deviation of the logarithm of plan over step, beyond what the curves explain."""
    squares = [row["log_error"] ** 2 - row["curves"] ** 2 for row in rows]
    return math.sqrt(max(sum(squares) / len(squares), 0.0))


def summary(rows: list[dict[str, Any]]) -> None:
    errors = [abs(math.expm1(row["log_error"])) for row in rows]
    inside = sum(row["inside"] for row in rows)
    said = f"median error of the time {100 * median(errors):.1f} %"
    print(f"{said}, largest {100 * max(errors):.1f} %")
    print(f"{inside} of {len(rows)} inside the interval that is to hold 80 %")
    print(f"median error of the peak {100 * median(row['peak_error'] for row in rows):.1f} %")
    print(f"deviation beyond the curves {step_sigma(rows):.3f}")


def write(rows: list[dict[str, Any]], arguments: argparse.Namespace) -> None:
    """Keep the deviation with its origin."""
    origin = {
        "command": "python -m benchmarks.profile_steps --write",
        "date": datetime.now(UTC).date().isoformat(),
        "device": rows[0]["device"],
        "threads": arguments.threads,
        "clock": arguments.clock,
        "steps": len(rows),
        "of": sorted({row["model"] for row in rows}),
    }
    meaning = (
        "standard deviation of the logarithm by which a training step deviates from its plan by "
        "profile, beyond what the curves through products err by"
    )
    found = {"sigma": round(step_sigma(rows), 4), "meaning": meaning, "measured": origin}
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Prints one row per model, batch and format."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", required=True, help="profile file of this machine")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--clock", choices=("wall", "cpu"), default="wall")
    parser.add_argument("--seconds", type=float, default=10.0, help="of one model's steps")
    parser.add_argument("--models", default=",".join(SIZES), help="to measure (all)")
    parser.add_argument("--rows", metavar="FILE", help="keep rows there, go on with those in it")
    parser.add_argument("--write", action="store_true", help="keep the deviation for intervals")
    arguments = parser.parse_args()
    device = open_device("cpu")
    device.torch.set_num_threads(arguments.threads)
    device.clock = arguments.clock
    print("model  batch format  pace  measured   planned    error 80 %")
    rows = _kept_rows(arguments.rows)
    done = {(row["model"], row["micro_batch"], row["precision"]) for row in rows}
    for case in cases():
        key = (case.name, case.micro_batch, case.precision)
        if case.name in arguments.models.split(",") and key not in done:
            found = compared(case, arguments.profile, device, arguments.seconds)
            show(found)
            rows.append(kept(found))
            if arguments.rows:
                Path(arguments.rows).write_text(json.dumps(rows), encoding="utf-8")
    summary(rows)
    if arguments.write:
        write(rows, arguments)


def _kept_rows(path: str | None) -> list[dict[str, Any]]:
    if path is None or not Path(path).exists():
        return []
    rows: list[dict[str, Any]] = json.loads(Path(path).read_text(encoding="utf-8"))
    return rows


if __name__ == "__main__":
    main()
