"""A few runs of one's own: how they move the constants, and what they bring.

Three factors are fitted, shrunk towards 1: on every time (`scale`), on the host's work (`host`)
and on the rate of flash attention (`attention`). With r_i the logarithms of measured over
predicted at given factors, the most likely ones minimise
    (FREEDOM + k) / 2 · log(FREEDOM · NOISE² + Σ r_i²) + Σ (log factor / spread)² / 2,
the noise between one source's runs being unknown and judged from the k runs themselves (Student's
t): runs that agree with each other move the constants and narrow the interval, runs that do not
leave the constants alone and widen it. The spreads are small because sources that were left out
showed that wider ones overfit few runs.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np

from planner.engine.constants import Constants, constants
from planner.errors import PlannerError
from planner.fidelity.case import Case
from planner.fidelity.fit import TimeRows, predict, time_rows
from planner.fidelity.spreads import LEVEL
from planner.planning.intervals import Z80, table

Array = np.ndarray[Any, np.dtype[Any]]

NOISE = 0.15  # deviation of the logarithm between runs of one source, before they are seen
FREEDOM = 2.0  # runs that the guess of the noise is worth
WILD = 0.5  # largest logarithm that one run may add to the scatter
SCALE = 0.05  # deviation of the logarithm of a source's own scale
HOST = 0.04  # of its hosts' speed, beyond the scale
ATTENTION = 0.05  # of its attention kernels, beyond the scale
GRID = (-2.0, -1.0, 0.0, 1.0, 2.0)  # deviations tried of host and of attention
SCALES = np.linspace(-0.5, 0.5, 101)  # logarithms tried of the scale

COUNTS = (1, 3, 5, 10)  # runs of one's own that the report tries
DRAWS = 100  # random draws of each
FEWEST_LEFT = 3  # rows of a source that must remain to be predicted

RATES = "gemm_nvidia gemm_quantised gemm_amd gemm_tpu bandwidth link network"
EXPERT_RATES = "expert_link expert_link_fused expert_network"
ATTENTION_RATES = "flash flash_vendor flash_first flash_hopper"
HOST_TIMES = "host_op_seconds kernel_seconds"
OTHER_TIMES = "step_seconds collective_seconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Factors:
    """What calibration makes of the constants: factors on times, logarithms."""

    scale: float
    host: float
    attention: float

    def applied(self, c: Constants) -> Constants:
        """`c` with every time scaled, and the host's and attention's once more."""
        return _scaled(_shaped(c, self.host, self.attention), self.scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """Constants after calibration and what to expect of further runs."""

    constants: Constants
    count: int  # runs that calibrated
    sigma: float  # deviation of the logarithm of further step times


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What a number of runs brings on one source: errors of its other rows, fractions.

    `count` 0 stands for no calibration, all rows.
    """

    source: str
    count: int  # runs that calibrated
    before: float  # median error without calibration
    after: float  # median error with it, mean over the draws
    logs: Array  # log(predicted / actual) of the rows that remained, all draws
    scatters: Array  # of each of these, deviation by the runs that calibrated; 1 for none


def calibrate(cases: Sequence[Case], base: Constants | None = None) -> Constants:
    """The constants (the shipped ones unless given) moved towards runs of one's own.

    Cases without a step time are passed over. Raises PlannerError when none has one.
    """
    return calibration(cases, base).constants


def calibration(cases: Sequence[Case], base: Constants | None = None) -> Calibration:
    """As `calibrate`, with how far further runs are from what the constants then say."""
    timed = [case for case in cases if case.actual_seconds is not None]
    if not timed:
        raise PlannerError("cases", len(cases), "calibration needs at least one measured step time")
    start = constants() if base is None else base
    residuals = _residuals(time_rows(timed), start)
    node, scale = _best(residuals)
    scatter = _scatter(residuals[node] - scale)
    return Calibration(
        constants=factors_of(residuals).applied(start),
        count=len(timed),
        sigma=scatter * _factor(len(timed), table("calibrated")),
    )


def _scatter(left: Array) -> float:
    """Deviation between runs of one source, by the runs and by what is usual."""
    squares = np.sum(np.minimum(np.abs(left), WILD) ** 2)
    return float(np.sqrt((FREEDOM * NOISE**2 + squares) / (FREEDOM + len(left))))


def _factor(count: int, factors: Mapping[str, float]) -> float:
    """Of the scatter, at which intervals hold; between the counts that were tried, by logarithm."""
    counts = sorted(int(each) for each in factors)
    values = [factors[str(each)] for each in counts]
    return float(np.interp(np.log(count), np.log(counts), values))


def factors_of(residuals: Array) -> Factors:
    """The likeliest factors. `residuals`: log(measured / predicted), (nodes of the grid, runs)."""
    node, scale = _best(residuals)
    host, attention = _grid()[node]
    return Factors(scale=scale, host=host * HOST, attention=attention * ATTENTION)


