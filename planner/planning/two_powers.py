"""Closed forms of a law L = E + A·N^-alpha + B·D^-beta, for answers that must come at once.

`planner.scaling` finds the same numbers for every law by search; the tests compare both.
"""

from __future__ import annotations

from collections.abc import Mapping

TRAINING_FLOPS = 6.0  # per parameter and token (arXiv:2001.08361)

Constants = Mapping[str, float]


def best_split(flops: float, k: Constants) -> tuple[float, float]:
    """(parameters, tokens) of least loss for `flops` of training.

    N = ((alpha·A)/(beta·B))^(1/(alpha+beta)) · (C/6)^(beta/(alpha+beta)), D = C/(6·N)
    (Hoffmann et al. 2022, arXiv:2203.15556, eq. 4).

    >>> k = {"E": 1.8172, "A": 482.01, "alpha": 0.3478, "B": 2085.43, "beta": 0.3658}
    >>> params, tokens = best_split(5.76e23, k)
    >>> f"{params:.3g} {tokens / params:.1f}"
    '7.22e+10 18.4'
    """
    powers = k["alpha"] + k["beta"]
    ratio = (k["alpha"] * k["A"] / (k["beta"] * k["B"])) ** (1 / powers)
    params = ratio * (flops / TRAINING_FLOPS) ** (k["beta"] / powers)
    return params, flops / (TRAINING_FLOPS * params)


def loss_at(params: float, tokens: float, k: Constants) -> float:
    """Loss in nats per token."""
    return float(k["E"] + k["A"] * params ** -k["alpha"] + k["B"] * tokens ** -k["beta"])


def stop_tokens(params: float, threshold: float, k: Constants) -> float:
    """Tokens from which doubling them lowers the loss by less than the share `threshold`.

    With x = B·D^-beta and F = E + A·N^-alpha, the gain 1 - (F + x·2^-beta)/(F + x) is `threshold`
    at x = threshold·F / (1 - threshold - 2^-beta); it falls with D. No doubling ever gains as much
    as 1 - 2^-beta: from there on the answer is 0 tokens.
    """
    floor = k["E"] + k["A"] * params ** -k["alpha"]
    room = 1 - threshold - 2 ** -k["beta"]
    if room <= 0:
        return 0.0
    return float((k["B"] * room / (threshold * floor)) ** (1 / k["beta"]))


def doubling_gain(params: float, tokens: float, k: Constants) -> float:
    """Share of the loss at `tokens` that twice the tokens take away."""
    return 1 - loss_at(params, 2 * tokens, k) / loss_at(params, tokens, k)
