"""The multi-power law of Luo et al. 2025 (arXiv:2503.12811), on rates divided by their peak and
losses divided by a loss of the run.

L(s) = L0 + A (S(s)/S_ref)^-alpha - D · sum_k (u_{k-1} - u_k) G(S(s) - S_k; u_k),
G(x; u) = 1 - (1 + C u^-gamma x)^-beta, where u is the share of the peak rate, S its sum over steps
(warm-up included), S_ref ten thousand steps. The sum runs over every change of the rate, rises of
the warm-up too: without them the published constants miss by 3 to 6 %.
"""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

import numpy as np

from planner.scaling.curves.schedule import Floats, Schedule

REFERENCE_STEPS = 1e4  # S_ref
NAMES = ("offset", "amplitude", "alpha", "decay", "memory", "beta", "gamma")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prior:
    """Means and standard deviations of the seven constants; the offset has no prior."""

    mean: Floats  # [7], in the order of NAMES; amplitude, decay and memory as logarithms
    deviation: Floats  # [7]


def losses(constants: Floats, schedule: Schedule, steps: Floats) -> Floats:
    """Relative loss at `steps` [n] under the schedule, for constants [7] in the order of NAMES."""
    offset, log_amplitude, alpha, log_decay, log_memory, beta, gamma = constants
    area = np.maximum(schedule.area(steps), 1e-9)
    changed_at, falls, area_before, rate_after = schedule.falls()
    since = np.maximum(area[:, None] - area_before, 0.0) * (steps[:, None] >= changed_at)
    forgotten = -np.expm1(-beta * np.log1p(math.exp(log_memory) * rate_after**-gamma * since))
    power = math.exp(log_amplitude) * (area / REFERENCE_STEPS) ** -alpha
    return np.asarray(offset + power - math.exp(log_decay) * (forgotten @ falls))


def published_prior(*, without: str | None = None, spread: str = "other-recipe") -> Prior:
    """The mean of the published sizes (one left out on request) with a named spread."""
    table = _table()
    rows = [_normalised(row) for size, row in table["sizes"].items() if size != without]
    deviations = [math.inf, *(table["spread"][spread][name] for name in NAMES[1:])]
    return Prior(mean=np.mean(rows, axis=0), deviation=np.array(deviations))


def observed_noise() -> tuple[float, int]:
    """Relative noise of an averaged loss, and how many points a dense log counts for."""
    noise = _table()["noise"]
    return float(noise["known"]), int(noise["points"])


def law_deviation(doublings: float, *, aware: bool) -> float:
    """Relative standard deviation of the law itself, that many doublings of steps ahead."""
    interval = _table()["interval"]["schedule-known" if aware else "schedule-unknown"]
    return float(interval["law_base"] + interval["law_per_doubling"] * doublings)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(
        resources.files("planner.scaling.curves").joinpath("priors.toml").read_text("utf-8")
    )


def _normalised(row: list[float]) -> Floats:
    """Published constants in our units: rates over their peak, losses over the loss at S_ref."""
    offset, A, alpha, B, C, beta, gamma = row
    peak = float(_table()["peak_rate"])
    amplitude = A * (peak * REFERENCE_STEPS) ** -alpha
    loss = offset + amplitude
    scales = (amplitude / loss, B * peak / loss, C * peak ** (1.0 - gamma))
    logs = [math.log(value) for value in scales]
    return np.array([offset / loss, logs[0], alpha, logs[1], logs[2], beta, gamma])
