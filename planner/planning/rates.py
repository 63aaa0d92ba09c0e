"""Throughput and utilisation of a plan."""

from __future__ import annotations

from planner.engine.formats import MATMUL
from planner.planning.outline import Outline
from planner.planning.result import Throughput
from planner.planning.scenario import ADAPTER_TASKS, Scenario

FULL_RECOMPUTATION = 4 / 3  # forward, backward twice as long, and the forward again, against 3


def throughput_of(bones: Outline) -> Throughput:
    """Rates of real tokens; MFU counts the model's own FLOP, HFU what recomputation adds."""
    each, made = bones.scenario, bones.configuration
    seconds = bones.step.seconds
    per_row = each.lengths.tokens_per_row if each.lengths else float(made.seq_len)
    rate = made.global_batch * per_row / seconds
    per_device = rate / made.num_devices
    per_token, per_sample = flops_of(each, max(round(per_row), 1))
    flops = (per_sample if per_token is None else per_token) * per_device
    if made.task in ADAPTER_TASKS:
        flops = flops * 2 / 3  # frozen weights have no gradient products
    again = _again(bones) if made.recompute == "full" else 1.0
    peak = peak_flops(bones)
    samples = float(each.lengths.samples_per_row) if each.lengths else 1.0
    traced = each.model.table is not None
    return Throughput(
        tokens_per_second=None if traced else rate,
        tokens_per_second_per_device=None if traced else per_device,
        samples_per_second=made.global_batch * samples / seconds,
        samples_per_second_per_device=made.global_batch * samples / seconds / made.num_devices,
        mfu=flops / peak,
        hfu=flops * again / peak,
        tflops_per_device=flops / 1e12,
        peak_tflops=peak / 1e12,
    )


def flops_of(each: Scenario, seq_len: int) -> tuple[float | None, float]:
    """The model's own FLOP per token (None for a traced module) and per sample."""
    table = each.model.table
    if table is not None:
        return None, table.flops_per_sample(each.run.training.precision)
    from planner.models import flops_per_token

    per_token = flops_per_token(each.model, seq_len)
    return per_token, per_token * seq_len


def _again(bones: Outline) -> float:
    """Factor of the FLOP under full recomputation: a third more, or what the trace counted."""
    table, precision = bones.scenario.model.table, bones.configuration.precision
    if table is None:
        return FULL_RECOMPUTATION
    return table.work(precision, "full").flops[1] / table.work(precision).flops[1]


def peak_flops(bones: Outline) -> float:
    """Dense FLOP/s of the part in the recipe's matmul format; FP32's where that is emulated."""
    part = bones.scenario.accelerator
    peak = part.peak(MATMUL[bones.configuration.precision]) or part.peak("fp32")
    assert peak, "formats without a rate are refused when names are looked up"
    return peak