def _best(residuals: Array) -> tuple[int, float]:
    """The likeliest node of the grid and the scale there."""
    left = residuals[:, None, :] - SCALES[None, :, None]
    squares = np.sum(left**2, axis=2)
    misfit = (FREEDOM + residuals.shape[1]) / 2 * np.log(FREEDOM * NOISE**2 + squares)
    bent = np.array([(host**2 + attention**2) / 2 for host, attention in _grid()])
    costs = misfit + (SCALES / SCALE) ** 2 / 2 + bent[:, None]
    node, position = np.unravel_index(int(np.argmin(costs)), costs.shape)
    return int(node), float(SCALES[position])


@cache
def _grid() -> tuple[tuple[float, float], ...]:
    return tuple(product(GRID, GRID))


def _residuals(rows: TimeRows, base: Constants) -> Array:
    """log(measured / predicted) at each node of the grid, (nodes, rows)."""
    shaped = [_shaped(base, host * HOST, attention * ATTENTION) for host, attention in _grid()]
    return np.array([np.log(rows.actual / predict(rows, each)) for each in shaped])


def _shaped(c: Constants, host: float, attention: float) -> Constants:
    times = {name: getattr(c, name) * float(np.exp(host)) for name in HOST_TIMES.split()}
    rates = {name: getattr(c, name) / float(np.exp(attention)) for name in ATTENTION_RATES.split()}
    return replace(c, **times, **rates)


def _scaled(c: Constants, scale: float) -> Constants:
    """Every rate divided, every time multiplied: a step takes exp(scale) times as long."""
    factor = float(np.exp(scale))
    rates = f"{RATES} {EXPERT_RATES} {ATTENTION_RATES}".split()
    times = f"{HOST_TIMES} {OTHER_TIMES}".split()
    return replace(
        c,
        **{name: getattr(c, name) / factor for name in rates},
        **{name: getattr(c, name) * factor for name in times},
    )


def trials(rows: TimeRows, found: Mapping[str, Constants]) -> list[Trial]:
    """Every source calibrated with COUNTS of its rows, from the constants that never saw it."""
    result = []
    for source, base in found.items():
        index = np.flatnonzero(rows.groups == source)
        if len(index) < COUNTS[0] + FEWEST_LEFT:
            continue
        residuals = _residuals(_only(rows, index), base)
        result.append(_untouched(source, residuals))
        result += [
            _trial(source, count, residuals)
            for count in COUNTS
            if len(index) >= count + FEWEST_LEFT
        ]
    return result


def _only(rows: TimeRows, index: Array) -> TimeRows:
    from planner.fidelity.batches import take

    return TimeRows(
        cases=tuple(rows.cases[each] for each in index.tolist()),
        batch=take(rows.batch, index),
        actual=rows.actual[index],
        groups=rows.groups[index],
    )


def _untouched(source: str, residuals: Array) -> Trial:
    plain = residuals[_grid().index((0.0, 0.0))]
    error = _median_error(plain)
    return Trial(
        source=source,
        count=0,
        before=error,
        after=error,
        logs=-plain,
        scatters=np.ones(len(plain)),
    )


def _trial(source: str, count: int, residuals: Array) -> Trial:
    middle = _grid().index((0.0, 0.0))
    draw = np.random.default_rng(_seed(f"{source} {count}"))
    before, after, logs, scatters = [], [], [], []
    for _ in range(DRAWS):
        chosen = draw.choice(residuals.shape[1], size=count, replace=False)
        rest = np.setdiff1d(np.arange(residuals.shape[1]), chosen)
        node, scale = _best(residuals[:, chosen])
        calibrated = residuals[node, rest] - scale
        before.append(_median_error(residuals[middle, rest]))
        after.append(_median_error(calibrated))
        logs.append(-calibrated)
        scatters.append(np.full(len(rest), _scatter(residuals[node, chosen] - scale)))
    return Trial(
        source=source,
        count=count,
        before=float(np.mean(before)),
        after=float(np.mean(after)),
        logs=np.concatenate(logs),
        scatters=np.concatenate(scatters),
    )


def _median_error(residuals: Array) -> float:
    return float(np.median(np.abs(np.exp(-residuals) - 1)))


def _seed(text: str) -> int:
    """A number from a text, the same on every machine."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big")


def width_factor(found: Sequence[Trial], count: int) -> float:
    """Factor of the scatter at which intervals after `count` runs hold 80 % of a source's other
    rows, on average over sources. For 0 runs, where the scatter is 1, the deviation itself."""
    return _covering([trial for trial in found if trial.count == count])


def widths(found: Sequence[Trial], count: int) -> tuple[float, dict[str, float]]:
    """Deviation of the logarithm that holds 80 % without calibration, the same for every source,
    and each source's typical one after `count` runs."""
    after = [trial for trial in found if trial.count == count]
    sources = {trial.source for trial in after}
    before = [trial for trial in found if trial.count == 0 and trial.source in sources]
    factor = _covering(after)
    typical = {trial.source: float(np.median(trial.scatters)) * factor for trial in after}
    return _covering(before), typical


def _covering(found: Sequence[Trial]) -> float:
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        inside = [np.abs(trial.logs) <= Z80 * middle * trial.scatters for trial in found]
        covered = np.mean([np.mean(each) for each in inside])
        low, high = (middle, high) if covered < LEVEL else (low, middle)
    return float(high)
