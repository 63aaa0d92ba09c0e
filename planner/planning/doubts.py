"""What makes an answer less sure: doubts that widen its interval, and the grade of its evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.formats import MATMUL
from planner.planning.memory_doubts import REASONS as MEMORY_REASONS
from planner.planning.memory_doubts import memory_doubts
from planner.planning.result import Evidence
from planner.planning.scenario import ADAPTER_TASKS, Scenario

if TYPE_CHECKING:
    from planner.planning.outline import Outline

REASONS = {
    "mixture": "mixture of experts: published runs of equal settings differ by up to 1.8 times",
    "unmeasured_rate": "no measured matmul rate of this accelerator in this format",
    "memory_figures": "figures of this accelerator rest on memory, not on a document",
    "offload": "offload to the host: few published runs",
    "adapters": "adapters on frozen weights: few published runs",
    "launch_bound": "short kernels: the host's speed decides, which nobody states",
    "math_attention": "attention without a flash kernel",
}


LAUNCH_BOUND = 0.15  # share of the step's time from which the host decides it


def doubts_of(each: Scenario) -> tuple[str, ...]:
    """Names of the doubts that apply whatever is chosen; `REASONS` says them in words."""
    part, training = each.accelerator, each.run.training
    number_format = MATMUL[training.precision]
    found = {
        "mixture": any(block.num_experts for block in each.model.blocks),
        "unmeasured_rate": part.achievable_fraction(number_format) is None,
        "memory_figures": any(
            part.from_memory(name) for name in (number_format, "memory_bandwidth", "usable_bytes")
        ),
        "offload": training.offload != "none",
        "adapters": training.task in ADAPTER_TASKS,
        "math_attention": training.attention == "sdpa-math",
    }
    return tuple(name for name, applies in found.items() if applies)


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
    reasons.append(f"best matmul measured by others: {fraction:.0%} of the dense peak")
    return Evidence(grade="published", reasons=reasons)
