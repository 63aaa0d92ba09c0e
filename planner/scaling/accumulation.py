"""Micro-steps, accumulation windows and how their losses must be averaged."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from planner.errors import PlannerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Epoch:
    """One pass over the examples, counted in micro-steps and in optimizer steps."""

    examples: int
    devices: int  # data-parallel ranks
    micro_batch: int  # examples per rank and micro-step
    accumulation: int  # micro-steps per optimizer step
    global_batch: int  # examples per optimizer step
    loader_iterations: int  # micro-steps of each rank
    optimizer_steps: int
    last_window: int  # micro-steps of the last optimizer step; less than accumulation = short
    unused_examples: int  # left out because the loader drops what does not fill a micro-step
    padded_examples: int  # repeated so that every rank has as many


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowLoss:
    """The loss of one optimizer step, rightly averaged and in the ways that go wrong."""

    loss: float  # weighted by tokens: what one big batch gives
    mean_of_means: float  # wrong where micro-batches differ in tokens
    sum_of_means: float  # wrong: not divided at all
    divided_by_configured: float  # wrong where the last window is short
    tokens: float
    warnings: tuple[str, ...]


def count_epoch(
    *,
    examples: int,
    devices: int,
    micro_batch: int,
    global_batch: int | None = None,
    accumulation: int | None = None,
    drop_last: bool = False,
) -> Epoch:
    """Micro-steps and optimizer steps of an epoch; give the global batch or the accumulation.

    A sampler over ranks pads to a multiple of `devices` unless `drop_last`. Raises PlannerError
    when the global batch is no multiple of devices times micro-batch.

    >>> epoch = count_epoch(examples=240_000, devices=8, micro_batch=1, global_batch=32)
    >>> epoch.accumulation, epoch.loader_iterations, epoch.optimizer_steps
    (4, 30000, 7500)
    """
    named = {"examples": examples, "devices": devices, "micro_batch": micro_batch}
    for name, value in named.items():
        if value < 1:
            raise PlannerError(name, value, "must be at least 1")
    window = _accumulation(devices * micro_batch, global_batch, accumulation)
    share = examples // devices if drop_last else math.ceil(examples / devices)
    iterations = share // micro_batch if drop_last else math.ceil(share / micro_batch)
    if iterations == 0:
        raise PlannerError("examples", examples, "fill not one micro-step on every device")
    return Epoch(
        examples=examples,
        devices=devices,
        micro_batch=micro_batch,
        accumulation=window,
        global_batch=devices * micro_batch * window,
        loader_iterations=iterations,
        optimizer_steps=math.ceil(iterations / window),
        last_window=(iterations - 1) % window + 1,
        unused_examples=max(0, examples - iterations * micro_batch * devices),
        padded_examples=0 if drop_last else share * devices - examples,
    )


def window_loss(
    tokens: Sequence[float], losses: Sequence[float], *, configured: int | None = None
) -> WindowLoss:
    """The loss of one accumulation window from each micro-batch's tokens and mean loss.

    `configured` is the accumulation that the trainer divides by; the window itself may be shorter.

    >>> window = window_loss([10, 90], [4.0, 2.0], configured=4)
    >>> window.loss, window.mean_of_means, window.sum_of_means, window.divided_by_configured
    (2.2, 3.0, 6.0, 1.5)
    """
    if len(tokens) != len(losses) or not tokens:
        raise PlannerError(
            "micro_batches", len(losses), "as many token counts as losses, 1 or more"
        )
    if min(tokens) < 0 or not all(map(math.isfinite, [*tokens, *losses])):
        raise PlannerError("tokens", list(tokens), "token counts must be finite, not negative")
    total = math.fsum(tokens)
    if total <= 0:
        raise PlannerError("tokens", list(tokens), "the window has no token with a loss")
    divisor = configured or len(losses)
    if divisor < len(losses):
        raise PlannerError("configured", configured, f"the window has {len(losses)} micro-batches")
    weighted = math.fsum(n * loss for n, loss in zip(tokens, losses, strict=True)) / total
    summed = math.fsum(losses)
    return WindowLoss(
        loss=weighted,
        mean_of_means=summed / len(losses),
        sum_of_means=summed,
        divided_by_configured=summed / divisor,
        tokens=total,
        warnings=_advice(tokens, divisor, len(losses)),
    )


def _accumulation(per_micro_step: int, global_batch: int | None, accumulation: int | None) -> int:
    if (global_batch is None) == (accumulation is None):
        raise PlannerError("global_batch", global_batch, "give it or the accumulation, not both")
    if accumulation is not None:
        if accumulation < 1:
            raise PlannerError("accumulation", accumulation, "must be at least 1")
        return accumulation
    assert global_batch is not None
    if global_batch < 1 or global_batch % per_micro_step:
        remedy = f"must be a multiple of devices times micro-batch, {per_micro_step}"
        raise PlannerError("global_batch", global_batch, remedy)
    return global_batch // per_micro_step


def _advice(tokens: Sequence[float], divisor: int, window: int) -> tuple[str, ...]:
    advice = []
    if max(tokens) > min(tokens):
        advice.append(
            "micro-batches differ in tokens: weigh each loss by its tokens (token-weighted); only "
            "then does accumulation equal one batch of the same size"
        )
    if divisor > window:
        advice.append(
            f"the last window has {window} of {divisor} micro-batches: dividing by {divisor} "
            f"shrinks its gradient to {window / divisor:.0%}"
        )
    return tuple(advice)
