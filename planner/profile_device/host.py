"""What a measured host adds: launches that its device does not hide, and the optimizer's update."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.engine.constants import Constants, constants
from planner.profile_device.figures import Figures
from planner.profile_device.traffic import looped_update_of

_ADAMW_PASSES = 7  # parameter, gradient, moments read; all but the gradient written
_VARIANTS: dict[str, tuple[str, ...]] = {  # kernels that stand for an optimizer, best first
    "adamw": ("loop", "foreach"),
    "adamw-foreach": ("foreach", "loop"),
    "adamw-fused": ("fused",),
}


@dataclass(frozen=True, slots=True)
class Tensors:
    """Parameters of one size."""

    number: float
    elements: float  # of each


def host_constants(figures: Figures) -> Constants | None:
    """The engine's constants with this host's launches; None where no launch was measured.

    On a CPU a kernel's own time holds its launch, and each operation of modules and autograd takes
    about another. Elsewhere the host's whole work is scaled by its launch against the fitted one.
    """
    launch, c = figures.launch_seconds, constants()
    if launch is None:
        return None
    if figures.recorded.kind == "cpu":
        return replace(c, host_op_seconds=launch, kernel_seconds=0.0)
    pace = launch / c.kernel_seconds
    return replace(c, host_op_seconds=c.host_op_seconds * pace, kernel_seconds=launch)


def exposed_seconds(figures: Figures, device: float, host: float) -> float:
    """Host time that the step waits for: all of it on a CPU, what long kernels do not hide
    elsewhere (soft maximum of device and host time, minus the device time)."""
    if figures.recorded.kind == "cpu":
        return host
    power, longest = constants().overlap_power, max(device, host, 1e-30)
    return float(longest * (1 + (min(device, host) / longest) ** power) ** (1 / power) - device)


def update_seconds(
    figures: Figures, optimizer: str, updated: Sequence[Tensors], width: float
) -> float | None:
    """Seconds to update parameters of `width` bytes; None where the profile did not time the
    optimizer.

    A loop over tensors goes at the rate of their size, since its temporaries are as large as they;
    one kernel over all of them at the rate of their sum.
    """
    if optimizer == "none":
        return 0.0
    wanted = _VARIANTS.get(optimizer, ())
    if optimizer == "adamw" and figures.recorded.kind != "cpu":
        wanted = wanted[::-1]  # torch's own choice: a loop on a CPU, foreach elsewhere
    moved = [(t.number, _ADAMW_PASSES * width * t.elements) for t in updated]
    for variant in wanted:
        if variant == "loop":
            curve = looped_update_of(figures.recorded.results)
            launches = moved
        else:
            curve = figures.traffic("adamw", "fp32", variant=variant)
            launches = [(1, sum(number * each for number, each in moved))]
        if curve is not None:
            return sum(number * float(curve.seconds(each)) for number, each in launches)
    return None
