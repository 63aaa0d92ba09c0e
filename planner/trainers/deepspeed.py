"""The JSON config of DeepSpeed.

Keys after DeepSpeed 0.19.8 (November 2026): `deepspeed/runtime/config.py`, `precision_config.py`,
`zero/config.py`, `zero/offload_config.py`, `tensor_parallel/config.py`; the page
deepspeed.ai/docs/config-json; tensor parallelism with ZeRO 0 to 2 after
deepspeed.ai/tutorials/autotp-training.

`train_batch_size` is micro-batch · accumulation · data-parallel ranks. Tensor-parallel ranks share
a batch. Pipeline stages, context ranks and experts live in the model's code there, not in the
JSON; so do recomputation, attention and the loss.
"""

from __future__ import annotations

import json
from typing import Any

from planner.trainers import left
from planner.trainers.export import Export, File, Left
from planner.trainers.holds import refusal
from planner.trainers.job import Job

SOFTWARE = "DeepSpeed 0.19"
STAGES = {"none": 0, "zero1": 1, "zero2": 2, "zero3": 3}
REDUCE = {"fp32": "fp32", "fp16": "fp16", "bf16": "bf16"}  # communication_data_type
_OPTIMIZERS = {
    "adamw": "AdamW",
    "adamw-foreach": "AdamW",
    "adamw-fused": "AdamW",
    "lion": "Lion",
    "muon": "Muon",
}  # types that the section `optimizer` knows; others are made in the script


def write(job: Job) -> Export:
    """`ds_config.json`. Raises PlannerError for tensor parallelism or offload that cannot be."""
    check(job)
    text = json.dumps(config_of(job), indent=2) + "\n"
    return Export(
        target="deepspeed",
        software=SOFTWARE,
        files=(File(name="ds_config.json", text=text),),
        left=tuple(_left(job)),
    )


def config_of(job: Job) -> dict[str, Any]:
    """The config as plain values."""
    made = job.made
    found: dict[str, Any] = {
        "train_batch_size": made.global_batch,
        "train_micro_batch_size_per_gpu": made.micro_batch,
        "gradient_accumulation_steps": made.accumulation,
        "zero_optimization": _zero(job),
        **_precision(job),
    }
    if made.reduce_dtype in REDUCE:
        found["communication_data_type"] = REDUCE[made.reduce_dtype]
    if made.tp > 1:
        found["tensor_parallel"] = {"autotp_size": made.tp}
    return found


def check(job: Job, *, target: str = "deepspeed") -> None:
    """Refuse what no word alone rules out, in the name of the target that runs DeepSpeed.

    Raises PlannerError.
    """
    made = job.made
    if made.tp > 1 and made.sharding == "zero3":
        why = f"with tp={made.tp}: its tensor parallelism goes with ZeRO up to 2"
        raise refusal(target, "sharding", "zero3", instead=("zero2", "tp=1"), why=why)
    needs = {"none": 0, "optimizer": 1, "params+optimizer": 3}[made.offload]
    if STAGES[made.sharding] < needs:
        why = f"with sharding {made.sharding}: it needs ZeRO {needs} or more"
        raise refusal(target, "offload", made.offload, instead=("none",), why=why)
    if made.precision == "pure-bf16" and made.sharding == "none":
        why = "without sharding: states in bf16 need ZeRO 1 or more"
        raise refusal(target, "precision", "pure-bf16", instead=("bf16",), why=why)


def _zero(job: Job) -> dict[str, Any]:
    found: dict[str, Any] = {"stage": STAGES[job.made.sharding]}
    if job.made.offload != "none":
        found["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if job.made.offload == "params+optimizer":
        found["offload_param"] = {"device": "cpu", "pin_memory": True}
    return found


def _precision(job: Job) -> dict[str, Any]:
    """fp16 without a fixed scale scales the loss dynamically."""
    states = {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}
    found: dict[str, dict[str, Any]] = {
        "bf16": {"bf16": {"enabled": True}},
        "pure-bf16": {"bf16": {"enabled": True, **states}},
        "fp16": {"fp16": {"enabled": True, "loss_scale": 0}},
    }
    return found.get(job.made.precision, {})


def _left(job: Job) -> list[Left]:
    made = job.made
    return [
        left.learning_rate("make the optimizer with your own"),
        Left(what="optimizer", says=_optimizer(job)),
        Left(what="schedule", says=f"{job.run.training.schedule}: in the training script"),
        Left(what="steps", says=f"{job.steps} optimizer steps of {made.seq_len} tokens a row"),
        Left(what="launch", says=f"{made.num_devices} ranks on {job.nodes} nodes"),
        *left.data_and_weights(job, "in the training script"),
        *left.recompute_in_script(job, "in the model, as gradient_checkpointing_enable()"),
        *left.attention_in_script(job),
        *left.loss_in_script(job),
        *_compile(job),
        *left.adapters(job, "peft.LoraConfig in the script"),
        *left.tf32(job),
        *left.other_software(job, "deepspeed"),
    ]


def _optimizer(job: Job) -> str:
    """DeepSpeed's own needs a learning rate, so the file leaves it to the script."""
    word = job.made.optimizer
    host = " (DeepSpeedCPUAdam, as its states are offloaded)" if job.made.offload != "none" else ""
    own = f"; or add a section optimizer of type {_OPTIMIZERS[word]}" if word in _OPTIMIZERS else ""
    return f"{word}{host}: give it to deepspeed.initialize{own}"


def _compile(job: Job) -> list[Left]:
    if job.made.compile == "none":
        return []
    return [Left(what="compile", says=f"{job.made.compile}: engine.compile() in the script")]
