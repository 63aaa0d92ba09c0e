"""Which stack made a published row, and what its makers usually set that the row leaves out."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import log2

from planner.fidelity.notes import Notes
from planner.fidelity.table import Row
from planner.stacks import Stack, stack

# (text in the row's source, path or notes; stack), the first that occurs decides
SOURCES = (
    ("ms-swift", "ms-swift"),
    ("mosaicml/examples", "composer-2023-02"),
    ("llm-foundry", "composer"),
    ("mosaicml", "composer"),
    ("vtrain", "megatron-2021"),
    ("megatron-bridge", "megatron-bridge"),
    ("nemo_run", "nemo"),
    ("nvidia/nemo", "nemo"),
    ("nemo framework", "nemo"),
    ("mlperf", "mlperf-nvidia"),
    ("mlcommons", "mlperf-nvidia"),
    ("bigscience", "megatron-deepspeed"),
    ("bloom", "megatron-deepspeed"),
    ("megatron-deepspeed", "megatron-deepspeed"),
    ("simumax", "megatron"),
    ("megatron-lm", "megatron"),
    ("megatron", "megatron"),
    ("torchtitan", "torchtitan"),
    ("torchtune", "torchtune"),
    ("litgpt", "litgpt"),
    ("lit-gpt", "litgpt"),
    ("tinyllama", "pytorch-fsdp"),
    ("llama paper", "megatron"),
    ("huggingface/peft", "peft"),
    ("llama-factory", "llama-factory"),
    ("llamafactory", "llama-factory"),
    ("axolotl", "axolotl"),
    ("unsloth", "unsloth"),
    ("trl", "trl"),
    ("maxtext", "maxtext"),
    ("tpu-recipes", "maxtext"),
    ("levanter", "levanter"),
    ("paxml", "paxml"),
    ("t5x", "paxml"),
    ("jax-toolbox", "paxml"),
    ("olmo", "olmo-core"),
    ("internevo", "internevo"),
    ("internlm", "internevo"),
    ("colossal", "colossalai"),
    ("modded-nanogpt", "modded-nanogpt"),
    ("nanochat", "nanochat"),
    ("nanogpt", "nanogpt"),
    ("llm.c", "llm.c"),
    ("fms-fsdp", "pytorch-fsdp"),
    ("deepspeed", "deepspeed"),
    ("transformers", "hf-trainer-4"),
    ("accelerate", "hf-trainer-4"),
    ("huggingface", "hf-trainer-4"),
)
_ERAS = {  # stack: (years up to, earlier practice)
    "megatron": (2022, "megatron-2021"),
    "torchtitan-2026": (2025, "torchtitan"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Practice:
    """The stack of a row and the settings that its source is known to use beyond the stack's."""

    stack: Stack
    stated: bool  # the row or its source names the stack
    settings: dict[str, object] = field(default_factory=dict)


def group_of(source: str) -> str:
    """Source for leave-one-source-out: both MosaicML tables are one stack of one maker."""
    return "mosaicml" if "mosaicml" in source.lower() else source


def practice_of(row: Row, notes: Notes) -> Practice:
    """The stack that made the row, by its own column, its source, or else by its settings."""
    name, stated = _stack_name(row)
    special = _SPECIAL.get(name)
    settings = special(row, notes) if special else {}
    return Practice(stack=stack(name), stated=stated, settings=settings)


def _stack_name(row: Row) -> tuple[str, bool]:
    own = row.text("stack")
    if own:
        return stack(own).name, True
    places = ("source_repo_or_paper", "source_path_or_table")
    text = " ".join(row.text(place).lower() for place in places)
    for part, name in SOURCES:
        if part in text:
            return _era(name, row), True
    return _guess(row), False


def _era(name: str, row: Row) -> str:
    """The row of stacks.toml for that date, and for what the row says ran underneath."""
    year = row.count("year")
    if name == "ms-swift":
        return _swift_backend(row)
    if name == "torchtune" and "llama2" in row.text("model_name").lower():
        return "torchtune-2024-04"
    limit, earlier = _ERAS.get(name, (0, name))
    return earlier if year is not None and year <= limit else name


