"""What makes an answer less sure: doubts that widen its interval, and the grade of its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.formats import MATMUL
from planner.planning.memory_doubts import REASONS as MEMORY_REASONS
from planner.planning.memory_doubts import memory_doubts
from planner.planning.result import Evidence
from planner.planning.scenario import Scenario
from planner.planning.time_doubts import LAUNCH_BOUND, applying, time_doubts
from planner.quantities import show_percent

if TYPE_CHECKING:
    from planner.planning.outline import Outline

REASONS = {
    "mixture": "mixture of experts: published runs of equal settings differ by up to 1.8 times",
    "unmeasured_rate": "no measured matmul rate of this accelerator in this format",
    "memory_figures": "figures of this accelerator are derived or from memory, not a datasheet",
    "laptop_power": "the power that the maker of the laptop gives it decides its clock",
    "offload": "offload to the host: few published runs",
    "adapters": "adapters on frozen weights: few published runs",
    "launch_bound": "short kernels: the host's speed decides, which nobody states",
    "math_attention": "attention without a flash kernel",
    "traced": "traced module: rates of one network, ResNet-50, stand behind its formulas",
}


def doubts_of(each: Scenario) -> tuple[str, ...]:
    """Names of the doubts that apply whatever is chosen; `REASONS` says them in words."""
    part, training = each.accelerator, each.run.training
    found = time_doubts(
        each.model,
        part,
        precision=training.precision,
        task=training.task,
        offload=training.offload,
    )
    found["memory_figures"] |= part.from_memory("usable_bytes")
    found["math_attention"] = training.attention == "sdpa-math"
    found["laptop_power"] = part.form_factor == "laptop" and each.device is None
    found["traced"] = each.model.table is not None
    return applying(found)


def launch_doubt(parts: dict[str, float]) -> tuple[str, ...]:
    """The doubt of a step whose kernels are too short to hide their launch."""
    total = sum(parts.values())
    return ("launch_bound",) if parts["launch"] > LAUNCH_BOUND * total else ()


def evidence_of(bones: Outline) -> Evidence:
    """Grade: measured or extrapolated from a profile, published where the rate was measured by
    others, datasheet where it was not."""
    each, doubts = bones.scenario, bones.doubts
    of_memory = memory_doubts(bones.configuration, each.stack)
    reasons = [REASONS[doubt] for doubt in doubts]
    reasons += [MEMORY_REASONS[doubt] for doubt in of_memory if doubt not in doubts]
    if bones.measured is not None:
        from planner.planning.measured import grade_of, reasons_of

        found = [*reasons_of(each, bones.measured), *reasons]
        return Evidence(grade=grade_of(bones.measured), reasons=found)
    if "memory_figures" in doubts:
        return Evidence(grade="assumed", reasons=reasons)
    if "unmeasured_rate" in doubts:
        return Evidence(grade="datasheet", reasons=reasons)
    fraction = each.accelerator.achievable_fraction(MATMUL[each.run.training.precision])
    share = show_percent(fraction)
    above = "" if fraction is None or fraction <= 1 else ": the part clocks above its rated speed"
    reasons.append(f"best matmul measured by others: {share} of the dense peak{above}")
    return Evidence(grade="published", reasons=reasons)
