"""How far a profile errs on an accelerator that it was not measured on: every pair of five GPUs.

`python -m benchmarks.profile_transfer [--table FILE] [--write]`: takes FP32 products that others
measured on five GPUs, makes a profile of forty of them on one, carries it over to each other one,
and compares with what was measured there. Prints median error, bias, and how many products the
interval of a plan would hold. Beside it: the same profile on further products of its own GPU.
`--write` keeps the deviation of the pairs' biases, which the intervals of carried-over profiles
rest on.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import random
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from statistics import median

import hardware_db
from planner.planning.intervals import Z80
from planner.profile_device.figures import Figures, figures_from
from planner.profile_device.quality import left_out_of, sigma_of
from planner.profile_device.reader import Measured, Recorded
from planner.profile_device.transfer import FILE, transferred

TABLE = Path(__file__).resolve().parents[2] / "shared" / "data" / "precision" / "gemm.csv"
SKUS = {  # as the table writes them: NeuSight's measurements (Lee et al. 2025)
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA A100-PCIE-40GB": "a100-pcie-40gb",
    "Tesla P100-PCIE-16GB": "p100-pcie-16gb",
    "Tesla V100-PCIE-32GB": "v100-pcie-32gb",
    "Tesla T4": "t4",
}
SHAPES, SEED = 40, 20_261


def rows_of(path: Path) -> dict[str, list[Measured]]:
    """FP32 products by accelerator, in one order of shapes."""
    found: dict[str, dict[tuple[int, int, int], Measured]] = {sku: {} for sku in SKUS.values()}
    with path.open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            sku = SKUS.get(row["gpu"])
            if sku and row["op"] == "linear" and row["precision"] == "fp32":
                m, n, k = (int(row[name]) for name in "mnk")
                found[sku][m, n, k] = product(m, n, k, float(row["latency_ms"]) / 1e3)
    return {sku: [rows[key] for key in sorted(rows)] for sku, rows in found.items()}


def product(m: int, n: int, k: int, seconds: float) -> Measured:
    return Measured(
        kernel="gemm",
        format="fp32",
        mode="steady",
        shape={"m": m, "n": n, "k": k},
        seconds=seconds,
        flops=2.0 * m * n * k,
        bytes=4.0 * (m * k + k * n + m * n),
        doubtful=False,
    )


def figures_of(sku: str, rows: Sequence[Measured]) -> Figures:
    return figures_from(
        Recorded(
            device_name=sku,
            kind="cuda",
            sku_id=sku,
            memory_bytes=None,
            threads=None,
            created="",
            complete=True,
            results=tuple(rows),
        )
    )


def errors(figures: Figures, rows: Sequence[Measured]) -> list[float]:
    """Logarithm of predicted over measured."""
    curve = figures.product("fp32")
    found = []
    for row in rows:
        m, n, k = (float(row.shape[name]) for name in "mnk")
        found.append(math.log(float(curve.seconds(m, n, k)) / row.seconds))
    return found


def line(words: str, found: Sequence[float], sigma: float) -> str:
    inside = sum(abs(each) <= Z80 * sigma for each in found) / len(found)
    return (
        f"{words:34} median error {100 * median(abs(math.expm1(e)) for e in found):5.1f} %  "
        f"bias {100 * math.expm1(median(found)):+6.1f} %  inside 80 %: {100 * inside:3.0f} %"
    )


def holding(found: Sequence[float]) -> float:
    """The deviation whose 80 % interval holds 80 % of the errors: their tails are not normal's."""
    ordered = sorted(abs(each) for each in found)
    return ordered[math.ceil(0.8 * len(ordered)) - 1] / Z80


def write(sigma: float, skus: list[str]) -> None:
    """Keep the deviation with its origin."""
    found = {
        "sigma": round(sigma, 4),
        "meaning": "standard deviation of the logarithm by which a profile that is carried over to "
        "another accelerator of the vendor errs: its 80 % interval holds 80 % of the errors",
        "measured": {
            "command": "python -m benchmarks.profile_transfer --write",
            "date": datetime.now(UTC).date().isoformat(),
            "table": "FP32 products measured by NeuSight (sitar-lab/NeuSight@6945927d9a)",
            "pairs": len(skus) * (len(skus) - 1),
            "accelerators": skus,
        },
    }
    FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """Prints a line for each pair, and over all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, default=TABLE, help="measured products")
    parser.add_argument("--write", action="store_true", help="keep the deviation for intervals")
    arguments = parser.parse_args()
    tables = rows_of(arguments.table)
    own, other, inside = [], [], []
    biases = []
    for source, rows in tables.items():
        drawn = set(random.Random(SEED).sample(range(len(rows)), SHAPES))
        figures = figures_of(source, [rows[i] for i in sorted(drawn)])
        row = left_out_of(figures, "fp32")
        assert row is not None
        mine = errors(figures, [each for i, each in enumerate(rows) if i not in drawn])
        own += mine
        print(line(source, mine, sigma_of(row)))
        for target in tables.keys() - {source}:
            parts = hardware_db.accelerator(source), hardware_db.accelerator(target)
            scaled, transfer = transferred(figures, *parts)
            theirs = errors(scaled, tables[target])
            sigma = math.hypot(sigma_of(row), transfer.sigma)
            other += theirs
            biases.append(median(theirs))
            inside += [abs(each) <= Z80 * sigma for each in theirs]
            print(line(f"  -> {target}", theirs, sigma))
    print(f"own GPU: median error {100 * median(abs(math.expm1(e)) for e in own):.1f} %")
    print(
        f"carried over: median error {100 * median(abs(math.expm1(e)) for e in other):.1f} %, "
        f"{100 * sum(inside) / len(inside):.0f} % inside the interval that is to hold 80 %"
    )
    spread = math.sqrt(sum(each**2 for each in biases) / len(biases))
    sigma = holding(other)
    print(
        f"deviation of the {len(biases)} pairs' biases {spread:.3f}; 80 % of errors in {sigma:.3f}"
    )
    if arguments.write:
        write(sigma, list(tables))


if __name__ == "__main__":
    main()
