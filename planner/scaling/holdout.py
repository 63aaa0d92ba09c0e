"""Which form predicts better: fit the smaller runs, predict the largest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.errors import PlannerError
from planner.scaling.fit import fit_runs
from planner.scaling.runs import Runs
from planner.scaling.surface import FITTED_FORMS

LARGEST_SHARE = 0.25  # of the runs, by compute


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOut:
    """How one form, fitted to the smaller runs, predicts the largest."""

    form: str
    num_fitted: int
    num_held_out: int
    error: float | None  # mean absolute relative error; None when the form could not be fitted
    bias: float | None  # mean of predicted/observed - 1
    reason: str | None  # why there is no error


def compare_forms(runs: Runs, *, share: float = LARGEST_SHARE) -> list[HoldOut]:
    """Every form's error on the largest `share` of the runs by compute, best first."""
    held_out = runs.flops > np.quantile(runs.flops, 1 - share)
    results = [_hold_out(runs, held_out, form) for form in FITTED_FORMS]
    return sorted(results, key=lambda result: np.inf if result.error is None else result.error)


def _hold_out(runs: Runs, held_out: npt.NDArray[np.bool_], form: str) -> HoldOut:
    smaller, largest = runs.take(~held_out), runs.take(held_out)
    counts = {"num_fitted": len(smaller), "num_held_out": len(largest)}
    try:
        fit = fit_runs(smaller, form=form)
    except PlannerError as error:
        return HoldOut(form=form, **counts, error=None, bias=None, reason=str(error))
    relative = fit.predict(largest.params, largest.tokens) / largest.losses - 1
    return HoldOut(
        form=form,
        **counts,
        error=float(np.abs(relative).mean()),
        bias=float(relative.mean()),
        reason=None,
    )
