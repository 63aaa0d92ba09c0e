"""How good the model will be, and from where more training brings little."""

from __future__ import annotations

from typing import Any

from planner.planning.result import LossPart, RunPart
from planner.planning.scenario import Scenario

LAW = "besiroglu2024"
THRESHOLD = 0.015  # gain per doubling of compute under which stopping is worth a thought


def loss_of(each: Scenario, run: RunPart) -> LossPart:
    """Forecast by the default law for pre-training of a language model; None otherwise."""
    reason = _no_law(each)
    if reason:
        return LossPart(value=None, low=None, high=None, law=None, reason=reason, optimum=None)
    from planner.scaling.allocation import optimum
    from planner.scaling.forecast import predict_loss

    params = float(each.model.params_active)
    forecast = predict_loss(
        params=params,
        tokens=float(run.tokens),
        law=LAW,
        unique_tokens=_unique(each),
    )
    best = optimum(flops=6 * params * run.tokens, law=LAW)
    return LossPart(
        value=forecast.value,
        low=forecast.low,
        high=forecast.high,
        law=forecast.law,
        reason=forecast.reason,
        optimum={"params": best.params, "tokens": best.tokens, "loss": best.loss},
    )


def _no_law(each: Scenario) -> str | None:
    """Why no loss can be forecast, None where it can."""
    if each.run.training.task != "pretrain":
        return f"no law forecasts the loss of {each.run.training.task}: add runs of your own"
    if each.model.kind != "decoder":
        return f"no law forecasts the loss of this kind of model ({each.model.kind})"
    return None


def _unique(each: Scenario) -> float | None:
    unique = each.run.data.unique_tokens or each.run.data.dataset_tokens
    return float(unique) if unique else None


def stop_of(each: Scenario, run: RunPart) -> dict[str, Any] | None:
    """Where the next doubling of training would bring less than the threshold, by the law."""
    if _no_law(each):
        return None
    from planner.scaling.marginal import marginal_gain

    params = float(each.model.params_active)
    gain = marginal_gain(params=params, tokens=float(run.tokens), threshold=THRESHOLD, law=LAW)
    share = gain.stop_tokens / run.tokens
    return {
        "rule": f"the next doubling of tokens lowers the loss by less than {THRESHOLD:.1%}",
        "threshold": THRESHOLD,
        "tokens": gain.stop_tokens,
        "tokens_per_param": gain.stop_tokens / params,
        "last_doubling_gain": gain.last_doubling,
        "next_doubling_gain": gain.next_doubling,
        "within_run": share < 1,
        "seconds": run.seconds * share if share < 1 else None,
        "freed_device_hours": run.device_hours * (1 - share) if share < 1 else 0.0,
    }
