"""A shell script that starts Megatron-LM's `pretrain_gpt.py`.

Arguments after `megatron/training/arguments.py` of NVIDIA/Megatron-LM at 000c4ac (between core
0.14 and 0.16) and the Megatron-FSDP page of docs.nvidia.com/megatron-core, read November 2026.
Data parallel there is devices / (tp · pp · cp); accumulation is global batch / (micro-batch · dp).
Expert parallelism takes ranks of dp · cp, and experts are split by tp too. Sharding of the
optimizer is the distributed optimizer; of gradients and weights, Megatron-FSDP.

What a plan does not know (learning rate, data, the model's rotary base) is asked for as environment
variables: the script stops with their names.
"""

from __future__ import annotations

import shlex

from planner.trainers import left
from planner.trainers.export import Export, File, Left, remarked
from planner.trainers.holds import refusal
from planner.trainers.job import Job
from planner.trainers.megatron_model import asked_for, model_arguments

SOFTWARE = "Megatron-LM"
STRATEGIES = {
    "zero2": "optim_grads",
    "zero3": "optim_grads_params",
    "hsdp": "optim_grads_params",
}  # --data-parallel-sharding-strategy of Megatron-FSDP
_RECIPES = {
    "delayed": "delayed",
    "current-scaling": "tensorwise",
    "mxfp8": "mxfp8",
    "blockwise": "blockwise",
}
_DECAYS = {"cosine": "cosine", "linear": "linear", "constant": "constant", "wsd": "WSD"}
_NEED = 'need() { [[ -n "${!1:-}" ]] || { echo "set $1: $2" >&2; exit 2; }; }'
_ASKED = {
    "MEGATRON": "the folder of Megatron-LM",
    "LR": "the learning rate",
    "DATA_PATH": "the prefix of the preprocessed data",
    "TOKENIZER_TYPE": "such as HuggingFaceTokenizer",
    "TOKENIZER_MODEL": "the tokenizer's name or file",
}


def write(job: Job) -> Export:
    """The script. Raises PlannerError for a layout that Megatron does not run."""
    check(job)
    remarks = tuple(_left(job))
    return Export(
        target="megatron",
        software=SOFTWARE,
        files=(File(name=f"{job.name}-megatron.sh", text=_script(job, remarks)),),
        left=remarks,
    )


def check(job: Job) -> None:
    """Refuse what no word alone rules out. Raises PlannerError."""
    made, stages = job.made, job.made.pp * job.made.interleave
    if job.model.layers % stages:
        why = f"as pp·interleave must divide the {job.model.layers} layers"
        raise refusal("megatron", "pp", made.pp, instead=("another pp",), why=why)
    if made.ep > 1 and made.precision == "fp16":
        why = "with fp16"
        raise refusal("megatron", "ep", made.ep, instead=("precision=bf16",), why=why)
    if made.offload == "optimizer" and made.sharding != "zero1":
        why = f"with sharding {made.sharding}: it goes with the distributed optimizer"
        raise refusal("megatron", "offload", "optimizer", instead=("none",), why=why)
    if job.model.kind != "decoder":
        from planner.errors import PlannerError

        remedy = f"a {job.model.kind} has its own script there: export to deepspeed or hf-trainer"
        raise PlannerError("model", job.model.name, remedy)


def arguments(job: Job) -> dict[str, list[str]]:
    """The arguments by array of the script."""
    return {
        "MODEL_ARGS": model_arguments(job),
        "PARALLEL_ARGS": [*_degrees(job), *_sharding(job)],
        "TRAINING_ARGS": [*_batch(job), *_precision(job), *_memory(job), *_optimizer(job)],
        "DATA_ARGS": [
            '--data-path "$DATA_PATH"',
            '--tokenizer-type "$TOKENIZER_TYPE"',
            '--tokenizer-model "$TOKENIZER_MODEL"',
        ],
    }


def _degrees(job: Job) -> list[str]:
    made = job.made
    found = [
        f"--tensor-model-parallel-size {made.tp}",
        f"--pipeline-model-parallel-size {made.pp}",
        f"--context-parallel-size {made.cp}",
    ]
    if made.interleave > 1:
        found.append(f"--num-virtual-stages-per-pipeline-rank {made.interleave}")
    if made.ep > 1:
        found.append(f"--expert-model-parallel-size {made.ep}")
        found.append("--moe-token-dispatcher-type alltoall")
    if made.tp > 1 and made.sequence_parallel:
        found.append("--sequence-parallel")
    return found


def _sharding(job: Job) -> list[str]:
    made = job.made
    overlap = ["--overlap-grad-reduce"] if job.stack.overlap_grads else []
    if made.sharding == "none":
        return overlap
    if job.stack.overlap_params and overlap:
        overlap.append("--overlap-param-gather")
    found = ["--use-distributed-optimizer", *overlap]
    if made.sharding in STRATEGIES:
        found += [
            "--use-megatron-fsdp",
            f"--data-parallel-sharding-strategy {STRATEGIES[made.sharding]}",
            "--ckpt-format fsdp_dtensor",
        ]
    if job.replicas > 1:
        found.append(f"--num-distributed-optimizer-instances {job.replicas}")
    return found


def _batch(job: Job) -> list[str]:
    made = job.made
    found = [
        f"--micro-batch-size {made.micro_batch}",
        f"--global-batch-size {made.global_batch}",
        f"--seq-length {made.seq_len}",
        f"--train-iters {job.steps}",
        '--lr "$LR"',
        f"--lr-decay-style {_DECAYS[job.run.training.schedule]}",
    ]
    if job.run.training.schedule == "wsd":
        found.append('--lr-wsd-decay-iters "$LR_WSD_DECAY_ITERS"')
    if job.save_steps is not None:
        found.append(f'--save "$SAVE" --save-interval {job.save_steps}')
    if made.task == "full-ft":
        found.append('--finetune --load "$LOAD"')
    return found


