"""Dimensions of the traced models, as settings of a case."""

from __future__ import annotations

SMALL = {
    "hidden": 1024,
    "heads": 16,
    "kv_heads": 4,
    "head_dim": 64,
    "ffn_hidden": 2816,
    "vocab": 32000,
    "layers": 4,
    "seq_len": 1024,
    "micro_batch": 2,
}
LLAMA_3_8B = {
    "hidden": 4096,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
    "ffn_hidden": 14336,
    "vocab": 128256,
    "layers": 2,
    "seq_len": 4096,
    "micro_batch": 1,
}
LLAMA_2_7B = {**LLAMA_3_8B, "kv_heads": 32, "ffn_hidden": 11008, "vocab": 32000}
LLAMA_32_1B = {
    **LLAMA_3_8B,
    "hidden": 2048,
    "head_dim": 64,
    "ffn_hidden": 8192,
    "layers": 16,
    "tied": True,
}
QWEN_25_7B = {
    **LLAMA_3_8B,
    "hidden": 3584,
    "heads": 28,
    "kv_heads": 4,
    "ffn_hidden": 18944,
    "vocab": 152064,
}
GEMMA_7B = {
    **LLAMA_3_8B,
    "hidden": 3072,
    "heads": 16,
    "kv_heads": 16,
    "head_dim": 256,
    "ffn_hidden": 24576,
    "vocab": 256000,
    "tied": True,
}
TINYLLAMA = {
    **LLAMA_3_8B,
    "hidden": 2048,
    "kv_heads": 4,
    "head_dim": 64,
    "ffn_hidden": 5632,
    "vocab": 32000,
    "layers": 22,
    "seq_len": 2048,
}
MIXTRAL = {
    **LLAMA_3_8B,
    "ffn_hidden": 0,
    "n_experts": 8,
    "top_k": 2,
    "expert_hidden": 14336,
    "experts_as": "grouped",
    "vocab": 32000,
}
QWEN3_30B_A3B = {
    **LLAMA_3_8B,
    "hidden": 2048,
    "kv_heads": 4,
    "ffn_hidden": 0,
    "n_experts": 128,
    "top_k": 8,
    "expert_hidden": 768,
    "experts_as": "grouped",
    "vocab": 151936,
}
GPT2 = {
    "hidden": 768,
    "heads": 12,
    "kv_heads": 12,
    "head_dim": 64,
    "ffn_hidden": 3072,
    "vocab": 50257,
    "layers": 12,
    "seq_len": 1024,
    "micro_batch": 8,
    "mlp_kind": "gelu",
    "norm": "layernorm",
    "positions": "learned",
    "qkv": "fused",
    "tied": True,
    "biases": True,
    "precision": "bf16-autocast",
    "optimizer": "adamw-fused",
}
SMALL_MOE = {
    **SMALL,
    "ffn_hidden": 0,
    "n_experts": 8,
    "top_k": 2,
    "expert_hidden": 1408,
    "experts_as": "grouped",
}

LORA = {"task": "lora", "lora_rank": 16, "lora_targets": "all-linear", "lora_format": "model"}
