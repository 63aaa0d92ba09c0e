"""The sections that both forms of a torchtitan configuration share."""

from __future__ import annotations

from typing import Any

from planner.trainers.job import Job

SOFTWARE = "torchtitan 0.3"
OLDER = "torchtitan 0.2"
_SCHEDULES = {"cosine": "cosine", "linear": "linear", "wsd": "linear", "constant": "linear"}
CONVERTED = ("fp8", "nvfp4")  # precisions that convert the model's layers


def stem(job: Job) -> str:
    """The job's name as Python writes names."""
    plain = job.name.replace("-", "_")
    return plain if plain.isidentifier() else f"run_{plain}"


def converted(job: Job) -> bool:
    """Whether layers of the model are exchanged: for a format, or for adapters."""
    return job.adapters or job.made.precision in CONVERTED


def training(job: Job) -> dict[str, Any]:
    """The section `training`, of both formats."""
    made = job.made
    local = made.micro_batch * (made.accumulation if made.pp > 1 else 1)
    return {
        "local_batch_size": local,
        "global_batch_size": made.global_batch,
        "seq_len": made.seq_len,
        "steps": job.steps,
        "enable_cpu_offload": made.offload == "params+optimizer",
        "dtype": "bfloat16" if made.precision == "pure-bf16" else "float32",
        "mixed_precision_param": ("float32" if made.precision in ("fp32", "tf32") else "bfloat16"),
    }


def parallelism(job: Job) -> dict[str, Any]:
    """The section `parallelism`, of both formats."""
    made = job.made
    return {
        "data_parallel_replicate_degree": job.replicate_degree,
        "data_parallel_shard_degree": job.data_shard_degree,
        "fsdp_reshard_after_forward": "never" if made.sharding in ("none", "zero2") else "always",
        "tensor_parallel_degree": made.tp,
        "pipeline_parallel_degree": made.pp,
        "context_parallel_degree": made.cp,
        "expert_parallel_degree": made.ep,
        **(_pipeline(job) if made.pp > 1 else {}),
    }


def _pipeline(job: Job) -> dict[str, Any]:
    """Stages of equal depth, as the plan has them."""
    made = job.made
    found: dict[str, Any] = {
        "pipeline_parallel_schedule": "Interleaved1F1B" if made.interleave > 1 else "1F1B",
        "pipeline_parallel_microbatch_size": made.micro_batch,
        "pipeline_parallel_first_stage_less_layers": 0,
        "pipeline_parallel_last_stage_less_layers": 0,
    }
    if made.interleave > 1:
        stages = made.pp * made.interleave
        found["pipeline_parallel_layers_per_stage"] = -(-job.model.layers // stages)
    return found


def scheduler(job: Job) -> dict[str, Any]:
    """The section `lr_scheduler`: without a decay ratio the rate falls from the warm-up on."""
    schedule = job.run.training.schedule
    found: dict[str, Any] = {"decay_type": _SCHEDULES[schedule]}
    if schedule == "constant":
        found["decay_ratio"] = 0.0
    return found


def implementation(job: Job) -> str:
    """How AdamW is launched; torchtitan's usual is fused."""
    return "foreach" if job.made.optimizer == "adamw-foreach" else "fused"
