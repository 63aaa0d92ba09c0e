"""The launch YAML of Hugging Face accelerate.

Keys after accelerate 1.15.0 (November 2026): `commands/config/config_args.py` (an unknown key is
an error there), `commands/launch.py`, `parallelism_config.py`, `utils/dataclasses.py`.

Three ways to run: plain data parallelism, FSDP 2 with a mesh (`parallelism_config`: processes =
dp_replicate · dp_shard · cp · tp, weights shared by dp_shard · cp), and DeepSpeed for what FSDP 2
cannot do (sharding of the optimizer alone, or its offload alone). Micro-batch and, but for
DeepSpeed, accumulation are arguments in the training script: the YAML has no key for them.
"""

from __future__ import annotations

from typing import Any

from planner.trainers import deepspeed, left
from planner.trainers.deepspeed import STAGES
from planner.trainers.export import Export, File, Left, remarked, yaml_text
from planner.trainers.holds import refusal
from planner.trainers.job import Job

SOFTWARE = "accelerate 1.15"


def write(job: Job) -> Export:
    """The YAML for `accelerate launch --config_file`. Raises PlannerError."""
    remarks = tuple(_left(job))
    text = remarked(job.heading(SOFTWARE), remarks) + yaml_text(config_of(job))
    return Export(
        target="accelerate",
        software=SOFTWARE,
        files=(File(name="accelerate.yaml", text=text),),
        left=remarks,
    )


def config_of(job: Job) -> dict[str, Any]:
    """The config as plain values."""
    check(job)
    kind = kind_of(job)
    return {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": kind,
        "num_machines": job.nodes,
        "num_processes": job.made.num_devices,
        "machine_rank": 0,
        "main_training_function": "main",
        "mixed_precision": _precision(job),
        **({"use_cpu": False} if kind == "NO" else {}),
        **({"fsdp_config": _fsdp(job)} if kind == "FSDP" else {}),
        **({"parallelism_config": _mesh(job)} if kind == "FSDP" and _has_mesh(job) else {}),
        **({"deepspeed_config": _deepspeed(job)} if kind == "DEEPSPEED" else {}),
        **_compile(job),
    }


def kind_of(job: Job) -> str:
    """The `distributed_type` that runs the plan."""
    made = job.made
    if made.num_devices == 1 and made.offload == "none":
        return "NO"
    wants_stage = made.sharding == "zero1" or made.offload == "optimizer"
    if wants_stage or (made.sharding in ("zero2", "zero3") and "deepspeed" in job.stack.name):
        return "DEEPSPEED"
    return "MULTI_GPU" if made.sharding == "none" and made.tp * made.cp == 1 else "FSDP"


def check(job: Job) -> None:
    """Refuse what no word alone rules out. Raises PlannerError."""
    made, kind = job.made, kind_of(job)
    if made.offload == "params+optimizer" and kind not in ("FSDP", "DEEPSPEED"):
        why = "without sharding: only sharded states are offloaded"
        raise refusal("accelerate", "offload", made.offload, instead=("none",), why=why)
    if made.offload == "optimizer" and made.sharding in ("none", "hsdp"):
        why = f"with sharding {made.sharding}: it needs zero1, zero2 or zero3"
        raise refusal("accelerate", "offload", made.offload, instead=("none",), why=why)
    if kind == "DEEPSPEED" and made.tp * made.cp > 1:
        axis = "tp" if made.tp > 1 else "cp"
        why = f"with sharding {made.sharding}, offload {made.offload}: it needs FSDP 2"
        raise refusal("accelerate", axis, getattr(made, axis), instead=("1",), why=why)
    if kind == "DEEPSPEED":
        deepspeed.check(job, target="accelerate")
    if kind == "FSDP" and made.sharding == "none":
        why = f"with tp={made.tp},cp={made.cp}: its mesh needs sharded weights"
        raise refusal("accelerate", "sharding", "none", instead=("zero3",), why=why)


def _precision(job: Job) -> str:
    return {"fp16": "fp16", "bf16": "bf16", "fp8": "fp8"}.get(job.made.precision, "no")


def _fsdp(job: Job) -> dict[str, Any]:
    """FSDP 2: gathered weights are given back after the forward pass, or kept (ZeRO 2)."""
    made = job.made
    return {
        "fsdp_version": 2,
        "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
        "fsdp_reshard_after_forward": made.sharding != "zero2",
        "fsdp_offload_params": made.offload == "params+optimizer",
        "fsdp_activation_checkpointing": made.recompute == "full",
        "fsdp_state_dict_type": "SHARDED_STATE_DICT",
        "fsdp_cpu_ram_efficient_loading": False,
    }


def _has_mesh(job: Job) -> bool:
    return job.made.tp * job.made.cp > 1 or job.replicate_degree > 1


def _mesh(job: Job) -> dict[str, int]:
    return {
        "parallelism_config_dp_replicate_size": job.replicate_degree,
        "parallelism_config_dp_shard_size": job.data_shard_degree,
        "parallelism_config_tp_size": job.made.tp,
        "parallelism_config_cp_size": job.made.cp,
    }


def _deepspeed(job: Job) -> dict[str, Any]:
    made = job.made
    host = {True: "cpu", False: "none"}
    return {
        "zero_stage": STAGES[made.sharding],
        "gradient_accumulation_steps": made.accumulation,
        "offload_optimizer_device": host[made.offload != "none"],
        "offload_param_device": host[made.offload == "params+optimizer"],
        "zero3_init_flag": made.sharding == "zero3",
        "zero3_save_16bit_model": made.sharding == "zero3",
    }


def _compile(job: Job) -> dict[str, Any]:
    if job.made.compile == "none":
        return {}
    regional = job.made.compile == "regional"
    return {
        "dynamo_config": {
            "dynamo_backend": "INDUCTOR",
            "dynamo_use_regional_compilation": regional,
        }
    }


def _left(job: Job) -> list[Left]:
    made, kind = job.made, kind_of(job)
    in_script = f"DataLoader(batch_size={made.micro_batch})"
    if kind != "DEEPSPEED":
        in_script += f", Accelerator(gradient_accumulation_steps={made.accumulation})"
    recompute = made.recompute == "full" and kind == "FSDP"
    return [
        Left(what="batch", says=in_script),
        Left(what="steps", says=f"{job.steps} optimizer steps of {made.seq_len} tokens a row"),
        left.learning_rate("make the optimizer with your own"),
        Left(what="optimizer", says=f"{made.optimizer}: in the training script"),
        Left(what="schedule", says=f"{job.run.training.schedule}: in the training script"),
        *left.data_and_weights(job, "in the training script"),
        *_machines(job),
        *_formats(job),
        *([] if recompute else left.recompute_in_script(job, "in the model's code")),
        *left.attention_in_script(job),
        *left.loss_in_script(job),
        *left.adapters(job, "peft.LoraConfig in the script"),
        *left.tf32(job),
        *left.hsdp(job),
        *left.other_software(
            job, "accelerate", "deepspeed" if kind == "DEEPSPEED" else "pytorch-fsdp"
        ),
    ]


def _machines(job: Job) -> list[Left]:
    if job.nodes == 1:
        return []
    says = "main_process_ip, main_process_port, and each node's own machine_rank"
    return [Left(what="nodes", says=says)]


def _formats(job: Job) -> list[Left]:
    if job.made.precision == "fp8":
        says = "fp8_config: backend TE, AO or MSAMP; without it the first that is installed"
        return [Left(what="fp8", says=says)]
    if job.made.precision == "pure-bf16":
        return [Left(what="pure-bf16", says="load the model with dtype=torch.bfloat16")]
    return []
