"""Models of other sizes: same proportions, whole numbers, honest refusals."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.models import load_model, preset_ids
from planner.models.parts import params_of
from planner.planning.joined.family import APART, Family

DENSE, EXPERTS = "llama-3-8b", "mixtral-8x7b"


@cache
def family(name: str = DENSE) -> Family:
    return Family(base=load_model(name))


def decoders() -> list[str]:
    return [name for name in preset_ids() if load_model(name).kind == "decoder"]


def test_scale_one_is_the_model_itself() -> None:
    assert family().member(1) is family().base


@pytest.mark.parametrize("name", ["llama-3-8b", "gpt2-124m", EXPERTS])
def test_a_model_of_usual_shape_is_rebuilt_exactly(name: str) -> None:
    base = family(name).base
    again = family(name).member(1.0000001)
    assert again.params_total == base.params_total
    assert again.params_active == base.params_active
    assert again.blocks == base.blocks


@pytest.mark.parametrize(
    "name", ["qwen3-8b", "gemma-2-9b", "deepseek-v3", "gpt-oss-20b", "opt-13b"]
)
def test_twice_as_wide_and_deep_is_eight_times_the_layers_parameters(name: str) -> None:
    base, large = family(name).base, family(name).member(2.0)
    inside = large.params_total - large.params_outside
    assert inside == pytest.approx(8 * (base.params_total - base.params_outside), rel=0.12)
    assert large.vocab == base.vocab
    assert large.blocks[0].head_dim == base.blocks[0].head_dim


@pytest.mark.parametrize("name", decoders())
def test_every_decoder_we_know_has_other_sizes(name: str) -> None:
    small = family(name).member(0.5)
    assert small.params_total < family(name).base.params_total
    for block in small.blocks:
        assert block.heads % block.kv_heads == 0
        assert block.attention_params == params_of(block.matrices, "attention")


@given(st.floats(0.02, 12.0))
@settings(max_examples=40)
def test_widths_follow_from_each_other_at_any_scale(scale: float) -> None:
    model = family().member(scale)
    block = model.blocks[0]
    assert model.hidden == block.heads * block.head_dim
    widths = {matrix.name: (matrix.inputs, matrix.outputs) for matrix in block.matrices}
    assert widths["q_proj"] == (model.hidden, model.hidden)
    assert widths["k_proj"] == (model.hidden, block.kv_heads * block.head_dim)
    assert widths["down_proj"] == (block.ffn_hidden, model.hidden)
    assert model.layers >= 1


def sizes(models: list[Model]) -> list[int]:
    return [model.params_active for model in models]


def test_members_rise_apart_from_each_other_and_hold_the_model() -> None:
    found = family().members(1e9, 1e11)
    rising = sizes(found)
    assert all(after >= APART * before for before, after in pairwise(rising))
    assert family().base in found
    assert rising[0] <= 1e9 * 2
    assert rising[-1] >= 1e11


def test_members_reach_down_to_where_the_embeddings_weigh_most() -> None:
    assert sizes(family().members(1e8, 2e8))[0] < 1.6e8


def test_experts_keep_their_number_and_how_many_are_used() -> None:
    block = family(EXPERTS).member(0.4).blocks[0]
    assert (block.num_experts, block.top_k) == (8, 2)


def test_an_architecture_whose_sizes_nobody_knows_is_refused() -> None:
    with pytest.raises(PlannerError, match="other sizes"):
        Family(base=load_model("bert-base"))
