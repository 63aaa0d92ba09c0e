"""Trainable parameters of adapters."""

from __future__ import annotations

import pytest

from planner.errors import PlannerError
from planner.models import load_model, lora_params


def test_query_and_value_adapters_of_llama() -> None:
    assert lora_params(load_model("llama-2-7b"), 8, ("q_proj", "v_proj")) == 32 * 2 * 8 * 8192


def test_all_linear_adapters_follow_the_grouped_heads() -> None:
    layer = (4096 + 4096) * 2 + (4096 + 1024) * 2 + (4096 + 14336) * 3
    assert lora_params(load_model("llama-3-8b"), 16) == 32 * 16 * layer


def test_a_fused_projection_is_one_matrix() -> None:
    assert lora_params(load_model("gpt2-124m"), 4, ["c_attn"]) == 12 * 4 * (768 + 3 * 768)


def test_short_and_joined_names_mean_the_same() -> None:
    model = load_model("llama-2-7b")
    expected = lora_params(model, 8, ["q_proj", "v_proj"])
    assert lora_params(model, 8, "q,v") == lora_params(model, 8, "q_proj, v_proj") == expected


def test_a_repeated_name_counts_once() -> None:
    model = load_model("llama-2-7b")
    assert lora_params(model, 8, ["q_proj", "q_proj", "q"]) == lora_params(model, 8, "q_proj")


def test_stacked_experts_are_adapted_only_when_named() -> None:
    model = load_model("mixtral-8x7b")
    experts = 32 * 8 * 8 * ((4096 + 2 * 14336) + (14336 + 4096))
    assert lora_params(model, 8, ["experts"]) == experts
    assert lora_params(model, 8) == lora_params(model, 8, "attention")


def test_modules_trained_in_full_add_their_size() -> None:
    model = load_model("llama-2-7b")
    adapters = lora_params(model, 8)
    matrix = 32000 * 4096
    assert lora_params(model, 8, trainable=["embed_tokens", "lm_head"]) == adapters + 2 * matrix
    assert lora_params(model, 8, trainable=["norm"]) == adapters + 65 * 4096


@pytest.mark.parametrize("rank", [0, -1, 1.5, True, 10**9])
def test_a_rank_that_is_none_is_refused(rank: int) -> None:
    with pytest.raises(PlannerError, match="rank"):
        lora_params(load_model("llama-2-7b"), rank)


@pytest.mark.parametrize(
    ("targets", "trainable"), [(["q_prj"], ()), ([], ()), ("", ()), ("q", ["embeding"])]
)
def test_an_unknown_module_is_refused(targets: list[str], trainable: list[str]) -> None:
    with pytest.raises(PlannerError, match=r"lora\.(targets|trainable)"):
        lora_params(load_model("llama-2-7b"), 8, targets, trainable)


def test_an_unknown_module_names_the_nearest() -> None:
    with pytest.raises(PlannerError, match="did you mean q_proj"):
        lora_params(load_model("llama-2-7b"), 8, ["q_prj"])
