"""What makes a published row's prediction less sure, with the names that plans use too."""

from __future__ import annotations

from hardware_db import Accelerator
from planner.engine.configuration import Configuration
from planner.engine.formats import MATMUL

LAUNCH_BOUND = 0.15  # share of a step's time from which the host decides it
GUESSED = ("layout", "recompute", "micro_batch", "seq_len", "expert_hidden", "network")


def time_doubts(
    configuration: Configuration,
    part: Accelerator,
    launch_share: float,
    inferred: tuple[str, ...] = (),
) -> tuple[str, ...]:
    """Names of the doubts that apply to a step time."""
    number_format = MATMUL[configuration.precision]
    found = {
        "mixture": any(block.num_experts for block in configuration.model.blocks),
        "launch_bound": launch_share > LAUNCH_BOUND,
        "adapters": configuration.task in ("lora", "qlora"),
        "unmeasured_rate": part.achievable_fraction(number_format) is None,
        "memory_figures": any(
            part.from_memory(name) for name in (number_format, "memory_bandwidth")
        ),
        "offload": configuration.offload != "none",
        "guessed": any(name in GUESSED for name in inferred),
    }
    return tuple(name for name, applies in found.items() if applies)
