"""The YAML of axolotl.

Keys after axolotl 0.19.0 (November 2026): `utils/schemas/` (`config.py`, `training.py`, `peft.py`,
`fsdp.py`, `fp8.py`, `model.py`) and `utils/distributed.py` for the mesh: ranks = dp_replicate ·
dp_shard · context · tensor; docs.axolotl.ai. `learning_rate` and `base_model` have no default
there: axolotl refuses the file until they are set.

Optimizer-only sharding names the DeepSpeed configs that axolotl ships (`axolotl fetch
deepspeed_configs`); full sharding is FSDP 2.
"""

from __future__ import annotations

from typing import Any

from planner.trainers import left
from planner.trainers.export import Export, File, Left, remarked, yaml_text
from planner.trainers.hf_trainer import OPTIMIZERS, SCHEDULES
from planner.trainers.holds import refusal
from planner.trainers.job import Job

SOFTWARE = "axolotl 0.19"
_LIGER = "axolotl.integrations.liger.LigerPlugin"
_STAGE_FILES = {
    "zero1": "deepspeed_configs/zero1.json",
    "zero2": "deepspeed_configs/zero2.json",
}


def write(job: Job) -> Export:
    """The YAML for `axolotl train`. Raises PlannerError."""
    remarks = tuple(_left(job))
    text = remarked(job.heading(SOFTWARE), remarks) + yaml_text(config_of(job))
    return Export(
        target="axolotl",
        software=SOFTWARE,
        files=(File(name=f"{job.name}-axolotl.yaml", text=text),),
        left=remarks,
    )


def config_of(job: Job) -> dict[str, Any]:
    """The config as plain values, without what the user must add."""
    made = job.made
    check(job)
    found: dict[str, Any] = {
        **_model(job),
        "sequence_len": made.seq_len,
        "micro_batch_size": made.micro_batch,
        "gradient_accumulation_steps": made.accumulation,
        "max_steps": job.steps,
        "optimizer": "muon" if made.optimizer == "muon" else OPTIMIZERS[made.optimizer],
        "lr_scheduler": SCHEDULES[job.run.training.schedule],
        **_precision(job),
        "attn_implementation": _attention(job),
        **_task(job),
        **_mesh(job),
        **_sharding(job),
        **_recompute(job),
        **_loss(job),
    }
    if made.compile == "full":
        found["torch_compile"] = True
    if job.save_steps is not None:
        found["save_steps"] = job.save_steps
    if job.run.data.lengths is not None and job.run.data.packing in (None, "packed"):
        found["sample_packing"] = True
    return found


def check(job: Job) -> None:
    """Refuse what no word alone rules out. Raises PlannerError."""
    made = job.made
    if made.offload != "none" and made.sharding not in ("zero3", "hsdp"):
        why = f"with sharding {made.sharding}: it goes with FSDP"
        raise refusal("axolotl", "offload", made.offload, instead=("none",), why=why)
    if made.tp * made.cp > 1 and made.sharding in _STAGE_FILES:
        axis = "tp" if made.tp > 1 else "cp"
        why = f"with sharding {made.sharding}: its mesh goes with FSDP"
        raise refusal("axolotl", axis, getattr(made, axis), instead=("1",), why=why)
    if made.cp > 1 and made.attention != "flash":
        why = f"with cp={made.cp}: rings need flash attention 2"
        raise refusal("axolotl", "attention", made.attention, instead=("flash",), why=why)
    if made.sharding == "none" and made.tp > 1:
        why = f"with tp={made.tp}: its mesh needs sharded weights"
        raise refusal("axolotl", "sharding", "none", instead=("zero3",), why=why)
    if made.tp > 1 and made.loss == "fused":
        why = f"with tp={made.tp}"
        raise refusal("axolotl", "loss", "fused", instead=("eager", "chunked"), why=why)
    if made.tp > 1 and made.optimizer == "adamw8bit":
        why = f"with tp={made.tp}"
        raise refusal("axolotl", "optimizer", "adamw8bit", instead=("adamw",), why=why)
    if made.optimizer == "muon" and made.sharding in _STAGE_FILES:
        why = f"with sharding {made.sharding}: it goes with FSDP"
        raise refusal("axolotl", "optimizer", "muon", instead=("adamw",), why=why)


def _model(job: Job) -> dict[str, str]:
    """The hub's name where the run names it; a preset names only dimensions."""
    name = job.run.model or ""
    return {"base_model": name.removeprefix("hf:")} if name.startswith("hf:") else {}


def _precision(job: Job) -> dict[str, bool]:
    return {
        "bf16": {"bf16": True},
        "fp16": {"bf16": False, "fp16": True},
        "pure-bf16": {"bf16": False, "bfloat16": True},
        "tf32": {"bf16": False, "tf32": True},
        "fp32": {"bf16": False, "tf32": False},
        "fp8": {"bf16": True, "fp8": True},
    }[job.made.precision]


