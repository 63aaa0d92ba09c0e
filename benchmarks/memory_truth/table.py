"""The committed table: one row per case, its settings and what the trace measured."""

from __future__ import annotations

import csv
from dataclasses import astuple, fields
from pathlib import Path

from benchmarks.memory_truth.case import COLUMNS, Case

PATH = Path(__file__).resolve().parents[2] / "planner" / "fidelity" / "data" / "traced_memory.csv"
TOOL = "live storages under FakeTensorMode"


def write(path: Path, cases: list[Case]) -> None:
    """Trace every case and write the table, a line of progress each."""
    import torch

    from benchmarks.memory_truth.trace import Traced, trace

    measured = [field.name for field in fields(Traced)]
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow([*COLUMNS, *measured, "tool", "torch_version"])
        for number, case in enumerate(cases, start=1):
            row = trace(case)
            print(f"{number}/{len(cases)} {case.id}: {row.peak_bytes / 2**20:,.0f} MiB", flush=True)
            version = torch.__version__.split("+")[0]
            writer.writerow([*astuple(case), *astuple(row), TOOL, version])


def read(path: Path = PATH) -> list[tuple[Case, dict[str, int | str]]]:
    """Cases with their measured columns; bytes as integers."""
    with path.open(newline="") as file:
        return [(case_of(row), _measured(row)) for row in csv.DictReader(file)]


def case_of(row: dict[str, str]) -> Case:
    """The case that a row of the table states."""
    return Case(**{f.name: _typed(str(f.type), row[f.name]) for f in fields(Case)})


def _typed(kind: str, text: str) -> object:
    if kind == "bool":
        return text == "True"
    return {"int": int, "float": float, "str": str}[kind](text)


def _measured(row: dict[str, str]) -> dict[str, int | str]:
    names = [name for name in row if name not in COLUMNS]
    return {name: int(row[name]) if row[name].isdigit() else row[name] for name in names}
