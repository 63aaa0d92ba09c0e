"""What the software of a configuration keeps in memory, as numbers for the array engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.adapters import ALL_LINEAR
from planner.engine.formats import ACTIVATION, BYTES
from planner.engine.implementations import WORDS, Implementation, implementation
from planner.engine.records import columns

if TYPE_CHECKING:
    from planner.engine.configuration import Configuration
    from planner.engine.model import Block, Model
    from planner.stacks import Stack

Array = np.ndarray[Any, np.dtype[Any]]

PLAIN_ATTENTIONS = WORDS["plain_attention"]
EAGER_LOGITS = WORDS["eager_logits"]
CHUNKS = WORDS["chunks"]

# architectures, by the config's model_type
_GATED_LAYER_NORM = ("stablelm", "cohere", "cohere2", "starcoder2")
_PLAIN_RMS_NORM = ("t5", "mt5", "umt5")
_PARALLEL = ("gpt_neox", "falcon", "phi", "gptj", "cohere")  # attention beside feed-forward
_NOT_ROTATED = ("bloom", "mpt", "t5", "mt5", "umt5")  # positions as biases on the scores
_COMPOSED_GELU = ("gpt2", "gpt_neo", "gptj", "phi", "bloom")  # several operations when eager


@dataclass(frozen=True, slots=True, kw_only=True)
class Software:
    """What the code keeps and holds, (n,) each; flags are 0 or 1, counts are of tensors."""

    wide: Array  # mixed precision over FP32 weights: autocast, or casts of gathered shards
    layer_norm: Array
    norm_eager: Array  # RMSNorm as separate FP32 operations
    shared_norm_input: Array  # attention and feed-forward read the same residual
    qkv_fused: Array
    rotary: Array
    kv_repeated: Array
    inner_gated: Array  # tensors of the inner width that a gated activation keeps
    inner_plain: Array  # the same of a plain activation
    back_gated: Array  # tensors of the inner width that its backward pass allocates
    back_plain: Array
    plain_kind: Array  # code of PLAIN_ATTENTIONS
    dropout: Array
    frozen: Array  # the base weights have no gradient
    adapter_bytes: Array  # per element that an adapter keeps
    adapter_shared: Array  # adapters of one input keep one copy
    adapters_attention: Array  # adapters that read the attention's input
    adapters_ffn: Array  # that read the feed-forward network's input
    adapters_out: Array  # on the output projection
    adapters_down: Array  # on the last matrix of the feed-forward network
    adapter_rank: Array
    adapter_dropout: Array
    padded_queries: Array  # the update of a fused product keeps queries ...
    padded_keys: Array  # ... and this many of keys and values
    scaled_outputs: Array  # every linear map's output is kept for a learned scale
    main_gradients: Array  # gradients stand in a buffer all through the step
    bucketed_gradients: Array  # data parallelism keeps buckets beside the gradients
    zero_buckets: Array  # DeepSpeed's fixed buckets
    gathered_units: Array  # sharded layers that are whole at a time
    whole_at_load: Array
    varied_lengths: Array
    frozen_outer_bytes: Array  # per frozen parameter outside the layers
    eager_logits: Array  # code of EAGER_LOGITS
    chunks: Array  # code of CHUNKS
    dequantised: Array  # frozen weights are decoded one matrix at a time
    inputs_kept: Array  # inputs of linear maps are kept for weights' gradients, or all the same
    accumulates_in_product: Array  # gradients of weights are added by the product that makes them


def softwares(configurations: Sequence[Configuration], stacks: Sequence[Stack]) -> Software:
    """The arrays of one software per configuration."""
    rows = [
        software_of(each, implementation(stack.implementation), stack)
        for each, stack in zip(configurations, stacks, strict=True)
    ]
    return Software(**columns(rows))


def software_of(
    configuration: Configuration, code: Implementation, stack: Stack
) -> dict[str, float]:
    """One configuration under one implementation; compiled layers run as fused ones."""
    compiled = configuration.compile != "none"
    return {
        **_formats(configuration, stack, code),
        **_layer(configuration.model, code, compiled),
        **_adapters(configuration, code),
        **_gradients(code),
        "varied_lengths": float(varies(configuration, code)),
        "eager_logits": float(_eager_logits(configuration, code)),
        "chunks": float(CHUNKS.index(code.chunks)),
    }


def _formats(configuration: Configuration, stack: Stack, code: Implementation) -> dict[str, float]:
    mixed = configuration.precision not in ("fp32", "tf32", "pure-bf16")
    adapters = configuration.task in ("lora", "qlora")
    over_fp32 = stack.precision in ("pure-bf16", "fp32", "tf32") or stack.param_bytes == 4
    cast = mixed and over_fp32 and not adapters
    return {
        "wide": float(cast and stack.launch != "xla"),
        "frozen": float(adapters),
        "dequantised": float(configuration.task == "qlora"),
        "inputs_kept": float(
            not adapters or (configuration.task == "qlora" and code.decoded_keeps_inputs)
        ),
    }


def _layer(model: Model, code: Implementation, compiled: bool) -> dict[str, float]:
    first, family = model.blocks[0], model.family
    layer_norm = not is_rms_norm(model)
    composed = code.gelu == "composed" or (code.gelu == "as-published" and family in _COMPOSED_GELU)
    slow_glu = code.gated == "eager" and not compiled
    slow_gelu = composed and not compiled
    return {
        "layer_norm": float(layer_norm),
        "norm_eager": float(code.norm == "eager" and not layer_norm and not compiled),
        "shared_norm_input": float(family in _PARALLEL),
        "qkv_fused": float(_is_fused(first, code)),
        "rotary": float(model.position_params == 0 and family not in _NOT_ROTATED),
        "kv_repeated": float(code.key_values == "repeated"),
        "inner_gated": 3.0 if slow_glu else 2.0,
        "inner_plain": 4.0 if slow_gelu else 1.0,
        "back_gated": 2.0 if slow_glu else 1.0,
        "back_plain": 2.0 if slow_gelu else 1.0,
        "plain_kind": float(PLAIN_ATTENTIONS.index(code.plain_attention)),
        "dropout": float(code.dropout),
    }


def is_rms_norm(model: Model) -> bool:
    """Whether the layers' norms are root-mean-square ones: those of gated families, mostly."""
    gated = model.blocks[-1].gated
    if model.family in _PLAIN_RMS_NORM:
        return True
    return gated and model.family not in _GATED_LAYER_NORM


