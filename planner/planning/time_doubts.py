"""What makes a step time less sure, whether of a plan or of a row that somebody published."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.formats import MATMUL

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.engine.model import Model

LAUNCH_BOUND = 0.15  # share of a step's time from which the host decides it


def time_doubts(
    model: Model, part: Accelerator, *, precision: str, task: str, offload: str
) -> dict[str, bool]:
    """Which doubts apply, by the names of `intervals.json`."""
    number_format = MATMUL[precision]
    return {
        "mixture": any(block.num_experts for block in model.blocks),
        "unmeasured_rate": part.achievable_fraction(number_format) is None,
        "memory_figures": any(
            part.from_memory(name) for name in (number_format, "memory_bandwidth")
        ),
        "offload": offload != "none",
        "adapters": task in ("lora", "qlora"),
    }


def applying(doubts: dict[str, bool]) -> tuple[str, ...]:
    """Their names."""
    return tuple(name for name, applies in doubts.items() if applies)
