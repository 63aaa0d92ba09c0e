"""Learning rates: how they follow the batch, where they saturate, and what noise permits."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from planner.errors import PlannerError
from planner.scaling.laws import positive

# Exponent of the rate in 1/(1 + B_crit/B): 1 for SGD (arXiv:1812.06162, equation 2.6), one half
# for adaptive optimizers (its appendix E.2 finds 0.5 to 1; the square root is derived for Adam in
# arXiv:2205.10287).
RULES = {"linear": 1.0, "sqrt": 0.5}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rescaled:
    """A learning rate carried to another batch."""

    rate: float
    rule: str  # linear (SGD) or sqrt (Adam and relatives)
    plain: float  # what the rule gives without a critical batch
    ceiling: float | None  # the rate that no batch exceeds; None without a critical batch
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """What a published fit advises for a run."""

    name: str
    rate: float
    batch_tokens: float | None  # tokens per step; None where the study fits none
    inside: bool  # whether the run lies in the study's range
    source: str
    note: str


def rescale(
    rate: float,
    *,
    from_batch: float,
    to_batch: float,
    rule: str = "sqrt",
    critical_batch: float | None = None,
) -> Rescaled:
    """The rate for another batch: (B'/B) for SGD, its square root for Adam, saturating at B_crit.

    With a critical batch the rate is rate_max/(1 + B_crit/B)^p, p = 1 or 1/2: it follows the plain
    rule far below B_crit and never exceeds rate·(1 + B_crit/B)^p. Batches in the same unit.

    >>> rescale(3e-4, from_batch=256, to_batch=1024).rate
    0.0006
    >>> rescale(0.1, from_batch=256, to_batch=1024, rule="linear", critical_batch=256).plain
    0.4
    """
    if rule not in RULES:
        raise PlannerError("rule", rule, f"one of {', '.join(RULES)}")
    power = RULES[rule]
    old, new = float(positive("from_batch", from_batch)), float(positive("to_batch", to_batch))
    plain = float(positive("rate", rate)) * (new / old) ** power
    if critical_batch is None:
        return Rescaled(rate=plain, rule=rule, plain=plain, ceiling=None, warnings=())
    critical = float(positive("critical_batch", critical_batch))
    ceiling = rate * (1 + critical / old) ** power
    saturated = ceiling / (1 + critical / new) ** power
    beyond = f"batch {new:g} is beyond the critical batch {critical:.3g}: the rule no longer holds"
    return Rescaled(
        rate=saturated,
        rule=rule,
        plain=plain,
        ceiling=ceiling,
        warnings=(beyond,) if new > critical else (),
    )


def noisy_rate_bound(
    *,
    rounding: float,
    smoothness: float,
    gradient_variance: float,
    precision_variance: float,
) -> float:
    """Largest learning rate for noisy low-precision gradients: 2·eps/(L·(sigma² + delta²)).

    eps is the tolerance of the format, e.g. its rounding bound 2^-10; L the gradient's Lipschitz
    constant; sigma² the variance of the gradient between batches; delta² what rounding adds. All in
    the units of the loss and the parameters; the bound is conservative, for plain SGD.

    >>> noisy_rate_bound(
    ...     rounding=2**-10, smoothness=1.0, gradient_variance=0.5, precision_variance=0.0
    ... )
    0.00390625
    """
    variances = {"gradient_variance": gradient_variance, "precision_variance": precision_variance}
    for name, value in variances.items():
        if not value >= 0:
            raise PlannerError(name, value, "must not be negative")
    variance = float(positive("gradient_variance", gradient_variance + precision_variance))
    return float(
        2 * positive("rounding", rounding) / (positive("smoothness", smoothness) * variance)
    )


def published_settings(*, params: float, tokens: float) -> list[Published]:
    """Learning rate and batch that published fits advise for a run; sources disagree, see notes.

    `params` without embeddings where known.
    """
    inputs = {
        "params": float(positive("params", params)),
        "tokens": float(positive("tokens", tokens)),
        "flops": 6 * params * tokens,
    }
    return [_published(name, row, inputs) for name, row in _studies().items()]


def _published(name: str, row: dict[str, Any], inputs: dict[str, float]) -> Published:
    inside = all(row[key][0] <= inputs[key] <= row[key][1] for key in inputs if key in row)
    batch = row.get("batch_tokens")
    return Published(
        name=name,
        rate=_product(row["rate"], inputs),
        batch_tokens=None if batch is None else _product(batch, inputs),
        inside=inside,
        source=row["source"],
        note=row["note"],
    )


def _product(powers: dict[str, float], inputs: dict[str, float]) -> float:
    value = powers["coefficient"]
    for name in powers.keys() - {"coefficient"}:
        value *= inputs[name] ** powers[name]
    return float(value)


@cache
def _studies() -> dict[str, dict[str, Any]]:
    data = resources.files("planner.scaling") / "data" / "hyperparameters.toml"
    return tomllib.loads(data.read_text("utf-8"))
