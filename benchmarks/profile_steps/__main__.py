"""Planned against really measured training steps on this machine.

`python -m benchmarks.profile_steps --profile FILE [--write]`: plans three transformers, ResNet-50,
a U-Net and an MLP as `forerun plan --profile FILE` does, each at two batches and in two formats,
trains them for a few steps, and prints both with the error. Before and after each, a few of the
profile's own kernels are timed again, products and traffic apart: the machine's pace against the
time of the profile, by which the measured step is divided, since other work on the machine slows
both. `--write` keeps the deviation of steps from their plans, which the intervals of profiled plans
rest on. Use the profile's own threads and clock. Each model trains in a process of its own, as a
user's does: what its allocator keeps depends on what came before.
"""

from __future__ import annotations

import argparse
import json
import math
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.profile_steps import modules, transformers
from benchmarks.profile_steps.compare import Case, Compared, compared
from planner.profile_device.quality import FILE
from profiles.device import open_device

CASES: list[Case] = [*transformers.CASES, *modules.CASES]


def show(row: Compared) -> None:
    """One line: times, error, whether the interval holds it, peaks, phases, parts."""
    case, step, phases = row.case, row.plan.step, row.real.phases
    parts = ", ".join(f"{part} {1e3 * s:.3g}" for part, s in step.parts.items() if s > 0)
    real = ""
    if phases:
        timed = (phases.forward_s, phases.backward_s, phases.update_s)
        real = " ".join(f"{word} {1e3 * s:.3g}" for word, s in zip("fbu", timed, strict=True))
    print(
        f"{case.name:8} {case.micro_batch:5} {case.precision:>6} {row.pace:5.2f} "
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
    for name in dict.fromkeys(row["model"] for row in rows):
        own = [abs(math.expm1(row["log_error"])) for row in rows if row["model"] == name]
        print(f"  {name:8} {100 * median(own):.1f} %")
    print(f"{inside} of {len(rows)} inside the interval that is to hold 80 %")
    peaks = [row["peak_error"] for row in rows]
    close = sum(each <= 0.1 for each in peaks)
    print(
        f"median error of the peak {100 * median(peaks):.1f} %, largest {100 * max(peaks):.1f} %, "
        f"{close} of {len(rows)} within 10 %"
    )
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
    parser.add_argument(
        "--models",
        default=",".join(dict.fromkeys(each.name for each in CASES)),
        help="to measure (all)",
    )
    parser.add_argument("--rows", metavar="FILE", help="keep rows there, go on with those in it")
    parser.add_argument("--write", action="store_true", help="keep the deviation for intervals")
    arguments = parser.parse_args()
    device = open_device("cpu")
    device.torch.set_num_threads(arguments.threads)
    device.clock = arguments.clock
    print("model    batch format  pace  measured   planned    error 80 %")
    rows = _kept_rows(arguments.rows)
    done = {(row["model"], row["micro_batch"], row["precision"]) for row in rows}
    for case in CASES:
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