def _attention(job: Job) -> str:
    """Rings of context ranks exist for flash attention 2 alone."""
    return "flash_attention_2" if job.made.cp > 1 else left.attention_name(job)


def _task(job: Job) -> dict[str, Any]:
    if job.made.task == "dpo":
        return {"rl": "dpo"}
    if not job.adapters:
        return {}
    lora = job.run.training.lora
    every = lora.targets == ("all-linear",)
    found: dict[str, Any] = {"adapter": job.made.task, "lora_r": lora.rank}
    found |= {"lora_target_linear": True} if every else {"lora_target_modules": [*lora.targets]}
    if lora.trainable:
        found["lora_modules_to_save"] = [*lora.trainable]
    if job.made.task == "qlora":
        found["load_in_4bit"] = True
    return found


def _mesh(job: Job) -> dict[str, int]:
    made = job.made
    degrees = {"tensor_parallel_size": made.tp, "context_parallel_size": made.cp}
    if made.sharding in ("zero3", "hsdp"):
        degrees["dp_shard_size"] = job.data_shard_degree
        degrees["dp_replicate_size"] = job.replicate_degree
    return {name: degree for name, degree in degrees.items() if degree > 1}


def _sharding(job: Job) -> dict[str, Any]:
    made = job.made
    if made.sharding in _STAGE_FILES:
        return {"deepspeed": _STAGE_FILES[made.sharding]}
    if made.sharding == "none":
        return {}
    return {
        "fsdp_version": 2,
        "fsdp_config": {
            "auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "reshard_after_forward": True,
            "offload_params": made.offload == "params+optimizer",
            "activation_checkpointing": made.recompute == "full",
            "state_dict_type": "SHARDED_STATE_DICT",
            "cpu_ram_efficient_loading": False,
        },
    }


def _recompute(job: Job) -> dict[str, Any]:
    """Under FSDP full recomputation is FSDP's own; selective keeps what attention gave."""
    made = job.made
    if made.recompute == "selective":
        kwargs = {"use_reentrant": False}
        return {
            "gradient_checkpointing": True,
            "gradient_checkpointing_kwargs": kwargs,
            "selective_checkpointing": True,
        }
    inside = made.sharding in ("zero3", "hsdp")
    return {"gradient_checkpointing": made.recompute == "full" and not inside}


def _loss(job: Job) -> dict[str, Any]:
    if job.made.loss == "chunked":
        return {"chunked_cross_entropy": True}
    if job.made.loss == "fused":
        return {"plugins": [_LIGER], "liger_fused_linear_cross_entropy": True}
    return {}


def _left(job: Job) -> list[Left]:
    made = job.made
    data = "pretraining_dataset" if made.task == "pretrain" else "datasets"
    return [
        left.learning_rate("add learning_rate, which axolotl demands"),
        *_base(job),
        *left.data_and_weights(job, f"add {data}"),
        *_alpha(job),
        *_schedule(job),
        *_files(job),
        Left(what="launch", says=f"torchrun on {job.nodes} nodes of {made.devices_per_node}"),
        *_ring(job),
        *_recompute_left(job),
        *_fp8(job),
        *left.hsdp(job),
        *left.reduce_dtype(job, "bf16"),
        *left.other_software(job, "axolotl"),
    ]


def _base(job: Job) -> list[Left]:
    if _model(job):
        return []
    says = f"add base_model, the hub's name or a folder of {job.model.name}"
    return [Left(what="model", says=says)]


def _alpha(job: Job) -> list[Left]:
    if not job.adapters:
        return []
    return [Left(what="lora_alpha", says="add lora_alpha: a run does not say the scale")]


def _schedule(job: Job) -> list[Left]:
    if job.run.training.schedule != "wsd":
        return []
    says = "add lr_scheduler_kwargs.num_decay_steps: a run does not say how long it decays"
    return [Left(what="schedule", says=says)]


def _files(job: Job) -> list[Left]:
    if job.made.sharding not in _STAGE_FILES:
        return []
    return [Left(what="deepspeed", says="fetch its configs: axolotl fetch deepspeed_configs")]


def _ring(job: Job) -> list[Left]:
    if job.made.cp == 1:
        return []
    return [Left(what="context parallel", says="install ring-flash-attn, which it runs on")]


def _recompute_left(job: Job) -> list[Left]:
    if job.made.recompute != "selective":
        return []
    says = "axolotl keeps attention's results and recomputes the rest; the plan's stack may not"
    return [Left(what="recompute", says=says)]


def _fp8(job: Job) -> list[Left]:
    if job.made.precision != "fp8":
        return []
    return [Left(what="fp8", says="fp8_config.recipe: without it axolotl scales tensor-wise")]
