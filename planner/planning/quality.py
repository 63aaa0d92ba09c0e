"""How good the model will be, and from where more training brings little."""

from __future__ import annotations

from typing import Any

from planner.planning.result import LossPart, RunPart
from planner.planning.scenario import Scenario
from planner.planning.two_powers import best_split, doubling_gain, loss_at, stop_tokens

LAW = "besiroglu2024"
THRESHOLD = 0.015  # gain per doubling of tokens under which stopping is worth a thought


def loss_of(each: Scenario, run: RunPart) -> LossPart:
    """Forecast by the default law for pre-training of a language model; None otherwise."""
    reason = _no_law(each)
    if reason:
        return LossPart(value=None, low=None, high=None, law=None, reason=reason, optimum=None)
    from planner.scaling.forecast import predict_loss
    from planner.scaling.laws import law

    params, tokens = float(each.model.params_active), float(run.tokens)
    unique = _repeated(each, tokens)
    forecast = predict_loss(
        params=params, tokens=tokens, unique_tokens=unique, law=None if unique else LAW
    )
    k = law(LAW).constants
    best_params, best_tokens = best_split(6 * params * tokens, k)
    return LossPart(
        value=forecast.value,
        low=forecast.low,
        high=forecast.high,
        law=forecast.law,
        reason=forecast.reason,
        optimum={
            "params": best_params,
            "tokens": best_tokens,
            "loss": loss_at(best_params, best_tokens, k),
        },
    )


def _no_law(each: Scenario) -> str | None:
    """Why no loss can be forecast, None where it can."""
    if each.run.training.task != "pretrain":
        return f"no law forecasts the loss of {each.run.training.task}: add runs of your own"
    if each.model.kind != "decoder":
        return f"no law forecasts the loss of this kind of model ({each.model.kind})"
    return None


def _repeated(each: Scenario, tokens: float) -> float | None:
    """Distinct tokens where the run repeats them, None where it does not or nobody says."""
    unique = each.run.data.unique_tokens or each.run.data.dataset_tokens
    return float(unique) if unique and unique < tokens else None


def stop_of(each: Scenario, run: RunPart) -> dict[str, Any] | None:
    """Where the next doubling of training would bring less than the threshold, by the law."""
    if _no_law(each):
        return None
    from planner.scaling.laws import law

    k = law(LAW).constants
    params, tokens = float(each.model.params_active), float(run.tokens)
    stop = stop_tokens(params, THRESHOLD, k)
    share = stop / tokens
    return {
        "rule": f"the next doubling of tokens lowers the loss by less than {THRESHOLD:.1%}",
        "threshold": THRESHOLD,
        "tokens": stop,
        "tokens_per_param": stop / params,
        "last_doubling_gain": doubling_gain(params, tokens / 2, k),
        "next_doubling_gain": doubling_gain(params, tokens, k),
        "within_run": share < 1,
        "seconds": run.seconds * share if share < 1 else None,
        "freed_device_hours": run.device_hours * (1 - share) if share < 1 else 0.0,
    }
