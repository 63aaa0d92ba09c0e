"""Constants refitted without each source and without each accelerator, kept in a file.

The file is valid for the table, the priors and the engine that made it: their fingerprint is
stored beside the constants, and a different one means refitting (about a minute).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

import numpy as np

from planner.engine.constants import Constants
from planner.fidelity.fit import PRIORS, TimeRows, fit, predict, prior_constants

FILE = Path(__file__).parent / "data" / "leave_one_out.json"
SOURCES, ACCELERATORS = "sources", "accelerators"  # what is left out, one at a time

Progress = Callable[[int, int], None]
Found = dict[str, Constants]


def left_out_constants(rows: TimeRows, progress: Progress | None = None) -> Found:
    """The constants of each source's fit without it; read from the file where it is valid."""
    stored = read(rows)
    return refit(rows, SOURCES, progress) if stored is None else stored[SOURCES]


def left_out_accelerators(rows: TimeRows, progress: Progress | None = None) -> Found:
    """The constants fitted without each accelerator's rows."""
    stored = read(rows)
    return refit(rows, ACCELERATORS, progress) if stored is None else stored[ACCELERATORS]


def refit(rows: TimeRows, what: str, progress: Progress | None = None) -> Found:
    """Fit once without each source (or accelerator)."""
    labels = rows.groups if what == SOURCES else _skus(rows)
    names = sorted(set(labels.tolist()))
    found = {}
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        found[name] = fit(rows, leave_out=labels == name).constants
    return found


def _skus(rows: TimeRows) -> np.ndarray[tuple[int], np.dtype[np.str_]]:
    return np.array([case.configuration.sku for case in rows.cases])


def fingerprint(rows: TimeRows) -> str:
    """Of everything a fit depends on: the priors, the rows, and the engine's answers to them."""
    answers = predict(rows, prior_constants())
    numbers = np.concatenate([rows.actual, answers])
    digest = hashlib.sha256(PRIORS.read_bytes())
    digest.update(",".join(f"{number:.6g}" for number in numbers).encode())
    digest.update(",".join(each.id for each in rows.cases).encode())
    return digest.hexdigest()[:16]


def read(rows: TimeRows, path: Path = FILE) -> dict[str, Found] | None:
    """The stored constants by what was left out, None where they belong to another engine."""
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["fingerprint"] != fingerprint(rows):
        return None
    return {
        what: {name: Constants(**values) for name, values in stored[what].items()}
        for what in (SOURCES, ACCELERATORS)
    }


def write(rows: TimeRows, found: dict[str, Found], path: Path = FILE) -> None:
    """Store the constants with their fingerprint; `found` has SOURCES and ACCELERATORS."""
    tables = {
        what: {name: _rounded(each) for name, each in found[what].items()}
        for what in (SOURCES, ACCELERATORS)
    }
    text = json.dumps({"fingerprint": fingerprint(rows), **tables}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def _rounded(each: Constants) -> dict[str, float]:
    """Six digits: more would only tell one machine's arithmetic from another's."""
    return {name: float(f"{value:.6g}") for name, value in asdict(each).items()}
