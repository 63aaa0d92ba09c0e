"""Families of published runs that laws are tested on, read from the shared data folder."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.scaling.runs import Runs

SHARED = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "scaling"
LARGEST_SHARE = 0.25  # of a family's runs, by compute, that are held out as its largest


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Runs of one recipe and the split into smaller runs and largest."""

    name: str
    group: str  # the publication: olmo, steplaw, gadre, muennighoff, epoch
    runs: Runs
    held_out: np.ndarray[tuple[int], np.dtype[np.bool_]]  # shape (runs,), True for the largest


def families(folder: Path = SHARED) -> list[Family]:
    """Every family, each with its largest quarter by compute held out (Epoch: 1e20 FLOP and up)."""
    epoch = _runs(_rows(folder / "epoch_chinchilla_svg_extracted.csv"), "Model Size", None, "loss")
    epoch = epoch.without_largest_losses(5)
    found = [
        Family(name="epoch", group="epoch", runs=epoch, held_out=epoch.flops >= 1e20),
    ]
    olmo = _rows(folder / "olmo_ladder_finals.csv")
    found += [
        _family(f"olmo {loss}", "olmo", _runs(olmo, "N_nominal", "D_20xN", loss))
        for loss in ("c4_loss", "pile_loss")
    ]
    steplaw = _rows(folder / "steplaw_dense_best_per_ND.csv")
    found.append(_family("steplaw", "steplaw", _runs(steplaw, "N", "D", "L")))
    gadre = _rows(folder / "gadre2024_runs.csv")
    for dataset in ("c4_original", "rpj", "rw_original"):
        rows = [row for row in gadre if row["dataset"] == dataset]
        found.append(_family(f"gadre {dataset}", "gadre", _runs(rows, "N", "D", "loss_c4_val")))
    rows = _rows(folder / "muennighoff2023_datablations_runs.csv")
    once = [row for row in rows if float(row["epochs"]) <= 1]
    found.append(_family("muennighoff", "muennighoff", _runs(once, "N", "D", "val_loss")))
    return found


def _family(name: str, group: str, runs: Runs) -> Family:
    threshold = np.quantile(runs.flops, 1 - LARGEST_SHARE)
    return Family(name=name, group=group, runs=runs, held_out=runs.flops > threshold)


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def _runs(rows: list[dict[str, str]], params: str, tokens: str | None, loss: str) -> Runs:
    sizes = np.array([float(row[params]) for row in rows])
    if tokens is None:
        data = np.array([float(row["Training FLOP"]) for row in rows]) / 6 / sizes
    else:
        data = np.array([float(row[tokens]) for row in rows])
    losses = np.array([float(row[loss]) for row in rows])
    return Runs(params=sizes, tokens=data, losses=losses)
