"""The plan's numbers as environment variables, for launchers that run any training script."""

from __future__ import annotations

from planner.trainers.export import Left
from planner.trainers.job import Job


def numbers(job: Job) -> dict[str, str]:
    """What a training script may read instead of being told twice."""
    made = job.made
    return {
        "MICRO_BATCH": str(made.micro_batch),
        "ACCUMULATION": str(made.accumulation),
        "GLOBAL_BATCH": str(made.global_batch),
        "SEQ_LEN": str(made.seq_len),
        "STEPS": str(job.steps),
        **{f"{axis.upper()}_SIZE": str(getattr(made, axis)) for axis in ("tp", "pp", "cp", "ep")},
        "DP_SIZE": str(made.dp),
        "INTERLEAVE": str(made.interleave),
        "SHARDING": made.sharding,
        "PRECISION": made.precision,
        "RECOMPUTE": made.recompute,
        "OFFLOAD": made.offload,
        "OPTIMIZER": made.optimizer,
        "SCHEDULE": job.run.training.schedule,
    }


def trainer(job: Job) -> list[Left]:
    """The settings of the trainer that is launched are another export's."""
    says = (
        "the script gets the plan's numbers as environment variables "
        f"({', '.join(numbers(job))}) and must heed them, or take the config of another --export"
    )
    found = [Left(what="trainer", says=says)]
    if job.run.training.optimizer == "none" or not job.adapters:
        return found
    lora = job.run.training.lora
    says = f"rank {lora.rank} on {', '.join(lora.targets)}: in the script"
    return [*found, Left(what="adapters", says=says)]
