"""Why an accelerator is not the first of a ranking, in a sentence."""

from __future__ import annotations

from planner.planning.intervals import Z80
from planner.planning.limits import violations_of
from planner.planning.outline import Outline
from planner.quantities import show_bytes, show_duration, show_usd
from planner.search.points import Aim

CAUSES = {
    "slower matrix products": ("matmul", "output_layer"),
    "slower attention": ("attention",),
    "less memory bandwidth": ("elementwise", "optimizer", "accumulation", "routing"),
    "slower links": (
        "tensor_parallel",
        "context_parallel",
        "expert_parallel",
        "sharding",
        "data_parallel",
    ),
    "less memory, so it recomputes or splits the model": ("recompute", "pipeline", "offload"),
    "launches that short kernels do not hide": ("launch",),
}
SAME = 0.01  # share of the first's time under which two are equal


def why_not(bones: Outline, first: Outline | None, aim: Aim) -> str:
    """What decides the place of `bones` against the first of the ranking."""
    if not bones.fits:
        return _too_small(bones)
    broken = violations_of(bones)
    if broken:
        worst = broken[0]
        allowed = f"{worst.allowed:,.3g} allowed"
        return f"breaks {worst.limit}: {worst.needed:,.3g} {worst.unit}, {allowed}"
    if bones.cost.usd is None and aim.by in ("cost", "value"):
        return f"cannot be ranked by {aim.by}: {bones.cost.reason}"
    if bones.energy.kwh is None and aim.by == "energy":
        return f"cannot be ranked by energy: {bones.energy.reason}"
    if first is None or first is bones:
        return f"best by {aim.by}"
    if aim.by == "cost":
        return _dearer(bones, first)
    return _slower(bones, first)


def _too_small(bones: Outline) -> str:
    devices = bones.scenario.num_devices
    if bones.host_shortage:
        return f"memory: the host lacks {show_bytes(bones.host_shortage)} a node"
    peak, capacity = show_bytes(bones.peak_bytes), show_bytes(bones.capacity_bytes)
    return f"memory: the leanest layout on {devices:,} needs {peak} of {capacity} on each"


def _dearer(bones: Outline, first: Outline) -> str:
    mine, other = bones.cost, first.cost
    if mine.per_device_hour is None or other.per_device_hour is None or other.usd is None:
        return _slower(bones, first)
    hours = bones.run.device_hours / first.run.device_hours
    price = mine.per_device_hour / other.per_device_hour
    prices = f"{show_usd(mine.per_device_hour)} an hour against {show_usd(other.per_device_hour)}"
    if price > hours:
        return f"price: {prices}, {_times(hours)} the device-hours"
    return f"{_times(hours)} the device-hours at {prices}: {_cause(bones, first)}"


def _slower(bones: Outline, first: Outline) -> str:
    ratio = bones.run.seconds / first.run.seconds
    if ratio <= 1 + SAME:
        return "as fast as the first" if ratio >= 1 - SAME else "faster, but behind by the aim"
    spread = _distinct(bones, first)
    times = f"{_times(ratio)} the time ({show_duration(bones.run.seconds)})"
    return f"{times}, mostly {_cause(bones, first)}{spread}"


def _times(ratio: float) -> str:
    """
    >>> _times(1.012), _times(1.234), _times(1234.5)
    ('1.01 times', '1.2 times', '1,234 times')
    """
    if ratio >= 10:
        return f"{ratio:,.0f} times"
    return f"{ratio:.3g} times" if 1 < ratio < 1.1 else f"{ratio:.2g} times"


def _distinct(bones: Outline, first: Outline) -> str:
    """Whether the difference is larger than what we can tell apart."""
    import math

    own = math.log(bones.step.high / bones.step.seconds) / Z80
    other = math.log(first.step.high / first.step.seconds) / Z80
    apart = math.log(bones.run.seconds / first.run.seconds)
    return "" if apart > Z80 * math.hypot(own, other) else "; within the error of both"


def _cause(bones: Outline, first: Outline) -> str:
    """The kind of part that takes most of the additional time of a sequence."""
    mine, other = _per_sequence(bones), _per_sequence(first)
    added = {
        cause: sum(mine.get(name, 0.0) - other.get(name, 0.0) for name in names)
        for cause, names in CAUSES.items()
    }
    cause = max(added, key=lambda name: added[name])
    fewer = bones.scenario.num_devices < first.scenario.num_devices
    if fewer and bones.scenario.num_devices / first.scenario.num_devices < 0.9:
        return f"fewer devices ({bones.scenario.num_devices:,})"
    return cause


def _per_sequence(bones: Outline) -> dict[str, float]:
    """Seconds of each part of a step for one sequence."""
    batch = bones.configuration.global_batch
    return {name: seconds / batch for name, seconds in bones.step.parts.items()}
