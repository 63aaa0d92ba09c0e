"""What a step time says of a machine: its utilisation, the rule 6·N·D, impossible figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hardware_db
from planner.engine.formats import ATTENTION, MATMUL
from planner.fidelity.case import Case, Refusal
from planner.models import flops_per_token

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration

RULE_OF_THUMB = 0.4  # of the dense peak: the usual guess where nothing else is known
SLOWEST = 1e-3  # of the peak: below, a unit is more likely wrong than a run that slow
LONGEST_STEP = 30 * 86_400.0  # s
UNIT_SLACK = 1.08  # a peak in GB under a column of GiB is a slip, not an impossibility
FROZEN_SHARE = 2 / 3  # of the FLOPs where frozen weights need no gradient


def peak_flops(configuration: Configuration) -> float | None:
    """Dense FLOP/s of all devices in the recipe's matmul format, None where unknown."""
    peak = hardware_db.accelerator(configuration.sku).peak(MATMUL[configuration.precision])
    return None if peak is None else peak * configuration.num_devices


def model_flops(configuration: Configuration) -> float:
    """FLOP of one step by the standard convention, attention included (full s²)."""
    tokens = configuration.tokens_per_step
    return tokens * flops_per_token(
        configuration.model,
        configuration.seq_len,
        encoder_seq_len=configuration.encoder_seq_len,
    )


def utilisation(configuration: Configuration, step_seconds: float) -> float | None:
    """Model FLOP/s against the dense peak, a fraction; None where the peak is unknown."""
    peak = peak_flops(configuration)
    return None if peak is None else model_flops(configuration) / step_seconds / peak


def rule_seconds(configuration: Configuration) -> float | None:
    """Step time by the rule 6·N·D at 40 % of the dense peak, N the active parameters."""
    peak = peak_flops(configuration)
    if peak is None:
        return None
    needed = 6 * configuration.model.params_active * configuration.tokens_per_step
    return needed / (RULE_OF_THUMB * peak)


def stated_seconds(case: Case) -> float | None:
    """Step time that a published TFLOP/s or MFU implies, None where the row states neither.

    Conventions differ (causal or full attention, recomputation counted or not), which is why such
    rows are reported apart.
    """
    configuration = case.configuration
    if case.tflops_per_device is not None:
        rate: float | None = case.tflops_per_device * 1e12 * configuration.num_devices
    else:
        peak = peak_flops(configuration)
        rate = None if peak is None or case.mfu is None else case.mfu * peak
    return None if rate is None else model_flops(configuration) / rate


def impossible(case: Case) -> str | None:
    """Why no machine can have shown that time or peak, or cannot be asked. None where it can."""
    return _unknown_rate(case) or _impossible_time(case) or _impossible_peak(case)


def _unknown_rate(case: Case) -> str | None:
    """An accelerator whose rate in that format nobody states predicts nothing."""
    each = case.configuration
    part = hardware_db.accelerator(each.sku)
    needed = {MATMUL[each.precision], ATTENTION[each.precision]}
    missing = sorted(name for name in needed if part.peak(name) is None)
    if missing:
        return f"precision: {each.precision!r}: {each.sku} has no stated rate in {missing[0]}"
    if part.memory_bandwidth is None:
        return f"sku_id: {each.sku!r}: no stated memory bandwidth"
    return None


def _impossible_time(case: Case) -> str | None:
    if case.actual_seconds is None:
        return None
    if case.actual_seconds > LONGEST_STEP:
        return f"step_time_s: {case.actual_seconds:.4g}: no step takes a month; is it in seconds?"
    used = _least_utilisation(case.configuration, case.actual_seconds)
    if used is None or used <= 1:
        return None
    return (
        f"step_time_s: {case.actual_seconds:.4g}: {used:.0%} of the dense peak is impossible;"
        " milliseconds, or tokens/s of all devices?"
    )


def _impossible_peak(case: Case) -> str | None:
    memory = hardware_db.accelerator(case.configuration.sku).memory_bytes
    peak = case.actual_peak_bytes
    if memory is None or peak is None or case.oom or peak <= memory * UNIT_SLACK:
        return None
    return (
        f"peak_mem_gib: {peak / 2**30:,.0f}: the accelerator has {memory / 2**30:.4g} GiB;"
        " MiB, or of all devices?"
    )


def suspicious(case: Case) -> str | None:
    """Why a time looks like a wrong unit although it is possible. None where it does not."""
    if case.actual_seconds is None:
        return None
    used = utilisation(case.configuration, case.actual_seconds)
    if used is not None and used < SLOWEST:
        return f"{used:.2g} of the dense peak; is the time in seconds?"
    return None


def _least_utilisation(configuration: Configuration, step_seconds: float) -> float | None:
    """Utilisation of what must be computed at least: causal products, no frozen gradients."""
    used = utilisation(configuration, step_seconds)
    if used is None:
        return None
    causal = flops_per_token(configuration.model, configuration.seq_len, causal=True)
    full = flops_per_token(configuration.model, configuration.seq_len)
    frozen = FROZEN_SHARE if configuration.task in ("lora", "qlora") else 1.0
    return used * causal / full * frozen


def sift(cases: list[Case]) -> tuple[list[Case], list[Refusal]]:
    """The cases whose measurement is possible, and refusals of the others.

    An impossible figure takes the whole row: whoever mistook one unit may have mistaken another.
    """
    kept: list[Case] = []
    gone: list[Refusal] = []
    for case in cases:
        reason = impossible(case)
        if reason is None:
            kept.append(case)
        else:
            gone.append(
                Refusal(
                    id=case.id,
                    line=case.line,
                    source=case.source,
                    group=case.group,
                    kind=case.kind,
                    reason=reason,
                )
            )
    return kept, gone
