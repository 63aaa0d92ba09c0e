"""Totals of whole training runs: device-hours that somebody reported for a number of tokens."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import hardware_db
from planner.errors import PlannerError
from planner.fidelity.case import Case
from planner.fidelity.infer import case_of
from planner.fidelity.table import Row

_DATA = Path(__file__).parent / "data"
TOTALS = _DATA / "gpu_hours.csv"
SETTINGS = _DATA / "whole_run_settings.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """One run from first to last step, with the configuration that its makers document.

    Reported hours hold what the configuration does not: failures, evaluation, idle devices.
    """

    id: str
    source: str
    case: Case  # configuration of one step, nothing measured
    tokens: float  # trained on
    device_hours: float  # reported
    wall_days: float | None  # reported
    confidence: str  # of the settings: high medium low
    settings_source: str
    note: str

    @property
    def steps(self) -> float:
        """Optimizer steps of the run."""
        return self.tokens / self.case.configuration.tokens_per_step

    @property
    def seconds_per_step(self) -> float:
        """What the reported hours make of one step, everything included."""
        devices = self.case.configuration.num_devices
        return self.device_hours * 3600 / devices / self.steps


def load_whole_runs(totals: Path | str = TOTALS, settings: Path | str = SETTINGS) -> list[WholeRun]:
    """Every total whose settings are known, in the order of the table.

    Raises PlannerError when a total has no row of settings: it could not be planned.
    """
    known = {row["id"]: row for row in _read(Path(settings))}
    runs: list[WholeRun] = []
    for line, total in enumerate(_read(Path(totals)), start=2):
        if total["id"] not in known:
            raise PlannerError("id", total["id"], f"has no settings in {Path(settings).name}")
        runs.append(_whole_run(line, total, known[total["id"]]))
    return runs


def _read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _whole_run(line: int, total: dict[str, str], settings: dict[str, str]) -> WholeRun:
    values = {
        **settings,
        "gpu": total["gpu"],
        "sku_id": hardware_db.resolve(total["gpu"]).sku_id,
        "year": total["year"],
        "task": "pretrain",
        "source_repo_or_paper": total["source"],
    }
    return WholeRun(
        id=total["id"],
        source=total["source"],
        case=case_of(Row(line=line, values=values))[0],
        tokens=float(total["total_tokens_b"]) * 1e9,
        device_hours=float(total["gpu_hours"]),
        wall_days=float(total["wall_days"]) if total["wall_days"] else None,
        confidence=settings["confidence"],
        settings_source=settings["settings_source"],
        note=total["notes"],
    )