def _precision(job: Job) -> list[str]:
    made = job.made
    found = {"fp32": [], "fp16": ["--fp16"]}.get(made.precision, ["--bf16"])
    if made.precision == "fp8":
        found = [*found, "--fp8-format hybrid"]
        if made.fp8_recipe in _RECIPES:
            found.append(f"--fp8-recipe {_RECIPES[made.fp8_recipe]}")
    if made.precision == "nvfp4":
        found = [*found, "--fp4-format e2m1"]
    reduces = made.reduce_dtype or job.stack.reduce_dtype
    if made.precision not in ("fp32", "fp16"):
        bf16 = reduces == "bf16"
        found = [
            *found,
            "--grad-reduce-in-bf16" if bf16 else "--accumulate-allreduce-grads-in-fp32",
        ]
    return found


def _memory(job: Job) -> list[str]:
    made = job.made
    found = {
        "none": [],
        "selective": ["--recompute-granularity selective"],
        "full": [
            "--recompute-granularity full",
            "--recompute-method uniform",
            "--recompute-num-layers 1",
        ],
    }[made.recompute]
    if made.offload == "optimizer":
        found = [*found, "--optimizer-cpu-offload", "--use-precision-aware-optimizer"]
    return [*found, f"--attention-backend {_attention(job)}", *_loss(job)]


def _attention(job: Job) -> str:
    """TE chooses among its own kernels unless the plan counts with one of them."""
    if job.made.attention == "sdpa-math":
        return "unfused"
    return {"fa1": "flash", "fa2": "flash", "fa3": "flash", "cudnn": "fused"}.get(job.flash, "auto")


def _loss(job: Job) -> list[str]:
    if job.made.loss != "fused":
        return []
    return ["--cross-entropy-loss-fusion", "--cross-entropy-fusion-impl te"]


def _optimizer(job: Job) -> list[str]:
    name = {"sgd": "sgd", "sgd-momentum": "sgd"}.get(job.made.optimizer, "adam")
    found = [f"--optimizer {name}"]
    if job.made.optimizer == "sgd":
        found.append("--sgd-momentum 0.0")
    return found


def asked(job: Job) -> dict[str, str]:
    """Environment variables that the script cannot do without, each with what it is."""
    found = {**_ASKED, **asked_for(job)}
    if job.nodes > 1:
        found["NODE_RANK"] = "this node's number, from 0"
        found["MASTER_ADDR"] = "the first node's address"
    if job.run.training.schedule == "wsd":
        found["LR_WSD_DECAY_ITERS"] = "steps over which the rate decays at the end"
    if job.save_steps is not None:
        found["SAVE"] = "the folder for checkpoints"
    if job.made.task == "full-ft":
        found["LOAD"] = "the folder with the weights to start from"
    return found


def _script(job: Job, remarks: tuple[Left, ...]) -> str:
    need = [f"need {name} {shlex.quote(says)}" for name, says in asked(job).items()]
    arrays = [_array(name, values) for name, values in arguments(job).items()]
    parts = [
        "#!/usr/bin/env bash\n" + remarked(job.heading(SOFTWARE), remarks),
        "set -euo pipefail\n" + "\n".join([_NEED, *need, *_environment(job)]) + "\n",
        *arrays,
        _launch(job),
    ]
    return "\n".join(parts)


def _environment(job: Job) -> list[str]:
    """One queue to the device, which tp and cp ask for before Blackwell and FSDP forbids."""
    made = job.made
    if made.sharding in STRATEGIES or made.tp * made.cp == 1:
        return []
    return ["export CUDA_DEVICE_MAX_CONNECTIONS=1"]


def _array(name: str, values: list[str]) -> str:
    return f"{name}=(\n" + "".join(f"    {value}\n" for value in values) + ")\n"


def _launch(job: Job) -> str:
    made = job.made
    if job.nodes > 1:
        where = (
            f'--nnodes {job.nodes} --node-rank "$NODE_RANK" '
            '--master-addr "$MASTER_ADDR" --master-port "${MASTER_PORT:-29500}"'
        )
    else:
        where = "--standalone"
    return (
        f"torchrun --nproc-per-node {made.devices_per_node} {where} \\\n"
        '    "$MEGATRON/pretrain_gpt.py" "${MODEL_ARGS[@]}" "${PARALLEL_ARGS[@]}" \\\n'
        '    "${TRAINING_ARGS[@]}" "${DATA_ARGS[@]}" "$@"\n'
    )


def _left(job: Job) -> list[Left]:
    made = job.made
    names = ", ".join(asked(job))
    fused = made.precision == "fp8" and made.fp8_recipe not in _RECIPES
    says = "--fp8-recipe: a run does not say the scaling, Megatron's usual is delayed"
    momentum = "--sgd-momentum stands at Megatron's 0.9"
    return [
        Left(what="environment", says=f"set {names}; further arguments follow the script's name"),
        left.learning_rate("warm-up and weight decay are Megatron's own unless you add them"),
        *left.data_and_weights(job, "DATA_PATH, TOKENIZER_TYPE, TOKENIZER_MODEL"),
        *([Left(what="fp8", says=says)] if fused else []),
        *([Left(what="momentum", says=momentum)] if made.optimizer == "sgd-momentum" else []),
        *left.hsdp(job),
        *left.other_software(job, "megatron"),
    ]
