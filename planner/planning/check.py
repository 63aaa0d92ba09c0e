"""Is a throughput or MFU that somebody reports possible, and how does it compare with ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.errors import PlannerError
from planner.planning.outline import Outline
from planner.planning.rates import peak_flops, throughput_of

SPARSE_FACTOR = 2.0  # datasheets' 2:4 sparse rates against the dense ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Reported:
    """A verdict on a reported utilisation."""

    mfu: float  # against the dense peak of one device
    possible: bool
    says: str  # one line for a person


def check_mfu(mfu: float, devices: int = 1) -> Reported:
    """Refuse an MFU above 100 %, and say which usual slip would explain it.

    >>> check_mfu(3.3759, devices=8).says
    'MFU of 338 % is impossible: summed over 8 devices it would be 42.2 % of each'
    >>> check_mfu(0.41).possible
    True
    """
    if not mfu > 0:
        raise PlannerError("mfu", mfu, "write a number above zero")
    if mfu <= 1:
        return Reported(mfu=mfu, possible=True, says=f"MFU {100 * mfu:.3g} % of the dense peak")
    why = "a wrong peak, a forgotten number of devices, or tokens of several steps"
    if devices > 1 and mfu / devices <= 1:
        why = f"summed over {devices} devices it would be {100 * mfu / devices:.3g} % of each"
    says = f"MFU of {100 * mfu:.3g} % is impossible: {why}"
    return Reported(mfu=mfu, possible=False, says=says)


def mfu_of(tokens_per_second: float, *, flops_per_token: float, peak: float) -> float:
    """MFU of one device from its tokens/s, FLOP per token, and dense peak in FLOP/s.

    >>> round(mfu_of(3700, flops_per_token=46.9e9, peak=312e12), 3)
    0.556
    """
    return tokens_per_second * flops_per_token / peak


def check_reported(bones: Outline, tokens_per_second: float) -> dict[str, Any]:
    """A reported rate of all accelerators, tokens/s (samples/s of a traced module), against the
    dense peak and our plan."""
    each, made = bones.scenario, bones.configuration
    ours = throughput_of(bones)
    per_device = tokens_per_second / made.num_devices
    mine = ours.tokens_per_second or ours.samples_per_second
    flops = ours.tflops_per_device * 1e12 / (mine / made.num_devices)
    mfu = mfu_of(per_device, flops_per_token=flops, peak=peak_flops(bones))
    found = check_mfu(mfu)
    ratio = tokens_per_second / mine
    low, high = (bones.step.seconds / bound for bound in (bones.step.high, bones.step.low))
    where = "inside" if low <= ratio <= high else "outside"
    says = f"{found.says}; {ratio:.2f} times our best estimate, {where} its interval"
    if mfu > 1 and mfu / made.num_devices <= 1 < made.num_devices:
        says = check_mfu(mfu, made.num_devices).says + f" ({each.accelerator.sku_id})"
    return {
        "tokens_per_second": tokens_per_second,
        "mfu": mfu,
        "mfu_against_sparse_peak": mfu / SPARSE_FACTOR,
        "possible": found.possible,
        "against_plan": ratio,
        "says": says,
    }
