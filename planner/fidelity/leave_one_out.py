"""Constants refitted without each source, kept in a file so that validation takes a second.

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

Progress = Callable[[int, int], None]


def left_out_constants(rows: TimeRows, progress: Progress | None = None) -> dict[str, Constants]:
    """The constants of each source's fit without it; read from the file where it is valid."""
    stored = read(rows)
    return refit(rows, progress) if stored is None else stored


def refit(rows: TimeRows, progress: Progress | None = None) -> dict[str, Constants]:
    """Fit once without each source."""
    names = sorted(set(rows.groups.tolist()))
    found = {}
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names))
        found[name] = fit(rows, leave_out=name).constants
    return found


def fingerprint(rows: TimeRows) -> str:
    """Of everything a fit depends on: the priors, the rows, and the engine's answers to them."""
    answers = predict(rows, prior_constants())
    numbers = np.concatenate([rows.actual, answers])
    digest = hashlib.sha256(PRIORS.read_bytes())
    digest.update(",".join(f"{number:.6g}" for number in numbers).encode())
    digest.update(",".join(each.id for each in rows.cases).encode())
    return digest.hexdigest()[:16]


def read(rows: TimeRows, path: Path = FILE) -> dict[str, Constants] | None:
    """The stored constants, None where they belong to another table or engine."""
    if not path.exists():
        return None
    stored = json.loads(path.read_text(encoding="utf-8"))
    if stored["fingerprint"] != fingerprint(rows):
        return None
    return {name: Constants(**values) for name, values in stored["constants"].items()}


def write(rows: TimeRows, found: dict[str, Constants], path: Path = FILE) -> None:
    """Store the constants with their fingerprint."""
    table = {name: asdict(each) for name, each in found.items()}
    text = json.dumps({"fingerprint": fingerprint(rows), "constants": table}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")
