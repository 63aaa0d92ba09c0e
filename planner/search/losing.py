"""Why an accelerator is not the first of a ranking, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

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
        needed, allowed = _plain(worst.needed), _plain(worst.allowed)
        return f"breaks {worst.limit}: {needed} {worst.unit}, {allowed} allowed"
    counted = [name for name, weight in aim.weights.items() if weight]
    names = counted if aim.by == "value" else [aim.by]
    if bones.cost.usd is None and "cost" in names:
        return f"cannot be ranked by {aim.by}: {bones.cost.reason}"
    if bones.energy.kwh is None and "energy" in names:
        return f"cannot be ranked by {aim.by}: {bones.energy.reason}"
    if first is None or first is bones:
        return f"best by {aim.by}"
    if aim.by == "value":
        return _worth_less(bones, first, names)
    return {"time": _slower, "cost": _dearer, "energy": _hungrier}[aim.by](bones, first)


def _plain(value: float) -> str:
    """
    >>> _plain(1961.4), _plain(45.0)
    ('1,961', '45')
    """
    return f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"


def _too_small(bones: Outline) -> str:
    if bones.host_shortage:
        return f"memory: the host lacks {show_bytes(bones.host_shortage)} a node"
    needed = leanest_needs(bones.scenario.num_devices, bones.peak_bytes)
    return f"memory: {needed} of {show_bytes(bones.capacity_bytes)} on each"


def leanest_needs(num_devices: int, peak_bytes: float) -> str:
    """
    >>> leanest_needs(1024, 19 * 1024**3)
    'the leanest layout on 1,024 needs 19 GiB'
    """
    return f"the leanest layout on {num_devices:,} needs {show_bytes(peak_bytes)}"


def _worth_less(bones: Outline, first: Outline, names: Sequence[str]) -> str:
    """What is more and what is less of all that the value weighs, and what the worst comes from."""
    ratios = {name: _of(name, bones) / _of(name, first) for name in names}
    said = ", ".join(_times(ratio, name) for name, ratio in ratios.items())
    worst = max(ratios, key=lambda name: ratios[name])
    if ratios[worst] <= 1 + SAME:
        return f"{said}; as good as the first"
    if worst == "time":
        return f"{said}, mostly {_cause(bones, first)}{_distinct(bones, first)}"
    mine, other = bones.cost.per_device_hour, first.cost.per_device_hour
    hours = bones.run.device_hours / first.run.device_hours
    if worst == "cost" and mine and other and mine / other > hours:
        return f"{said}; price {show_usd(mine)} an hour against {show_usd(other)}"
    if worst == "energy" and _watts(bones) / _watts(first) > hours:
        return f"{said}; {_watts(bones):,.0f} W a device against {_watts(first):,.0f} W"
    return f"{said}; {_times(hours, 'device-hours')}"


def _of(name: str, bones: Outline) -> float:
    """A known quantity that an aim weighs."""
    found = {"time": bones.run.seconds, "cost": bones.cost.usd, "energy": bones.energy.kwh}[name]
    assert found is not None, name
    return found


def _watts(bones: Outline) -> float:
    return bones.energy.watts_per_device or float("nan")


def _hungrier(bones: Outline, first: Outline) -> str:
    ratio = _of("energy", bones) / _of("energy", first)
    hours = bones.run.device_hours / first.run.device_hours
    watts = f"{_watts(bones):,.0f} W a device against {_watts(first):,.0f} W"
    return f"{_times(ratio, 'energy')}: {_times(hours, 'device-hours')} at {watts}"


def _dearer(bones: Outline, first: Outline) -> str:
    mine, other = bones.cost, first.cost
    if mine.per_device_hour is None or other.per_device_hour is None or other.usd is None:
        return _slower(bones, first)
    hours = bones.run.device_hours / first.run.device_hours
    price = mine.per_device_hour / other.per_device_hour
    prices = f"{show_usd(mine.per_device_hour)} an hour against {show_usd(other.per_device_hour)}"
    if price > hours:
        return f"price: {prices}, {_times(hours, 'device-hours')}"
    return f"{_times(hours, 'device-hours')} at {prices}: {_cause(bones, first)}"


def _slower(bones: Outline, first: Outline) -> str:
    ratio = bones.run.seconds / first.run.seconds
    if ratio <= 1 + SAME:
        return "as fast as the first" if ratio >= 1 - SAME else "faster, but breaks a limit"
    spread = _distinct(bones, first)
    times = f"{_times(ratio, 'time')} ({show_duration(bones.run.seconds)})"
    return f"{times}, mostly {_cause(bones, first)}{spread}"


def _times(ratio: float, name: str) -> str:
    """
    >>> _times(1.012, "time"), _times(1.234, "cost"), _times(1234.5, "time"), _times(1.001, "cost")
    ('1.01 times the time', '1.2 times the cost', '1,234 times the time', 'the same cost')
    """
    if abs(ratio - 1) < SAME / 2:
        return f"the same {name}"
    if ratio >= 10:
        return f"{ratio:,.0f} times the {name}"
    return f"{ratio:.3g} times the {name}" if 1 < ratio < 1.1 else f"{ratio:.2g} times the {name}"


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
