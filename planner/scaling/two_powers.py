"""Laws that are E + A·N^-alpha + B·D^-beta at given conditions: answers without a search.

Most published laws have that form at a fixed number of experts, granularity or bits. The split of
a budget and the stop point are then closed forms; `allocation` and `marginal` search where not.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from planner.scaling.forms import saturated_experts
from planner.scaling.laws import Law

Conditions = Mapping[str, float]
TRAINING_FLOPS = 6.0  # per parameter and token: forward 2, backward 4 (arXiv:2001.08361)


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoPowers:
    """The constants of such a law; losses in nats per token."""

    E: float
    A: float
    alpha: float
    B: float
    beta: float

    def loss(self, params: float, tokens: float) -> float:
        return float(self.E + self.A * params**-self.alpha + self.B * tokens**-self.beta)

    def best_split(self, flops: float) -> tuple[float, float]:
        """(parameters, tokens) of least loss for `flops` of training.

        N = ((alpha·A)/(beta·B))^(1/(alpha+beta)) · (C/6)^(beta/(alpha+beta)), D = C/(6·N)
        (Hoffmann et al. 2022, arXiv:2203.15556, eq. 4).

        >>> k = TwoPowers(E=1.8172, A=482.01, alpha=0.3478, B=2085.43, beta=0.3658)
        >>> params, tokens = k.best_split(5.76e23)
        >>> f"{params:.3g} {tokens / params:.1f}"
        '7.22e+10 18.4'
        """
        powers = self.alpha + self.beta
        ratio = (self.alpha * self.A / (self.beta * self.B)) ** (1 / powers)
        params = ratio * (flops / TRAINING_FLOPS) ** (self.beta / powers)
        return params, flops / (TRAINING_FLOPS * params)

    def stop_tokens(self, params: float, threshold: float) -> float:
        """Tokens from which doubling them lowers the loss by less than the share `threshold`.

        With x = B·D^-beta and F = E + A·N^-alpha, the gain 1 - (F + x·2^-beta)/(F + x) is
        `threshold` at x = threshold·F / (1 - threshold - 2^-beta); it falls with D. No doubling
        ever gains as much as 1 - 2^-beta: from there on the answer is 0 tokens.
        """
        floor = self.E + self.A * params**-self.alpha
        room = 1 - threshold - 2**-self.beta
        if room <= 0:
            return 0.0
        return float((self.B * room / (threshold * floor)) ** (1 / self.beta))


def two_powers(law: Law, conditions: Conditions) -> TwoPowers | None:
    """The law at these conditions as a sum of two powers; None where it is none.

    >>> from planner.scaling.laws import law
    >>> two_powers(law("besiroglu2024"), {}).alpha
    0.3478
    >>> two_powers(law("kaplan2020"), {}) is None
    True
    """
    reduce = _REDUCED.get(law.form)
    if reduce is None:
        return None
    given = {name: float(value) for name, value in law.given(conditions).items()}
    found = reduce(law.constants, given)
    falling = min(found.A, found.alpha, found.B, found.beta) > 0  # a fit may miss that
    return found if falling else None


def loss_function(law: Law, conditions: Conditions) -> Callable[[float, float], float]:
    """Loss of one size and one amount of tokens, by the closed form where the law has one."""
    closed = two_powers(law, conditions)
    if closed is not None:
        return closed.loss
    return lambda params, tokens: float(law.loss(params, tokens, **conditions))


def _plain(k: Mapping[str, float], given: Conditions) -> TwoPowers:
    return TwoPowers(E=k["E"], A=k["A"], alpha=k["alpha"], B=k["B"], beta=k["beta"])


def _equal(k: Mapping[str, float], given: Conditions) -> TwoPowers:
    data = k["b"] * 6.0 ** (-k["eta"] / 2)
    return TwoPowers(E=k["E"], A=k["a"], alpha=k["eta"], B=data, beta=k["eta"])


def _quantised(k: Mapping[str, float], given: Conditions) -> TwoPowers:
    kept = -np.expm1(-given["weight_bits"] / k["gamma_w"])
    size = float(k["A"] * kept ** -k["alpha"])
    return TwoPowers(E=k["E"], A=size, alpha=k["alpha"], B=k["B"], beta=k["beta"])


def _fine_grained(k: Mapping[str, float], given: Conditions) -> TwoPowers:
    size = float(k["g"] * given["granularity"] ** -k["gamma"] + k["a"])
    return TwoPowers(E=k["c"], A=size, alpha=k["alpha"], B=k["b"], beta=k["beta"])


def _joint_moe(k: Mapping[str, float], given: Conditions) -> TwoPowers:
    experts = float(saturated_experts(given["experts"], E_start=k["E_start"], E_max=k["E_max"]))
    return TwoPowers(
        E=k["c"],
        A=k["a"] * experts ** k["delta"],
        alpha=-(k["alpha"] + k["gamma"] * float(np.log(experts))),
        B=k["b"] * experts ** k["omega"],
        beta=-(k["beta"] + k["zeta"] * float(np.log(experts))),
    )


_REDUCED: dict[str, Callable[[Mapping[str, float], Conditions], TwoPowers]] = {
    "sum-of-powers": _plain,
    "equal-exponents": _equal,
    "quantised-params": _quantised,
    "fine-grained-moe": _fine_grained,
    "joint-moe": _joint_moe,
}
