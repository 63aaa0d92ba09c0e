"""Every style that is measured, and which one a training stack runs."""

from __future__ import annotations

from functools import partial

from benchmarks.host_overhead import (
    composer,
    llama_hf,
    megatron_2021,
    megatron_core,
    sharding,
    titan,
    unsloth,
)
from benchmarks.host_overhead.style import Style

STYLES = (
    Style(
        name="megatron-2021",
        title="Megatron-LM v2.5: eager GPT layer, plain attention, random states around dropout",
        build=partial(megatron_2021.build, 1),
    ),
    Style(
        name="megatron-2021-tp",
        title="the same on tensor-parallel ranks",
        build=partial(megatron_2021.build, 8),
        base="megatron-2021",
    ),
    Style(
        name="megatron-core",
        title="Megatron Core on Transformer Engine modules, dense",
        build=partial(megatron_core.build, 1, 0),
    ),
    Style(
        name="megatron-core-tp",
        title="the same on tensor-parallel ranks with sequence parallelism",
        build=partial(megatron_core.build, 8, 0),
        base="megatron-core",
    ),
    Style(
        name="megatron-core-moe-2",
        title="Megatron Core, mixture of experts with 2 local experts",
        build=partial(megatron_core.build, 1, 2),
        synchronises=True,
    ),
    Style(
        name="megatron-core-moe-8",
        title="the same with 8 local experts",
        build=partial(megatron_core.build, 1, 8),
        synchronises=True,
        base="megatron-core-moe-2",
    ),
    Style(
        name="megatron-core-moe-8-ep",
        title="the same on tensor- and expert-parallel ranks",
        build=partial(megatron_core.build, 8, 8),
        synchronises=True,
        base="megatron-core-moe-8",
    ),
    Style(
        name="composer",
        title="Composer MPT layer of 2023 under autocast, not sharded",
        build=composer.build,
    ),
    Style(
        name="composer-fsdp1",
        title="the same, each layer in FSDP1 (real, collectives that do nothing)",
        build=sharding.build_fsdp1,
        base="composer",
    ),
    Style(
        name="hf",
        title="Hugging Face LlamaDecoderLayer, eager, BF16; non-reentrant checkpointing",
        build=partial(llama_hf.build, False, False),
    ),
    Style(
        name="hf-reentrant",
        title="the same; reentrant checkpointing",
        build=partial(llama_hf.build, False, True),
        base="hf",
    ),
    Style(
        name="hf-lora",
        title="the same with adapters on all seven products; reentrant checkpointing",
        build=partial(llama_hf.build, True, True),
        base="hf-reentrant",
    ),
    Style(
        name="unsloth",
        title="Llama layer with adapters in fused functions and Triton kernels",
        build=unsloth.build,
    ),
    Style(
        name="torch-native",
        title="torchtitan and torchtune style Llama layer, eager, fused norm; checkpoint wrapper",
        build=titan.build,
    ),
    Style(
        name="torch-native-selective-op",
        title="the same; recomputation chosen operation by operation through a dispatch mode",
        build=titan.build_per_operation,
        base="torch-native",
    ),
    Style(
        name="torch-native-fsdp2",
        title="the same, each layer sharded per parameter (real FSDP2, collectives do nothing)",
        build=sharding.build_fsdp2,
        base="torch-native",
    ),
    Style(
        name="torch-compiled",
        title="torch-native with each layer compiled",
        build=titan.build_compiled,
        countable=False,
        base="torch-native",
    ),
    Style(
        name="torch-compiled-whole",
        title="torch-native with all layers compiled as one graph",
        build=titan.build_compiled_whole,
        recomputes=False,
        countable=False,
        base="torch-native",
    ),
)

# None: the host replays a graph, or runs no Python per layer.
STYLE_OF_STACK: dict[str, str | None] = {
    "megatron-2021": "megatron-2021",
    "megatron-deepspeed": "megatron-2021",
    "megatron": "megatron-core",
    "nemo": "megatron-core",
    "megatron-bridge": "megatron-core",
    "deepspeed": "hf-reentrant",
    "composer": "composer",
    "composer-2023-02": "composer",
    "torchtitan": "torch-native",
    "torchtitan-2026": "torch-native",
    "pytorch-fsdp": "torch-native",
    "hf-trainer": "hf",
    "hf-trainer-4": "hf-reentrant",
    "peft": "hf-reentrant",
    "trl": "hf",
    "axolotl": "hf-reentrant",
    "llama-factory": "hf-reentrant",
    "torchtune": "torch-native",
    "torchtune-2024-04": "torch-native",
    "litgpt": "torch-native",
    "ms-swift": "hf-reentrant",
    "unsloth": "unsloth",
    "llm.c": None,
    "nanogpt": "torch-compiled-whole",
    "modded-nanogpt": "torch-compiled-whole",
    "nanochat": "torch-compiled-whole",
    "maxtext": None,
    "paxml": None,
    "levanter": None,
    "olmo-core": "torch-compiled",
    "internevo": "torch-native",
    "colossalai": "hf-reentrant",
    "mlperf-nvidia": None,
}


def style(name: str) -> Style:
    """The style of that name; KeyError for another one."""
    return {each.name: each for each in STYLES}[name]
