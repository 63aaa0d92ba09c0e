"""Published splits of compute between parameters and tokens that state no loss."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from planner.errors import PlannerError
from planner.scaling.forms import FloatArray


@dataclass(frozen=True, slots=True, kw_only=True)
class Split:
    """Optimal parameters and tokens as curves of training FLOP, straight in log-log pieces."""

    name: str
    title: str
    log_flops: FloatArray  # natural log, increasing, shape (knots,)
    log_params: FloatArray  # shape (knots,)
    log_tokens: FloatArray  # shape (knots,)
    counts: str  # which parameters: laws.CONVENTIONS
    flops: tuple[float, float]  # range of the study
    data: str
    source: str
    read: str
    traps: tuple[str, ...]

    def at(self, flops: float) -> tuple[float, float]:
        """Parameters and tokens for `flops` of training.

        >>> params, tokens = split("hoffmann2022-a1").at(1.212e20)
        >>> f"{params:.3g} {tokens:.3g}"
        '1e+09 2.02e+10'
        """
        if not (np.isfinite(flops) and flops > 0):
            raise PlannerError("flops", flops, "must be a positive number")
        place = float(np.log(flops))
        piece = int(np.clip(np.searchsorted(self.log_flops, place) - 1, 0, len(self.log_flops) - 2))
        share = (place - self.log_flops[piece]) / np.diff(self.log_flops)[piece]
        params, tokens = (
            float(np.exp(curve[piece] + share * np.diff(curve)[piece]))
            for curve in (self.log_params, self.log_tokens)
        )
        return params, tokens

    def warnings(self, flops: float) -> list[str]:
        """Where the question leaves the study's range, and the split's known traps."""
        low, high = self.flops
        outside = f"flops {flops:.3g} is outside the range of {self.name}, {low:.3g} to {high:.3g}"
        return [*([] if low <= flops <= high else [outside]), *self.traps]


def split(name: str) -> Split:
    """The allocation called `name`; KeyError when there is none (callers check the names)."""
    return _splits()[name]


def allocation_names() -> list[str]:
    """Names of the allocations that state no loss."""
    return list(_splits())


@cache
def _splits() -> dict[str, Split]:
    text = (resources.files("planner.scaling") / "data" / "allocations.toml").read_text("utf-8")
    return {name: _split(name, row) for name, row in tomllib.loads(text).items()}


def _split(name: str, row: dict[str, Any]) -> Split:
    if row["form"] == "points":
        params, tokens = np.array(row["points"], dtype=np.float64).T
        flops = 6 * params * tokens
    else:
        flops = np.array([1e15, 1e30])  # two knots make one straight line
        params, tokens = row["n"] * flops ** row["a"], row["d"] * flops ** row["b"]
    return Split(
        name=name,
        title=row["title"],
        log_flops=np.log(flops),
        log_params=np.log(params),
        log_tokens=np.log(tokens),
        counts=row["counts"],
        flops=(row["flops"][0], row["flops"][1]),
        data=row["data"],
        source=row["source"],
        read=row["read"],
        traps=tuple(row["traps"]),
    )