def _is_fused(block: Block, code: Implementation) -> bool:
    """One product for queries, keys and values."""
    if code.qkv != "model":
        return code.qkv == "fused" and not block.kv_lora_rank
    inputs = [each for each in block.matrices if each.role == "attention"]
    return 0 < len(inputs) < 4 and not block.kv_lora_rank


def _adapters(configuration: Configuration, code: Implementation) -> dict[str, float]:
    frozen = configuration.task in ("lora", "qlora")
    given = configuration.lora_targets or ALL_LINEAR
    roles = frozenset(given) if frozen else frozenset()
    model_bytes = BYTES[ACTIVATION[configuration.precision]]
    fused = _is_fused(configuration.model.blocks[0], code)
    readers = len(roles & {"q", "k", "v"})
    gated = configuration.model.blocks[-1].gated
    inner = len(roles & ({"gate", "up"} if gated else {"up"}))
    padded = frozen and fused and code.chunks == "listed"
    return {
        "adapter_bytes": 4.0 if code.adapters == "fp32" else model_bytes,
        "adapter_shared": float(code.adapters == "model" and not code.adapter_dropout),
        "adapters_attention": float(min(readers, 1) if fused else readers),
        "adapters_ffn": float(inner),
        "adapters_out": float("o" in roles),
        "adapters_down": float("down" in roles),
        "adapter_rank": float(configuration.lora_rank),
        "adapter_dropout": float(code.adapter_dropout and frozen),
        "padded_queries": float(padded and "q" in roles),
        "padded_keys": float(len(roles & {"k", "v"})) if padded else 0.0,
        "scaled_outputs": float("scale" in roles),
        "frozen_outer_bytes": _frozen_outer(configuration, code, model_bytes),
    }


def _frozen_outer(configuration: Configuration, code: Implementation, model_bytes: float) -> float:
    return code.frozen_outer_bytes if configuration.task == "qlora" else model_bytes


def _gradients(code: Implementation) -> dict[str, float]:
    return {
        "main_gradients": float(code.buffers in ("main", "zero")),
        "bucketed_gradients": float(code.buffers == "buckets"),
        "zero_buckets": float(code.buffers == "zero"),
        "accumulates_in_product": float(code.buffers == "main"),
        "gathered_units": code.gathered_units,
        "whole_at_load": float(code.whole_at_load),
    }


def varies(configuration: Configuration, code: Implementation) -> bool:
    """Whether batches differ in length: pre-training cuts its text into equal pieces."""
    return code.lengths == "varied" and configuration.task != "pretrain"


def _eager_logits(configuration: Configuration, code: Implementation) -> int:
    """A compiled model fuses the cast of the logits with the loss."""
    word = "compiled" if configuration.compile == "full" else code.eager_logits
    return EAGER_LOGITS.index(word)
