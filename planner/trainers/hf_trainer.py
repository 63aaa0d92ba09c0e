"""TrainingArguments of Hugging Face transformers, as the JSON that HfArgumentParser reads.

Keys after transformers 5.24.0 (November 2026): `training_args.py` (`TrainingArguments`,
`OptimizerNames`, `_process_fsdp_args`), `trainer_utils.py` (`SchedulerType`).

The Trainer's batch is per device · accumulation · data-parallel ranks. Optimizer-only sharding runs
DeepSpeed, whose config stands inside; full sharding FSDP 2. A mesh is an object, not JSON, so
tensor and context parallelism are refused. `gradient_checkpointing` is the name that 4.x and 5.x
both know.
"""

from __future__ import annotations

import json
from typing import Any

from planner.trainers import deepspeed, left
from planner.trainers.export import Export, File, Left
from planner.trainers.holds import refusal
from planner.trainers.job import Job

SOFTWARE = "transformers 5.24"
OPTIMIZERS = {
    "adamw": "adamw_torch",
    "adamw-foreach": "adamw_torch",
    "adamw-fused": "adamw_torch_fused",
    "adamw8bit": "adamw_bnb_8bit",
    "adafactor": "adafactor",
    "lion": "lion_32bit",
    "sgd": "sgd",
}
SCHEDULES = {
    "cosine": "cosine",
    "linear": "linear",
    "constant": "constant_with_warmup",
    "wsd": "warmup_stable_decay",
}


def write(job: Job) -> Export:
    """`training_args.json`. Raises PlannerError for offload that needs sharding."""
    text = json.dumps(config_of(job), indent=2) + "\n"
    return Export(
        target="hf-trainer",
        software=SOFTWARE,
        files=(File(name="training_args.json", text=text),),
        left=tuple(_left(job)),
    )


def config_of(job: Job) -> dict[str, Any]:
    """The arguments as plain values."""
    check(job)
    made = job.made
    found: dict[str, Any] = {
        "output_dir": f"{job.name}-{made.task}",
        "per_device_train_batch_size": made.micro_batch,
        "gradient_accumulation_steps": made.accumulation,
        "max_steps": job.steps,
        "optim": OPTIMIZERS[made.optimizer],
        "lr_scheduler_type": SCHEDULES[job.run.training.schedule],
        **_precision(job),
    }
    if job.save_steps is not None:
        found |= {"save_strategy": "steps", "save_steps": job.save_steps}
    if made.recompute == "full" and not _fsdp(job):
        found["gradient_checkpointing"] = True
    if made.compile == "full":
        found["torch_compile"] = True
    if made.loss == "fused":
        found["use_liger_kernel"] = True
    return found | _sharding(job)


def check(job: Job) -> None:
    """Refuse what no word alone rules out. Raises PlannerError."""
    if job.made.offload != "none" and job.made.sharding == "none":
        why = "without sharding: only sharded states are offloaded"
        raise refusal("hf-trainer", "offload", job.made.offload, instead=("none",), why=why)
    if _deepspeed(job):
        deepspeed.check(job, target="hf-trainer")


def _precision(job: Job) -> dict[str, bool]:
    """Mixed recipes; pure-bf16 is how the model is loaded."""
    return {
        "bf16": {"bf16": True},
        "fp16": {"fp16": True},
        "tf32": {"tf32": True},
        "fp32": {"tf32": False},
    }.get(job.made.precision, {})


def _deepspeed(job: Job) -> bool:
    made = job.made
    if made.sharding == "zero1" or made.offload == "optimizer":
        return True
    return made.sharding in ("zero2", "zero3") and "deepspeed" in job.stack.name


def _fsdp(job: Job) -> bool:
    return job.made.sharding in ("zero2", "zero3") and not _deepspeed(job)


def _sharding(job: Job) -> dict[str, Any]:
    made = job.made
    if _deepspeed(job):
        return {"deepspeed": deepspeed.config_of(job)}
    if not _fsdp(job):
        return {}
    return {
        "fsdp": True,
        "fsdp_config": {
            "version": 2,
            "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "reshard_after_forward": made.sharding == "zero3",
            "cpu_offload": made.offload == "params+optimizer",
            "activation_checkpointing": made.recompute == "full",
        },
    }


def _left(job: Job) -> list[Left]:
    made = job.made
    return [
        left.learning_rate("learning_rate is 5e-05 and warmup_steps 0 unless you set them"),
        *left.data_and_weights(job, f"rows of {made.seq_len} tokens, in the training script"),
        Left(what="launch", says=f"torchrun on {job.nodes} nodes of {made.devices_per_node}"),
        *left.attention_in_script(job),
        *_schedule(job),
        *_formats(job),
        *_loss(job),
        *left.adapters(job, "peft.LoraConfig, given to the Trainer's model"),
        *_preference(job),
        *left.reduce_dtype(job, "fp32" if made.sharding == "none" else "bf16"),
        *left.other_software(job, "hf-trainer", *(["deepspeed"] if _deepspeed(job) else [])),
    ]


def _schedule(job: Job) -> list[Left]:
    if job.run.training.schedule != "wsd":
        return []
    says = "set lr_scheduler_kwargs.num_decay_steps: a run does not say how long it decays"
    return [Left(what="schedule", says=says)]


def _formats(job: Job) -> list[Left]:
    if job.made.precision != "pure-bf16":
        return []
    return [Left(what="pure-bf16", says="load the model with dtype=torch.bfloat16")]


def _loss(job: Job) -> list[Left]:
    if job.made.loss != "fused":
        return []
    says = "use_liger_kernel fuses norms, rotary and SwiGLU too; liger_kernel_config picks"
    return [Left(what="loss", says=says)]


def _preference(job: Job) -> list[Left]:
    if job.made.task != "dpo":
        return []
    return [Left(what="dpo", says="read the same keys as trl.DPOConfig; the Trainer is DPOTrainer")]
