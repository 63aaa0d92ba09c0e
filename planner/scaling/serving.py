"""Train a smaller model longer because it will be served: equal quality, least total compute."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.errors import PlannerError
from planner.scaling.allocation import (
    INFERENCE_FLOPS,
    LARGEST,
    SMALLEST,
    Conditions,
)
from planner.scaling.forms import FloatArray
from planner.scaling.laws import Law, choose_law, positive
from planner.scaling.minimum import minimise
from planner.scaling.two_powers import TRAINING_FLOPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """The cheapest model of a given quality over its training and its serving."""

    params: float
    tokens: float  # of training
    loss: float  # nats per token, the quality that was asked for
    training_flops: float
    inference_flops: float
    plain_params: float  # the model that the same law would train without serving
    plain_tokens: float
    plain_total_flops: float  # of training and serving that one

    @property
    def total_flops(self) -> float:
        return self.training_flops + self.inference_flops

    @property
    def saving(self) -> float:
        """Share of the plain model's total compute that is saved."""
        return 1 - self.total_flops / self.plain_total_flops


def served_optimum(
    *,
    loss: float,
    inference_tokens: float,
    law: str | Law | None = None,
    conditions: Conditions | None = None,
) -> Served:
    """Minimise 6·N·D_train + 2·N·D_inference over models that reach `loss` (arXiv:2401.00448).

    Raises PlannerError when no model of the law reaches `loss`.

    >>> quality = float(choose_law("sardana2023", {}).loss(29.4e9, 1.4e12))
    >>> best = served_optimum(loss=quality, inference_tokens=1e13, law="sardana2023")
    >>> best.params < best.plain_params and best.tokens > best.plain_tokens
    True
    """
    given = dict(conditions or {})
    chosen = choose_law(law, given)
    demand = float(positive("inference_tokens", inference_tokens))
    plain = _cheapest(chosen, loss, 0.0, given)
    params = _cheapest(chosen, loss, demand, given)
    tokens = float(tokens_for_loss(chosen, np.array(params), loss, **given))
    plain_tokens = float(tokens_for_loss(chosen, np.array(plain), loss, **given))
    return Served(
        params=params,
        tokens=tokens,
        loss=loss,
        training_flops=TRAINING_FLOPS * params * tokens,
        inference_flops=INFERENCE_FLOPS * params * demand,
        plain_params=plain,
        plain_tokens=plain_tokens,
        plain_total_flops=plain * (TRAINING_FLOPS * plain_tokens + INFERENCE_FLOPS * demand),
    )


def tokens_for_loss(law: Law, params: FloatArray, loss: float, **conditions: float) -> FloatArray:
    """Training tokens with which each size reaches `loss`; inf where it never does.

    Bisection over 1 to 1e24 tokens, since every law falls with tokens.
    """
    low, high = np.zeros_like(params), np.full_like(params, np.log(1e24))
    never = law.loss(params, np.exp(high), **conditions) > loss
    for _ in range(80):
        middle = (low + high) / 2
        missed = law.loss(params, np.exp(middle), **conditions) > loss
        low, high = np.where(missed, middle, low), np.where(missed, high, middle)
    return np.where(never, np.inf, np.exp(high))


def _cheapest(law: Law, loss: float, demand: float, conditions: dict[str, float]) -> float:
    def cost(params: FloatArray) -> FloatArray:
        training = TRAINING_FLOPS * tokens_for_loss(law, params, loss, **conditions)
        return params * (training + INFERENCE_FLOPS * demand)

    params, least = minimise(cost, low=SMALLEST, high=LARGEST)
    if not np.isfinite(least):
        raise PlannerError("loss", loss, f"no model reaches it under {law.name}")
    return params