def _swift_backend(row: Row) -> str:
    notes = row.text("notes").lower()
    if "megatron-lm" in notes:
        return "megatron"
    return "deepspeed" if "deepspeed-zero" in notes else "ms-swift"


def _guess(row: Row) -> str:
    """The stack by settings alone: what such a run is most often made with."""
    year = row.count("year")
    if "tpu" in row.text("sku_id") or "tpu" in row.text("gpu").lower():
        return "maxtext"
    if (row.count("tp") or 1) > 1 or (row.count("pp") or 1) > 1:
        return _era("megatron", row)
    if row.text("task") in ("lora", "qlora", "dpo"):
        return "hf-trainer-4" if year is None or year < 2026 else "hf-trainer"
    return "deepspeed" if row.text("sharding") in ("zero1", "zero2") else "pytorch-fsdp"


def _composer(row: Row, notes: Notes) -> dict[str, object]:
    """A100 clusters of MosaicML: 1600 Gbit/s a node; H100: 3200."""
    return {"gbit_per_node": 1600.0} if "a100" in row.text("sku_id") else {}


def _vtrain(row: Row, notes: Notes) -> dict[str, object]:
    return {"sharding": "none", "interleave": 1, "sequence_parallel": False}


def _nemo(row: Row, notes: Notes) -> dict[str, object]:
    return {"fp8_recipe": "delayed" if row.text("precision") == "fp8" else "", "sharding": "zero1"}


def _tinyllama(row: Row, notes: Notes) -> dict[str, object]:
    """Fused norms, rotary, SwiGLU and cross-entropy beside FlashAttention 2."""
    return {"loss": "fused"} if "TinyLlama" in row.text("source_repo_or_paper") else {}


def _megatron(row: Row, notes: Notes) -> dict[str, object]:
    """SimuMax validates against Megatron runs with sequence parallelism and fused kernels."""
    settings: dict[str, object] = {"sequence_parallel": (row.count("tp") or 1) > 1}
    if "_cef" in row.text("source_path_or_table"):
        settings["loss"] = "fused"  # the case's name says that cross-entropy is fused
    if row.text("precision") == "fp8":
        settings["fp8_recipe"] = "delayed"
    if row.text("model_name").startswith("GPT-3 175B") and row.count("tp") is None:
        settings |= {"tp": 8, "pp": 12, "micro_batch": 1, "interleave": 8, "seq_len": 4096}
    if "LLaMA" in row.text("source_repo_or_paper"):
        settings |= {"tp": 8, "micro_batch": 2, "recompute": "selective"}
        settings["sequence_parallel"] = True
    if "s/it with" in row.text("notes"):
        settings |= _swift_megatron(row)
    return settings


def _swift_megatron(row: Row) -> dict[str, object]:
    """ms-swift examples/megatron/base_to_chat.sh and moe/qwen3_moe.sh, which state these runs.

    Their whole gigabytes stand beside figures of DeepSpeed that the allocator reserved.
    """
    common = {"micro_batch": 1, "global_batch_seqs": 16, "loss": "fused", "meter": "reserved"}
    if row.count("n_experts"):
        return common | {"pp": 2, "ep": 8, "recompute": "full"}
    return common | {"tp": 4, "recompute": "selective", "sequence_parallel": True}


def _litgpt(row: Row, notes: Notes) -> dict[str, object]:
    """bf16-true recipes; the fine-tuning table says that its runs are effectively single-GPU.

    Under FSDP every device once holds the whole checkpoint, beside its shard.
    """
    settings: dict[str, object] = {"untied": True, "grad_accum": 1}
    single = "effectively single-gpu" in row.text("notes").lower()
    if single and row.text("task") != "full-ft":
        settings["devices"] = 1
    elif (row.count("n_gpus") or 1) > 1:
        settings |= {"sharding": "zero3", "recompute": "full", "full_weights_at_load": True}
    return settings


