"""The model as arguments of Megatron-LM, for the families whose layers Megatron's flags describe.

Dimensions come from the plan; what a family always has (norm, activation, positions, biases) from
its model code in transformers; the flags from `arguments.py` as in `megatron.py`. What a
config.json states and a plan does not carry (rotary base, norm epsilon) is asked for.
"""

from __future__ import annotations

from planner.engine.model import Block, Model
from planner.trainers.job import Job

_ROTARY = (
    "--position-embedding-type rope",
    "--normalization RMSNorm",
    "--swiglu",
    "--disable-bias-linear",
    "--attention-dropout 0.0",
    "--hidden-dropout 0.0",
)
_LEARNED = ("--position-embedding-type learned_absolute", "--normalization LayerNorm")
FAMILIES: dict[str, tuple[str, ...]] = {
    "llama": _ROTARY,
    "mistral": _ROTARY,
    "mixtral": _ROTARY,
    "qwen2": (*_ROTARY, "--add-qkv-bias"),
    "qwen3": (*_ROTARY, "--qk-layernorm"),
    "qwen3_moe": (*_ROTARY, "--qk-layernorm"),
    "gpt2": _LEARNED,
}


def described(model: Model) -> bool:
    """Whether flags describe the model: a known family, layers all alike, full attention."""
    if model.family not in FAMILIES or len(model.blocks) != 1:
        return False
    block = model.blocks[0]
    return block.window is None and not block.kv_lora_rank and not block.shared_hidden


def model_arguments(job: Job) -> list[str]:
    """Arguments of the model; a file of the user's where flags do not describe it."""
    if not described(job.model):
        return ['$(< "$MODEL_ARGS_FILE")']
    model, block = job.model, job.model.blocks[0]
    rotary = FAMILIES[model.family] is not _LEARNED
    asked = ['--rotary-base "$ROTARY_BASE"'] if rotary else []
    return [
        f"--num-layers {model.layers}",
        f"--hidden-size {model.hidden}",
        f"--num-attention-heads {block.heads}",
        *_groups(block),
        f"--kv-channels {block.head_dim}",
        *_feed_forward(block, job.made.precision),
        f"--max-position-embeddings {max(model.max_seq_len or 0, job.made.seq_len)}",
        *FAMILIES[model.family],
        *asked,
        '--norm-epsilon "$NORM_EPSILON"',
        *([] if model.tied else ["--untie-embeddings-and-output-weights"]),
    ]


def _groups(block: Block) -> list[str]:
    if block.kv_heads == block.heads:
        return []
    return ["--group-query-attention", f"--num-query-groups {block.kv_heads}"]


def _feed_forward(block: Block, precision: str) -> list[str]:
    """Experts' products are grouped where Megatron allows it: in bf16 recipes."""
    if not block.num_experts:
        return [f"--ffn-hidden-size {block.ffn_hidden}"]
    return [
        f"--ffn-hidden-size {block.expert_hidden}",
        f"--num-experts {block.num_experts}",
        f"--moe-router-topk {block.top_k}",
        f"--moe-ffn-hidden-size {block.expert_hidden}",
        *(["--moe-grouped-gemm"] if precision not in ("fp32", "fp16") else []),
    ]


def asked_for(job: Job) -> dict[str, str]:
    """Environment variables that the model needs, each with what it is."""
    if not described(job.model):
        return {"MODEL_ARGS_FILE": f"a file with Megatron's arguments for {job.model.name}"}
    found = {"NORM_EPSILON": "rms_norm_eps or layer_norm_epsilon of the model's config.json"}
    if FAMILIES[job.model.family] is not _LEARNED:
        found["ROTARY_BASE"] = "rope_theta of the model's config.json, a whole number"
    return found
