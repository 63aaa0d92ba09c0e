"""Can these runs identify a law at all? If not, which run would help."""

from __future__ import annotations

import numpy as np

from planner.errors import PlannerError
from planner.scaling.runs import Runs

DISTINCT = 1.05  # sizes or token counts closer than 5 % count as one
SAME_LOSS = 1e-9  # range of log loss
LEAST_TOKEN_SPREAD = 1.5  # largest over smallest token count at one size, or along the family


def require_identifiable(runs: Runs, *, num_constants: int) -> None:
    """Raise PlannerError saying which run to add when the law's constants cannot be found.

    Needs one run more than constants, three sizes, three token counts and tokens that do not
    merely follow the size: with one ratio of tokens to parameters the two terms are one.
    """
    sizes, data = _distinct(runs.params), _distinct(runs.tokens)
    if len(sizes) < 3:
        raise PlannerError("runs", f"{len(sizes)} model size(s)", _add_size(runs))
    if len(data) < 3:
        raise PlannerError("runs", f"{len(data)} token count(s)", _add_tokens(runs))
    if len(runs) < num_constants + 1:
        remedy = f"{num_constants} constants need at least {num_constants + 1} runs; "
        raise PlannerError("runs", f"{len(runs)} runs", remedy + _add_tokens(runs))
    if _ratio_spread(runs) < LEAST_TOKEN_SPREAD:
        raise PlannerError("runs", "one ratio of tokens to parameters", _add_tokens(runs))


def require_trend(runs: Runs) -> None:
    """Raise PlannerError when the losses do not vary, or rise with compute."""
    log_losses = np.log(runs.losses)
    if np.ptp(log_losses) < SAME_LOSS:
        raise PlannerError("runs", "one loss", "all runs have the same loss: nothing to fit")
    if np.corrcoef(np.log(runs.flops), log_losses)[0, 1] > 0:
        remedy = "compare runs of one recipe on one held-out set; lower must be better"
        raise PlannerError("runs", "a loss that rises with compute", remedy)


def _distinct(values: np.ndarray[tuple[int], np.dtype[np.float64]]) -> list[float]:
    kept: list[float] = []
    for value in np.sort(values):
        if not kept or value > kept[-1] * DISTINCT:
            kept.append(float(value))
    return kept


def _ratio_spread(runs: Runs) -> float:
    """Spread of tokens left when the trend with size is taken out: exp of the range."""
    size, data = np.log(runs.params), np.log(runs.tokens)
    slope = np.polyfit(size - size.mean(), data, 1)
    residual = data - np.polyval(slope, size - size.mean())
    return float(np.exp(residual.max() - residual.min()))


def _add_size(runs: Runs) -> str:
    largest = float(runs.params.max())
    tokens = float(np.median(runs.tokens / runs.params)) * largest * 3
    return (
        "the effect of size cannot be told from that of data; add runs of at least three sizes, "
        f"for example {3 * largest:.2g} parameters on {tokens:.2g} tokens"
    )


def _add_tokens(runs: Runs) -> str:
    middle = float(np.median(runs.params))
    tokens = float(np.max(runs.tokens[np.isclose(runs.params, middle, rtol=0.5)], initial=0.0))
    tokens = tokens or float(runs.tokens.max())
    return (
        "the effect of data cannot be told from that of size; train one size on several token "
        f"counts, for example {middle:.2g} parameters on {4 * tokens:.2g} tokens"
    )
