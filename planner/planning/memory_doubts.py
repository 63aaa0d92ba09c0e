"""What makes a peak memory less sure than that of a plain pre-training run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from planner.engine.implementations import implementation
from planner.engine.software import varies

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.stacks import Stack

REASONS = {
    "adapters": "adapters on frozen weights: what is kept depends on the code of each adapter",
    "quantised": "4-bit base: what its products keep differs between releases",
    "varied_lengths": "batches of varied length: the longest one decides",
    "math_attention": "attention without a flash kernel",
    "offload": "offload to the host: few published peaks",
    "full_tuning": "full fine-tuning: what trainers hold beside the states varies",
    "traced": "traced module: workspaces of its kernels are not counted",
    "mixture": "mixture of experts: an uneven router loads one device more",
}


def memory_doubts(configuration: Configuration, stack: Stack) -> tuple[str, ...]:
    """Names of the doubts that widen the interval of the peak; `REASONS` says them in words."""
    code = implementation(stack.implementation)
    found = {
        "adapters": configuration.task in ("lora", "qlora"),
        "quantised": configuration.task == "qlora",
        "varied_lengths": varies(configuration, code),
        "math_attention": configuration.attention == "sdpa-math",
        "offload": configuration.offload != "none",
        "full_tuning": configuration.task in ("full-ft", "dpo"),
        "traced": configuration.model.table is not None,
        "mixture": any(block.num_experts for block in configuration.model.blocks),
    }
    return tuple(name for name, applies in found.items() if applies)
