"""The shapes that scaling laws take: loss as a function of parameters and tokens, over arrays.

Symbols follow the papers: N parameters, D training tokens, E irreducible loss, A and alpha the
term of the model's size, B and beta the term of the data. Losses are in nats per token.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def sum_of_powers(
    params: FloatArray,
    tokens: FloatArray,
    *,
    E: float,
    A: float,
    alpha: float,
    B: float,
    beta: float,
) -> FloatArray:
    """L = E + A·N^-alpha + B·D^-beta (Hoffmann et al. 2022, arXiv:2203.15556, eq. 2).

    >>> chinchilla = dict(E=1.8172, A=482.01, alpha=0.3478, B=2085.43, beta=0.3658)
    >>> float(round(sum_of_powers(np.array(70e9), np.array(1.4e12), **chinchilla), 4))
    1.9739
    """
    return E + A * params**-alpha + B * tokens**-beta


def power_of_sum(
    params: FloatArray,
    tokens: FloatArray,
    *,
    E: float,
    A: float,
    alpha: float,
    B: float,
    beta: float,
    k: float,
) -> FloatArray:
    """L = E + (A·N^-alpha + B·D^-beta)^k (arXiv:2608.07222); k = 1 is `sum_of_powers`."""
    return E + (A * params**-alpha + B * tokens**-beta) ** k


def kaplan_joint(
    params: FloatArray,
    tokens: FloatArray,
    *,
    N_c: float,
    alpha_N: float,
    D_c: float,
    alpha_D: float,
) -> FloatArray:
    """L = [(N_c/N)^(alpha_N/alpha_D) + D_c/D]^alpha_D (Kaplan et al. 2020, eq. 1.5).

    No irreducible term: the loss falls to zero as both grow.
    """
    loss: FloatArray = ((N_c / params) ** (alpha_N / alpha_D) + D_c / tokens) ** alpha_D
    return loss


def equal_exponents(
    params: FloatArray, tokens: FloatArray, *, E: float, a: float, b: float, eta: float
) -> FloatArray:
    """L = E + a·N^-eta + b·6^(-eta/2)·D^-eta (Gadre et al. 2024, arXiv:2403.08540, as their code
    writes it: one exponent for both terms, so the optimal tokens per parameter never change)."""
    loss: FloatArray = E + a * params**-eta + b * 6.0 ** (-eta / 2) * tokens**-eta
    return loss


def optimal_params_for_unique(
    unique_tokens: FloatArray, *, A: float, alpha: float, B: float, beta: float
) -> FloatArray:
    """Parameters whose compute-optimal single epoch is `unique_tokens` (Muennighoff 2023)."""
    ratio = (alpha * A / (beta * B)) ** (1 / (alpha + beta))  # N_opt = ratio·(C/6)^(b/(a+b))
    compute = (unique_tokens * ratio) ** ((alpha + beta) / alpha)  # C/6 with D_opt = unique
    best: FloatArray = ratio * compute ** (beta / (alpha + beta))
    return best


def saturating(multiple: FloatArray, *, half_life: float) -> FloatArray:
    """Worth of `multiple` repetitions beyond the first, in firsts: R*(1 - e^(-R/R*))."""
    worth: FloatArray = -half_life * np.expm1(-multiple / half_life)
    return worth


def repeated_data(
    params: FloatArray,
    tokens: FloatArray,
    *,
    unique_tokens: FloatArray,
    E: float,
    A: float,
    alpha: float,
    B: float,
    beta: float,
    R_N: float,
    R_D: float,
) -> FloatArray:
    """The data-constrained law: repeated tokens and excess parameters are worth ever less.

    L = E + A/(U_N(1 + R_N*(1-e^(-r_N/R_N*))))^alpha + B/(U_D(1 + R_D*(1-e^(-r_D/R_D*))))^beta, with
    U_D = min(D, unique), U_N = min(N, N_opt(U_D)), r = how often beyond once
    (Muennighoff et al. 2023, arXiv:2305.16264, eq. 5 and 6, and their published code).
    """
    unique = np.minimum(tokens, unique_tokens)
    effective_tokens = unique * (1 + saturating(tokens / unique - 1, half_life=R_D))
    base = np.minimum(params, optimal_params_for_unique(unique, A=A, alpha=alpha, B=B, beta=beta))
    effective_params = base * (1 + saturating(params / base - 1, half_life=R_N))
    return E + A * effective_params**-alpha + B * effective_tokens**-beta


def saturated_experts(experts: FloatArray | float, *, E_start: float, E_max: float) -> FloatArray:
    """Ê, the number of experts as far as it still helps (arXiv:2502.05172)."""
    inverse = 1 / (experts - 1 + 1 / (1 / E_start - 1 / E_max)) + 1 / E_max
    return np.asarray(1 / inverse)


def joint_moe(
    params: FloatArray,
    tokens: FloatArray,
    *,
    experts: FloatArray,
    a: float,
    alpha: float,
    delta: float,
    gamma: float,
    b: float,
    beta: float,
    omega: float,
    zeta: float,
    E_start: float,
    E_max: float,
    c: float,
) -> FloatArray:
    """L = a·Ê^delta·N^(alpha+gamma·ln Ê) + b·Ê^omega·D^(beta+zeta·ln Ê) + c (arXiv:2502.05172).

    1/Ê = 1/(E - 1 + 1/(1/E_start - 1/E_max)) + 1/E_max saturates the number of experts E.
    """
    saturated = saturated_experts(experts, E_start=E_start, E_max=E_max)
    log_experts = np.log(saturated)
    size = a * saturated**delta * params ** (alpha + gamma * log_experts)
    data = b * saturated**omega * tokens ** (beta + zeta * log_experts)
    return size + data + c


def fine_grained_moe(
    params: FloatArray,
    tokens: FloatArray,
    *,
    granularity: FloatArray,
    c: float,
    g: float,
    gamma: float,
    a: float,
    alpha: float,
    b: float,
    beta: float,
) -> FloatArray:
    """L = c + (g/G^gamma + a)·N^-alpha + b·D^-beta (Krajewski et al. 2024, arXiv:2402.07871)."""
    return c + (g * granularity**-gamma + a) * params**-alpha + b * tokens**-beta


def quantised_params(
    params: FloatArray,
    tokens: FloatArray,
    *,
    weight_bits: FloatArray,
    gamma_w: float,
    E: float,
    A: float,
    alpha: float,
    B: float,
    beta: float,
) -> FloatArray:
    """`sum_of_powers` of N·(1 - e^(-bits/gamma_w)) parameters (Kumar 2024, arXiv:2411.04330)."""
    effective = params * -np.expm1(-weight_bits / gamma_w)
    return sum_of_powers(effective, tokens, E=E, A=A, alpha=alpha, B=B, beta=beta)


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """A law's shape and the conditions it takes beside parameters and tokens."""

    function: Callable[..., FloatArray]
    conditions: tuple[str, ...] = ()  # keyword arguments that a caller may or must give
    defaults: tuple[tuple[str, float], ...] = ()  # conditions with a value when not given


FORMS = {
    "sum-of-powers": Form(function=sum_of_powers),
    "power-of-sum": Form(function=power_of_sum),
    "kaplan-joint": Form(function=kaplan_joint),
    "equal-exponents": Form(function=equal_exponents),
    "repeated-data": Form(
        function=repeated_data,
        conditions=("unique_tokens",),
        defaults=(("unique_tokens", np.inf),),  # data that never repeats
    ),
    "joint-moe": Form(function=joint_moe, conditions=("experts",)),
    "fine-grained-moe": Form(function=fine_grained_moe, conditions=("granularity",)),
    "quantised-params": Form(
        function=quantised_params,
        conditions=("weight_bits",),
        defaults=(("weight_bits", 16.0),),  # a 16-bit recipe: 0.3 % of the parameters are lost
    ),
}
