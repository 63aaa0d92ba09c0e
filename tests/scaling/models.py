"""Models for the tests of scaling."""

from __future__ import annotations

from planner.engine.model import Block, Model


def tiny_model(*, num_experts: int = 0, top_k: int = 0) -> Model:
    """Four layers of width 64 with an untied output layer, dense or of experts."""
    block = Block(
        count=4,
        heads=4,
        kv_heads=4,
        head_dim=16,
        v_head_dim=16,
        ffn_hidden=0 if num_experts else 256,
        num_experts=num_experts,
        top_k=top_k,
        expert_hidden=256 if num_experts else 0,
        attention_params=16_384,
        ffn_params=0 if num_experts else 32_768,
        expert_params=32_768 * num_experts,
    )
    return Model(
        name="tiny",
        family="llama",
        kind="decoder",
        hidden=64,
        vocab=1000,
        blocks=(block,),
        input_embedding_params=64_000,
        head_params=64_000,
    )
