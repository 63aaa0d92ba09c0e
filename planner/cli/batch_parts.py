"""The parts of `forerun batch`, each from the options that it needs, or None."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

import numpy as np

from planner.cli.amounts import LOSS, NUMBER, PARAMS, amount, tokens
from planner.errors import PlannerError
from planner.quantities import COUNT, RATE, TOKENS, read_whole
from planner.scaling.accumulation import Epoch, WindowLoss, count_epoch, window_loss
from planner.scaling.conventions import count_for
from planner.scaling.critical_batch import (
    BatchPoint,
    best_batch_of_loss,
    critical_batch_of_loss,
    critical_batch_of_tokens,
    trade_off,
)
from planner.scaling.forecast import predict_loss
from planner.scaling.laws import DEFAULT_LAW, law
from planner.scaling.learning_rate import (
    Published,
    Rescaled,
    noisy_rate_bound,
    published_settings,
    rescale,
)

RULES = {"adamw": "sqrt", "adam": "sqrt", "lion": "sqrt", "sgd": "linear", "sgd-momentum": "linear"}
SPREAD = 4  # the table shows the critical batch from 1/2^4 to 2^4


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """The run, as far as it is known."""

    params: float | None
    tokens: float | None
    batch_sequences: int | None  # per optimizer step
    batch_tokens: float | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Critical:
    """The critical batch and where it comes from."""

    tokens: float
    sequences: float | None
    source: str
    loss: float | None  # nats per token at which it holds
    optimal_tokens: float | None  # best batch of MiniCPM's fit at that loss


def run_of(args: argparse.Namespace) -> Size:
    """Model, tokens and global batch that the options state."""
    params, warnings = _params(args)
    batch = _global_batch(args)
    seq_len = _whole("--seq-len", args.seq_len)
    return Size(
        params=params,
        tokens=tokens("--tokens", args.tokens),
        batch_sequences=batch,
        batch_tokens=None if batch is None or seq_len is None else float(batch * seq_len),
        warnings=warnings,
    )


def critical_of(args: argparse.Namespace, size: Size) -> Critical | None:
    """Measured noise first, then a measurement carried over, then Kaplan's law of the loss."""
    noise = tokens("--noise-scale", args.noise_scale)
    if noise is not None:
        return _critical(args, noise, "measured gradient noise scale (arXiv:1812.06162)", None)
    measured = tokens("--measured-batch", args.measured_batch)
    if measured is not None:
        at = tokens("--measured-tokens", args.measured_tokens)
        if at is None or size.tokens is None:
            raise PlannerError("--measured-batch", measured, "needs --measured-tokens and --tokens")
        carried = critical_batch_of_tokens(size.tokens, measured_batch=measured, measured_tokens=at)
        return _critical(args, carried, "measured, carried by D^0.47 (arXiv:2410.21676)", None)
    loss = amount(LOSS, "--loss", args.loss)
    if loss is None and size.params is not None and size.tokens is not None:
        loss = predict_loss(params=size.params, tokens=size.tokens).value
    if loss is None:
        return None
    source = "2e8·L^(-1/0.21) at the final loss (arXiv:2001.08361)"
    return _critical(args, critical_batch_of_loss(loss), source, loss)


def table_of(
    args: argparse.Namespace, size: Size, critical: Critical | None
) -> list[BatchPoint] | None:
    """Steps, tokens and time around the critical batch and at the run's own."""
    if critical is None or size.tokens is None:
        return None
    wanted = set(critical.tokens * 2.0 ** np.arange(-SPREAD, SPREAD + 1))
    wanted |= {size.batch_tokens} if size.batch_tokens is not None else set()
    rate = amount(RATE, "--tokens-per-second", args.tokens_per_second)
    return [
        trade_off(
            tokens=size.tokens,
            critical_batch=critical.tokens,
            batch=batch,
            tokens_per_second=rate,
            reference_batch=size.batch_tokens,
        )
        for batch in sorted(wanted)
        if batch <= size.tokens
    ]


def accumulation_of(args: argparse.Namespace) -> Epoch | None:
    """Micro-steps and optimizer steps of an epoch, when the examples are known."""
    examples = _whole("--examples", args.examples)
    if examples is None:
        return None
    return count_epoch(
        examples=examples,
        devices=_whole("--count", args.count) or 1,
        micro_batch=_whole("--micro-batch", args.micro_batch) or 1,
        global_batch=_whole("--global-batch", args.global_batch),
        accumulation=_whole("--accumulation", args.accumulation),
    )


