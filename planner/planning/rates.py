"""Throughput and utilisation of a plan."""

from __future__ import annotations

from planner.engine.formats import MATMUL
from planner.planning.outline import Outline
from planner.planning.result import Throughput
from planner.planning.scenario import ADAPTER_TASKS

FULL_RECOMPUTATION = 4 / 3  # forward, backward twice as long, and the forward again, against 3


def throughput_of(bones: Outline) -> Throughput:
    """Rates of real tokens; MFU counts the model's own FLOP, HFU what recomputation adds."""
    from planner.models import flops_per_token

    each, made = bones.scenario, bones.configuration
    seconds = bones.step.seconds
    per_row = each.lengths.tokens_per_row if each.lengths else float(made.seq_len)
    rate = made.global_batch * per_row / seconds
    per_device = rate / made.num_devices
    flops = flops_per_token(each.model, max(round(per_row), 1)) * per_device
    if made.task in ADAPTER_TASKS:
        flops = flops * 2 / 3  # frozen weights have no gradient products
    again = FULL_RECOMPUTATION if made.recompute == "full" else 1.0
    peak = peak_flops(bones)
    samples = float(each.lengths.samples_per_row) if each.lengths else 1.0
    return Throughput(
        tokens_per_second=rate,
        tokens_per_second_per_device=per_device,
        samples_per_second=made.global_batch * samples / seconds,
        mfu=flops / peak,
        hfu=flops * again / peak,
        tflops_per_device=flops / 1e12,
        peak_tflops=peak / 1e12,
    )


def peak_flops(bones: Outline) -> float:
    """Dense FLOP/s of the part in the recipe's matmul format; FP32's where that is emulated."""
    part = bones.scenario.accelerator
    peak = part.peak(MATMUL[bones.configuration.precision]) or part.peak("fp32")
    assert peak, "formats without a rate are refused when names are looked up"
    return peak
