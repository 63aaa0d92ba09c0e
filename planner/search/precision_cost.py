"""Extra tokens that a format of fewer than 16 bits may cost: an upper bound from published runs."""

from __future__ import annotations

from typing import Any

from planner.engine.formats import BYTES, MATMUL
from planner.planning.scenario import Scenario
from planner.quantities import show_percent

HIGHEST_LOSS_GAP = 0.0025
"""Relative gap of the loss under which FP8 training stayed beside 16 bits at 16 B and 230 B
parameters over 1 T tokens (DeepSeek-V3 technical report, arXiv:2412.19437, section 3.3)."""


def is_quantised(precision: str) -> bool:
    """Whether the large products run in fewer than 16 bits.

    >>> is_quantised("fp8"), is_quantised("bf16")
    (True, False)
    """
    return BYTES[MATMUL[precision]] < 2


def extra_tokens(each: Scenario, tokens: float) -> dict[str, Any] | None:
    """Tokens against 16 bits at equal loss: none by the best estimate, `high` where the whole
    published gap must be made up for by more data. None for 16 bits and more, or without a law."""
    precision = each.run.training.precision
    if not is_quantised(precision):
        return None
    high = _made_up(each, tokens)
    reason = (
        f"published {precision} runs end within {show_percent(HIGHEST_LOSS_GAP)} of the 16-bit loss"
        if precision == "fp8"
        else f"no published pre-training bounds the loss of {precision}"
    )
    return {"factor": 1.0, "low": 1.0, "high": high, "reason": reason}


def _made_up(each: Scenario, tokens: float) -> float | None:
    """Factor of tokens that lowers the loss by the gap, by the default law; None if none does."""
    training = each.run.training
    if training.precision != "fp8" or training.task != "pretrain" or each.model.kind != "decoder":
        return None
    from planner.scaling.laws import DEFAULT_LAW, law

    k = law(DEFAULT_LAW).constants
    data = k["B"] * tokens ** -k["beta"]
    whole = k["E"] + k["A"] * each.model.params_active ** -k["alpha"] + data
    left = data - whole * HIGHEST_LOSS_GAP
    return float((left / data) ** (-1 / k["beta"])) if left > 0 else None