def rates_of(
    args: argparse.Namespace, size: Size, critical: Critical | None
) -> dict[str, Rescaled | list[Published] | None] | None:
    """The given rate at the run's batch, and what published fits advise."""
    published = None
    if size.params is not None and size.tokens is not None:
        published = published_settings(params=size.params, tokens=size.tokens)
    carried = _carried(args, size, critical)
    return {"carried": carried, "published": published} if carried or published else None


def window_of(args: argparse.Namespace) -> WindowLoss | None:
    """How to average the losses of one accumulation window."""
    if args.window_tokens is None and args.window_losses is None:
        return None
    return window_loss(
        _numbers("--window-tokens", args.window_tokens),
        _numbers("--window-losses", args.window_losses),
        configured=_whole("--accumulation", args.accumulation),
    )


def bound_of(args: argparse.Namespace) -> float | None:
    """Largest safe learning rate for noisy gradients, when all four quantities are given."""
    names = ("rounding", "smoothness", "gradient_variance", "precision_variance")
    given = {
        name: amount(NUMBER, f"--{name.replace('_', '-')}", getattr(args, name)) for name in names
    }
    known = {name: value for name, value in given.items() if value is not None}
    if not known:
        return None
    missing = [name for name in names[:3] if name not in known]
    if missing:
        raise PlannerError(f"--{missing[0].replace('_', '-')}", None, "the bound needs it")
    return noisy_rate_bound(
        rounding=known["rounding"],
        smoothness=known["smoothness"],
        gradient_variance=known["gradient_variance"],
        precision_variance=known.get("precision_variance", 0.0),
    )


def _params(args: argparse.Namespace) -> tuple[float | None, tuple[str, ...]]:
    if args.model is None:
        return amount(PARAMS, "--params", args.params), ()
    if args.params is not None:
        raise PlannerError("--params", args.params, "a model is named already; give one of them")
    from planner.models import load_model

    counted = count_for(law(DEFAULT_LAW), load_model(args.model))
    return counted.params, counted.warnings


def _global_batch(args: argparse.Namespace) -> int | None:
    stated = _whole("--global-batch", args.global_batch)
    window = _whole("--accumulation", args.accumulation)
    if stated is not None or window is None or args.micro_batch is None:
        return stated
    devices = _whole("--count", args.count) or 1
    return devices * (_whole("--micro-batch", args.micro_batch) or 1) * window


def _critical(
    args: argparse.Namespace, batch_tokens: float, source: str, loss: float | None
) -> Critical:
    seq_len = _whole("--seq-len", args.seq_len)
    return Critical(
        tokens=batch_tokens,
        sequences=None if seq_len is None else batch_tokens / seq_len,
        source=source,
        loss=loss,
        optimal_tokens=None if loss is None else best_batch_of_loss(loss),
    )


def _carried(args: argparse.Namespace, size: Size, critical: Critical | None) -> Rescaled | None:
    rate = amount(NUMBER, "--learning-rate", args.learning_rate)
    if rate is None:
        return None
    before = _whole("--from-batch", args.from_batch)
    if before is None or size.batch_sequences is None:
        raise PlannerError("--learning-rate", rate, "needs --from-batch and --global-batch")
    optimizer = args.optimizer or "adamw"
    if optimizer not in RULES:
        raise PlannerError("--optimizer", optimizer, f"one of {', '.join(RULES)}")
    return rescale(
        rate,
        from_batch=before,
        to_batch=size.batch_sequences,
        rule=RULES[optimizer],
        critical_batch=None if critical is None else critical.sequences,
    )


def _whole(field: str, text: str | None) -> int | None:
    return None if text is None else read_whole(TOKENS if "seq" in field else COUNT, field, text)


def _numbers(field: str, text: str | None) -> list[float]:
    if text is None:
        raise PlannerError(field, None, "give --window-tokens and --window-losses together")
    try:
        return [float(word) for word in text.split(",")]
    except ValueError:
        raise PlannerError(field, text, "write numbers with commas between, e.g. 10,90") from None
