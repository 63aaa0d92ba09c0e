"""The gradient noise scale of a real model, from the gradients of several micro-batches."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from profiles.errors import ProfileError

_Z80 = 1.2815515655446004  # standard normal quantile of 90 %


@dataclass(frozen=True, slots=True, kw_only=True)
class GradientNoise:
    """tr(Σ)/|G|², in the unit of `size` (samples or tokens)."""

    noise_scale: float | None  # None where the true gradient drowns in the noise
    low: float | None  # 80 %, by jackknife over the micro-batches
    high: float | None
    gradient_square: float  # unbiased estimate of |G|²
    variance: float  # unbiased estimate of tr(Σ), of one sample or token
    num_batches: int


def gradient_noise(
    model: Any,
    loss_of: Callable[[Any], Any],
    batches: Iterable[Any],
    *,
    size: float,
) -> GradientNoise:
    """The simple noise scale of `model` at its present weights (McCandlish et al. 2018, app. A.1).

    `batches` gives micro-batches of `size` samples (or tokens) each, at least 4; `loss_of(batch)`
    is their mean loss. With |g|² the squared norm of one micro-batch's gradient and |ḡ|² that of
    the mean of all K: |G|² = (K·|ḡ|² − mean|g|²)/(K − 1), tr(Σ) = size·(mean|g|² − |ḡ|²)·K/(K − 1).
    Gradients that were there before are cleared; weights do not change.
    """
    parameters = [each for each in model.parameters() if each.requires_grad]
    squares: list[float] = []
    crossed: list[float] = []  # g·(sum of all), filled at the end
    vectors: list[list[Any]] = []
    for batch in batches:
        model.zero_grad(set_to_none=True)
        loss_of(batch).backward()
        vectors.append([each.grad.detach().float().clone() for each in _with_gradient(parameters)])
        squares.append(_dot(vectors[-1], vectors[-1]))
    model.zero_grad(set_to_none=True)
    if len(squares) < 4 or size <= 0:
        raise ProfileError("batches", len(squares), "give at least 4 micro-batches of some size")
    total = [sum(parts) for parts in zip(*vectors, strict=True)]
    crossed = [_dot(each, total) for each in vectors]
    return noise_of(squares, crossed, _dot(total, total), size=size)


def _with_gradient(parameters: Sequence[Any]) -> list[Any]:
    found = [each for each in parameters if each.grad is not None]
    if not found:
        raise ProfileError("loss_of", None, "its loss gives no parameter a gradient")
    return found


def _dot(a: Sequence[Any], b: Sequence[Any]) -> float:
    return float(sum((x * y).sum(dtype=x.dtype).double() for x, y in zip(a, b, strict=True)))


def noise_of(
    squares: Sequence[float], crossed: Sequence[float], total_square: float, *, size: float
) -> GradientNoise:
    """From |g_i|², g_i·Σg and |Σg|² of K micro-batches of `size` each."""
    count = len(squares)
    gradient, variance = _unbiased(sum(squares), total_square, count, size)
    scale = variance / gradient if gradient > 0 and variance > 0 else None
    low, high = _interval(squares, crossed, total_square, size, scale)
    return GradientNoise(
        noise_scale=scale,
        low=low,
        high=high,
        gradient_square=gradient,
        variance=variance,
        num_batches=count,
    )


def _unbiased(squares: float, total_square: float, count: int, size: float) -> tuple[float, float]:
    mean_square, big = squares / count, total_square / count**2
    gradient = (count * big - mean_square) / (count - 1)
    variance = size * (mean_square - big) * count / (count - 1)
    return gradient, variance


def _interval(
    squares: Sequence[float],
    crossed: Sequence[float],
    total_square: float,
    size: float,
    scale: float | None,
) -> tuple[float | None, float | None]:
    """Jackknife of the logarithm; None where leaving one out loses the gradient in the noise."""
    from math import exp, log, sqrt

    if scale is None:
        return None, None
    count = len(squares)
    logs = []
    for square, cross in zip(squares, crossed, strict=True):
        rest = total_square - 2 * cross + square
        gradient, variance = _unbiased(sum(squares) - square, rest, count - 1, size)
        if gradient <= 0 or variance <= 0:
            return None, None
        logs.append(log(variance / gradient))
    mean = sum(logs) / count
    error = sqrt((count - 1) / count * sum((each - mean) ** 2 for each in logs))
    return scale * exp(-_Z80 * error), scale * exp(_Z80 * error)
