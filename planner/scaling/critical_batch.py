"""The batch size beyond which more data parallelism stops paying, and what it costs to go there.

McCandlish et al. 2018 (arXiv:1812.06162): reaching a loss takes S steps and E tokens with
(S/S_min - 1)(E/E_min - 1) = 1, so at batch B, S = S_min·(1 + B_crit/B), E = E_min·(1 + B/B_crit),
where B_crit = E_min/S_min.
"""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PlannerError
from planner.scaling.laws import positive

KAPLAN_BATCH, KAPLAN_EXPONENT = 2.0e8, 0.21  # tokens; arXiv:2001.08361, equation 5.3
MINICPM_BATCH, MINICPM_EXPONENT = 1.21e9, 6.24  # tokens; arXiv:2404.06395, section 3.2
ZHANG_EXPONENT = 0.47  # arXiv:2410.21676, abstract: of the critical batch in training tokens


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchPoint:
    """One batch size against the critical one, for a fixed final loss."""

    batch_tokens: float  # tokens per optimizer step
    steps: float
    tokens: float  # in total
    extra_tokens: float  # share above what a small batch needs
    extra_steps: float  # share above the fewest steps possible
    seconds: float | None  # on the same devices, at the throughput given
    seconds_grown: float | None  # with devices in proportion to the batch


def critical_batch_of_loss(loss: float) -> float:
    """B_crit in tokens at a loss in nats per token, Kaplan et al. 2020: 2e8·L^(-1/0.21).

    >>> f"{critical_batch_of_loss(3.0):.3g}"
    '1.07e+06'
    """
    return float(KAPLAN_BATCH * positive("loss", loss) ** (-1 / KAPLAN_EXPONENT))


def best_batch_of_loss(loss: float) -> float:
    """Best batch in tokens at a C4 loss, MiniCPM 2024 (9M to 170M parameters): 1.21e9/L^6.24.

    >>> f"{best_batch_of_loss(3.0):.5g}"
    '1.2751e+06'
    """
    return float(MINICPM_BATCH / positive("loss", loss) ** MINICPM_EXPONENT)


def critical_batch_of_tokens(
    tokens: float, *, measured_batch: float, measured_tokens: float
) -> float:
    """Carry a measured critical batch to another training length: B ∝ D^0.47 (Zhang 2024).

    The study finds no dependence on the model's size at a fixed number of tokens. Its prefactor
    depends on the recipe, which is why one measurement is asked for.

    >>> round(critical_batch_of_tokens(4e10, measured_batch=1e6, measured_tokens=1e10) / 1e6, 2)
    1.92
    """
    ratio = positive("tokens", tokens) / positive("measured_tokens", measured_tokens)
    return float(positive("measured_batch", measured_batch) * ratio**ZHANG_EXPONENT)


def steps_needed(*, min_steps: float, critical_batch: float, batch: float) -> float:
    """S = S_min·(1 + B_crit/B); batches in the same unit.

    >>> steps_needed(min_steps=10_000, critical_batch=1e6, batch=1e6)
    20000.0
    """
    ratio = positive("critical_batch", critical_batch) / positive("batch", batch)
    return float(positive("min_steps", min_steps) * (1 + ratio))


def trade_off(
    *,
    tokens: float,
    critical_batch: float,
    batch: float,
    tokens_per_second: float | None = None,
    reference_batch: float | None = None,
) -> BatchPoint:
    """What a batch costs when a small one needs `tokens` in all for the same loss.

    `tokens_per_second` is the throughput of the devices at `reference_batch` (this batch where
    not given); devices in proportion to the batch multiply it.

    >>> point = trade_off(tokens=1e11, critical_batch=1e6, batch=1e6)
    >>> point.steps, point.tokens, point.extra_tokens
    (200000.0, 200000000000.0, 1.0)
    """
    least, size = float(positive("tokens", tokens)), float(positive("batch", batch))
    critical = float(positive("critical_batch", critical_batch))
    if size > least:
        raise PlannerError("batch", batch, f"one step would take more than all {least:.3g} tokens")
    needed = least * (1 + size / critical)
    seconds = grown = None
    if tokens_per_second is not None:
        seconds = needed / float(positive("tokens_per_second", tokens_per_second))
        grown = seconds * float(positive("reference_batch", reference_batch or size)) / size
    return BatchPoint(
        batch_tokens=size,
        steps=needed / size,
        tokens=needed,
        extra_tokens=size / critical,
        extra_steps=critical / size,
        seconds=seconds,
        seconds_grown=grown,
    )


def effective_tokens(*, tokens: float, batch: float, critical_batch: float) -> float:
    """What `tokens` at this batch are worth in tokens of a small batch: D/(1 + B/B_crit)."""
    return float(
        positive("tokens", tokens)
        / (1 + positive("batch", batch) / positive("critical_batch", critical_batch))
    )