# each row of torchtune's table of cumulative flags keeps the flags of the rows above it
_AFTER_OPTIMIZER_IN_BACKWARD = ("+activation offload", "+8bit adamw")


def _torchtune(row: Row, notes: Notes) -> dict[str, object]:
    """Full fine-tuning on one device has bitsandbytes' PagedAdamW8bit unless told otherwise."""
    settings: dict[str, object] = {
        "sharding": "zero3" if (row.count("n_gpus") or 1) > 1 else "none"
    }
    text = row.text("notes").lower()
    if any(step in text for step in ("baseline unpacked", "+packed", "+compile;")):
        settings["loss"] = "eager"
    if "paged" in text or (row.text("task") == "full-ft" and row.count("n_gpus") == 1):
        settings |= {"optimizer": "adamw8bit", "paged_optimizer": True}
    if any(step in text for step in _AFTER_OPTIMIZER_IN_BACKWARD):
        settings["optimizer_in_backward"] = True
    if "+8bit adamw" in text:
        settings["paged_optimizer"] = False
    if notes.cpu_offload:
        settings["offload"] = "params+optimizer"
    return settings


def _swift(row: Row, notes: Notes) -> dict[str, object]:
    """Published with torch before 2.8: foreach Adam.

    Its registry of models did not pass the flash attention switch on to ChatGLM and Baichuan.
    """
    settings: dict[str, object] = {"optimizer": "adamw-foreach"}
    if any(name in row.text("model_name").lower() for name in ("chatglm", "baichuan2")):
        settings["attention"] = "sdpa-math"
    return settings


def _deepspeed(row: Row, notes: Notes) -> dict[str, object]:
    """ms-swift's comparison with Megatron: packed 8K sequences, 16 a step, checkpointing on."""
    if "s/it with" not in row.text("notes"):
        return {}
    return {"micro_batch": 1, "global_batch_seqs": 16, "recompute": "full"}


def _peft(row: Row, notes: Notes) -> dict[str, object]:
    """Twitter complaints: sequences of at most 64 tokens, batches of 8; transformers 4 in FP32."""
    return {"seq_len": 64, "micro_batch": 8, "grad_accum": 1, "precision": "fp32"}


def _maxtext(row: Row, notes: Notes) -> dict[str, object]:
    """About 16,000 tokens a chip and step in the TPU recipes; full rematerialisation."""
    seq_len = row.count("seq_len") or 4096
    return {
        "seq_len": seq_len,
        "micro_batch": max(1, 16384 // seq_len),
        "grad_accum": 1,
        "sharding": "zero3",
        "recompute": "full",
    }


# Lengths of Alpaca samples in tokens, prompt template included: the longest as litgpt reports it
# for the Llama 2 tokenizer, the mean an estimate (approximate)
ALPACA_LONGEST = 1304
ALPACA_MEAN = 112


def padded_length(samples: int) -> int:
    """Length to which a batch of so many Alpaca samples is padded, on average.

    The longest of two or four normal deviates lies 0.56 or 1.03 standard deviations above the
    mean; with a deviation of about 0.6 of the mean that is 0.3 a doubling.

    >>> [padded_length(samples) for samples in (1, 2, 4)]
    [112, 146, 179]
    """
    return round(ALPACA_MEAN * (1 + 0.3 * log2(samples)))


_SPECIAL = {
    "composer": _composer,
    "composer-2023-02": _composer,
    "pytorch-fsdp": _tinyllama,
    "deepspeed": _deepspeed,
    "torchtune-2024-04": _torchtune,
    "megatron-2021": _vtrain,
    "nemo": _nemo,
    "megatron": _megatron,
    "litgpt": _litgpt,
    "torchtune": _torchtune,
    "ms-swift": _swift,
    "peft": _peft,
    "maxtext": _maxtext,
}
