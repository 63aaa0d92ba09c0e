"""Hugging Face's own Llama decoder layer, eager, with its gradient checkpointing; LoRA on top."""

from __future__ import annotations

from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks.host_overhead.style import BATCH, FFN, HEAD_DIM, HEADS, HIDDEN, SEQUENCE, Tower

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


class Adapter(nn.Module):
    """A frozen linear layer with a low-rank branch, looked up by the name of the adapter."""

    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        down, up = nn.Linear(base.in_features, rank, bias=False), nn.Linear(rank, base.out_features)
        self.lora_a, self.lora_b = nn.ModuleDict({"default": down}), nn.ModuleDict({"default": up})
        self.dropout = nn.ModuleDict({"default": nn.Dropout(0.05)})
        self.scaling, self.active, self.merged = {"default": 2.0}, ["default"], False
        self.variants: dict[str, Any] = {}

    def forward(self, x: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        if kwargs.pop("adapter_names", None) is not None or self.merged:
            raise NotImplementedError
        out = self.base(x, *args, **kwargs)
        kind = out.dtype
        for name in self.active:
            if name not in self.lora_a or name in self.variants:
                continue
            first, second = self.lora_a[name], self.lora_b[name]
            ready = x if x.dtype == first.weight.dtype else x.to(first.weight.dtype)
            out = out + second(first(self.dropout[name](ready))) * self.scaling[name]
        return out if out.dtype == kind else out.to(kind)


def config() -> Any:
    """A Llama so small that its kernels cost nothing."""
    from transformers import LlamaConfig

    made = LlamaConfig(
        hidden_size=HIDDEN,
        intermediate_size=FFN,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        head_dim=HEAD_DIM,
        num_hidden_layers=1,
        vocab_size=32,
    )
    made._attn_implementation = "sdpa"
    return made


def layer(lora: bool) -> nn.Module:
    """One decoder layer, its seven products wrapped by adapters if asked."""
    from transformers.models.llama.modeling_llama import LlamaDecoderLayer

    made: nn.Module = LlamaDecoderLayer(config(), layer_idx=0).to(torch.bfloat16)
    if lora:
        made.requires_grad_(False)
        for parent in (made.self_attn, made.mlp):
            for name in TARGETS:
                if hasattr(parent, name):
                    setattr(parent, name, Adapter(getattr(parent, name)).to(torch.bfloat16))
    return made.train()


def rotary(positions: Tensor, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Cosines and sines, computed once a step outside the layers."""
    from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding

    result: tuple[Tensor, Tensor] = LlamaRotaryEmbedding(config())(
        torch.zeros(1, dtype=dtype), positions
    )
    return result


def build(lora: bool, reentrant: bool, layers: int, recompute: bool) -> Tower:
    """A stack of decoder layers."""
    from torch.utils.checkpoint import checkpoint

    modules = nn.ModuleList(layer(lora) for _ in range(layers))
    if recompute:
        for module in modules:
            module.gradient_checkpointing = True  # type: ignore[assignment]
            module._gradient_checkpointing_func = partial(checkpoint, use_reentrant=reentrant)  # type: ignore[assignment]
    positions = torch.arange(SEQUENCE).unsqueeze(0)
    angles = rotary(positions, torch.bfloat16)

    def forward() -> Tensor:
        x = torch.zeros(BATCH, SEQUENCE, HIDDEN, dtype=torch.bfloat16, requires_grad=True)
        for module in modules:
            x = module(
                x,
                attention_mask=None,
                position_ids=positions,
                use_cache=False,
                position_embeddings=angles,
            )
        return x

    trainable = tuple(each for each in modules.parameters() if each.requires_grad)
    return Tower(forward=forward, parameters=trainable)
