"""Models from the rows of published tables."""

from __future__ import annotations

from typing import Any

import pytest

from planner.errors import PlannerError
from planner.models import load_model, model_from_dimensions

GPT: dict[str, Any] = {
    "layers": 12,
    "hidden": 768,
    "heads": 12,
    "vocab": 50257,
    "mlp_kind": "gelu",
    "ffn_hidden": 3072,
}
MOE: dict[str, Any] = {
    "layers": 32,
    "hidden": 4096,
    "heads": 32,
    "kv_heads": 8,
    "vocab": 32000,
    "mlp_kind": "moe",
    "num_experts": 8,
    "top_k": 2,
    "expert_hidden": 14336,
}


def test_gpt2_from_its_dimensions() -> None:
    model = model_from_dimensions(
        **GPT, tied=True, biases=True, learned_positions=True, max_seq_len=1024
    )
    assert model.params_total == load_model("gpt2-124m").params_total


def test_a_mixture_from_its_dimensions() -> None:
    model = model_from_dimensions(**MOE)
    assert model.params_total == 46702792704
    assert model.params_active == 12879925248


def test_dense_layers_come_before_sparse_ones() -> None:
    model = model_from_dimensions(**MOE, dense_layers=2, ffn_hidden=8192, shared_hidden=512)
    assert [block.count for block in model.blocks] == [2, 30]
    assert model.blocks[0].ffn_hidden == 8192
    assert model.blocks[1].shared_hidden == 512


@pytest.mark.parametrize("key", ["layers", "hidden", "heads", "vocab", "ffn_hidden"])
@pytest.mark.parametrize("value", [None, 0, -2, 1.5, "12", True])
def test_a_dimension_that_is_none_is_refused(key: str, value: object) -> None:
    with pytest.raises(PlannerError, match=key):
        model_from_dimensions(**{**GPT, key: value})


@pytest.mark.parametrize("key", ["num_experts", "top_k", "expert_hidden"])
def test_a_mixture_needs_its_experts(key: str) -> None:
    with pytest.raises(PlannerError, match=key):
        model_from_dimensions(**{**MOE, key: None})


def test_a_name_that_is_no_dimension_is_refused() -> None:
    with pytest.raises(TypeError, match="hiden"):
        model_from_dimensions(**GPT, hiden=3)


def test_an_unknown_kind_of_feed_forward_is_refused() -> None:
    with pytest.raises(PlannerError, match="mlp_kind"):
        model_from_dimensions(**{**GPT, "mlp_kind": "relu2"})


def test_learned_positions_need_a_length() -> None:
    with pytest.raises(PlannerError, match="max_seq_len"):
        model_from_dimensions(**GPT, learned_positions=True)
