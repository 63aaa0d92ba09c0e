"""What makes a published row's prediction less sure, with the names that plans use too."""

from __future__ import annotations

from hardware_db import Accelerator
from planner.engine.configuration import Configuration
from planner.planning.time_doubts import LAUNCH_BOUND, applying, time_doubts

GUESSED = ("layout", "recompute", "micro_batch", "seq_len", "expert_hidden", "network")


def row_doubts(
    made: Configuration, part: Accelerator, launch_share: float, inferred: tuple[str, ...] = ()
) -> tuple[str, ...]:
    """Names of the doubts that apply to a published step time."""
    shared = time_doubts(
        made.model, part, precision=made.precision, task=made.task, offload=made.offload
    )
    own = {
        "launch_bound": launch_share > LAUNCH_BOUND,
        "guessed": any(name in GUESSED for name in inferred),
    }
    return applying(shared | own)
