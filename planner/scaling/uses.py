"""What the compute that a stop sets free would buy, by a scaling law."""

from __future__ import annotations

from collections.abc import Mapping

from planner.quantities import show_count
from planner.scaling.allocation import best_split
from planner.scaling.laws import Law
from planner.scaling.two_powers import TRAINING_FLOPS, loss_function

WORTH_TELLING = 0.05  # of the run so far
NOTHING = "less than 5 % of the run is left: nothing worth a plan"


def uses_of_rest(
    *,
    params: float,
    tokens: float,
    rest: float,
    law: Law,
    conditions: Mapping[str, float] | None = None,
) -> list[str]:
    """Uses of `rest` times the compute that `params` parameters on `tokens` tokens have taken.

    >>> from planner.scaling.laws import law
    >>> uses_of_rest(params=1e9, tokens=1e11, rest=0.01, law=law("besiroglu2024")) == [NOTHING]
    True
    """
    if rest < WORTH_TELLING:
        return [NOTHING]
    again = (
        f"{int(rest)} more seed(s) of this run, each to the same length"
        if rest >= 1.0
        else f"another variant of this run to {rest:.0%} of its length"
    )
    told = [f"{rest:.2g} times the compute spent until then", again]
    return told + uses_by_law(params, tokens, rest, law, conditions)


def uses_by_law(
    params: float,
    tokens: float,
    rest: float,
    law: Law,
    conditions: Mapping[str, float] | None = None,
) -> list[str]:
    """A new model for the freed compute, and one for all of it; losses on the law's own data."""
    given = dict(conditions or {})
    spent = TRAINING_FLOPS * params * tokens
    loss_of = loss_function(law, given)
    here = loss_of(params, tokens)
    told = []
    for what, flops in (("freed", rest * spent), ("whole", (1 + rest) * spent)):
        size, data = best_split(flops=flops, law=law, conditions=given)
        told.append(
            f"by {law.name}, the {what} compute serves {show_count(size)} parameters on "
            f"{show_count(data)} tokens best: loss {loss_of(size, data):.3f} against {here:.3f} "
            "at the stop"
        )
    return told
