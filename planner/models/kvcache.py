"""The key-value cache of generation: what each token of context holds."""

from __future__ import annotations

from planner.engine.model import Block, Model


def kv_cache_bytes(
    model: Model, context: int, *, batch: int = 1, element_bytes: float = 2
) -> float | None:
    """Bytes of keys and values for `context` tokens; None for a model that does not generate.

    Latent attention keeps one latent and one rotary key a token for all heads (DeepSeek-V2, arXiv
    2405.04434, section 2.1). A sliding-window layer keeps at most its window. An encoder-decoder
    also keeps the keys and values of as many encoder tokens.

    >>> from planner.models import load_model
    >>> kv_cache_bytes(load_model("llama-3-8b"), 8192) == 32 * 2 * 8 * 128 * 2 * 8192
    True
    """
    if model.kind not in ("decoder", "encoder-decoder"):
        return None
    elements = sum(block.count * _elements(block, context) for block in model.blocks)
    return elements * batch * element_bytes


def _elements(block: Block, context: int) -> int:
    if block.side == "encoder":
        return 0
    kept = min(block.window or context, context)
    tokens = kept + context if block.cross_attention else kept
    return tokens * _width(block)


def _width(block: Block) -> int:
    if block.kv_lora_rank:
        return block.kv_lora_rank + block.rope_head_dim
    return block.kv_heads * (block.head_dim + block.v_head_dim)
