"""Model FLOPs for a token."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.models import flops_per_token, load_model, model_from_dimensions, preset_ids
from planner.models.flops import flops_parts, matmul_weights_per_token


def test_gpt2_by_the_usual_formula() -> None:
    """6N + 12·L·h·s with N without positions, norms and biases."""
    model = load_model("gpt2-124m")
    weights = 12 * 12 * 768**2 + 50257 * 768
    assert flops_per_token(model, 1024) == 6 * weights + 12 * 12 * 768 * 1024


def test_a_causal_mask_halves_the_attention() -> None:
    model = load_model("gpt2-124m")
    full, half = flops_parts(model, 1024), flops_parts(model, 1024, causal=True)
    assert half.matmul == full.matmul
    assert half.attention == full.attention / 2


def test_an_encoder_has_no_causal_half() -> None:
    model = load_model("bert-base")
    assert flops_per_token(model, 512) == flops_per_token(model, 512, causal=True)


def test_multiply_accumulates_of_a_prompt_are_not_its_parameters() -> None:
    """A library prints 850 GMAC for 128 tokens of a 6.74e9 model: 128 times the matrices."""
    model = load_model("llama-7b")
    forward = flops_per_token(model, 128) / 6
    assert forward * 128 == pytest.approx(850e9, rel=0.03)


def test_experts_count_as_often_as_a_token_meets_them() -> None:
    model = load_model("mixtral-8x7b")
    norms = 65 * 4096
    expected = model.params_active_without_input_embedding - norms
    assert matmul_weights_per_token(model, 4096) == expected


def test_latent_attention_has_wider_keys_than_values() -> None:
    model = load_model("deepseek-v3")
    assert flops_parts(model, 1000).attention == 3 * 61 * 2 * 128 * (192 + 128) * 1000


def test_a_window_limits_the_attention() -> None:
    model = load_model("mistral-7b")
    at_window, beyond = flops_parts(model, 4096), flops_parts(model, 32768)
    assert beyond.attention == at_window.attention
    half, beyond_half = (flops_parts(model, s, causal=True).attention for s in (4096, 32768))
    assert beyond_half == pytest.approx(half * 2 * (1 - 4096 / 65536))


def test_an_encoder_decoder_carries_its_encoder() -> None:
    model = load_model("t5-small")
    encoder = 6 * (4 * 512 * 512 + 2 * 512 * 2048)
    decoder = 6 * (8 * 512 * 512 + 2 * 512 * 2048) + 512 * 32128
    assert flops_parts(model, 100).matmul == 6 * (encoder + decoder)
    twice = 6 * (2 * encoder + 6 * 2 * 512 * 512 + decoder)
    assert flops_parts(model, 100, encoder_seq_len=200).matmul == pytest.approx(twice)


def test_a_pooler_works_once_for_a_sequence() -> None:
    model = load_model("vit-base")
    layers = 12 * 12 * 768**2
    expected = layers + 768 * 768 + 768 * 1000 / 197
    assert matmul_weights_per_token(model, 197) == pytest.approx(expected)


@pytest.mark.parametrize("seq_len", [0, -1, 1.5, True])
def test_a_length_that_is_none_is_refused(seq_len: int) -> None:
    with pytest.raises(PlannerError, match="seq_len"):
        flops_per_token(load_model("gpt2-124m"), seq_len)


@given(st.sampled_from(preset_ids()), st.integers(1, 100_000))
def test_the_causal_count_is_never_larger(preset: str, seq_len: int) -> None:
    model = load_model(preset)
    full = flops_per_token(model, seq_len)
    assert 0 < flops_per_token(model, seq_len, causal=True) <= full
    assert full <= flops_per_token(model, seq_len + 1) * (1 + 1e-12) or model.kind != "decoder"


def test_dimensions_and_config_agree() -> None:
    plain = model_from_dimensions(
        layers=32,
        hidden=4096,
        heads=32,
        kv_heads=8,
        vocab=128256,
        mlp_kind="swiglu",
        ffn_hidden=14336,
    )
    model = load_model("llama-3-8b")
    assert plain.params_total == model.params_total
    assert flops_per_token(plain, 8192) == flops_per_token(model, 8192)
