"""Random dimensions of every family, counted by the reference implementation and by us."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from planner.models import lora_params, model_from_config
from planner.models.registry import known_families
from tests.models.oracle import build, linear_modules, our_linear_modules, total

pytest.importorskip("transformers", reason="transformers is the oracle")

Draw = Callable[[random.Random], dict[str, Any]]

DECODER, MODEL = "AutoModelForCausalLM", "AutoModel"


def _common(rng: random.Random, *, grouped: bool = True) -> dict[str, Any]:
    kv_heads = rng.choice((1, 2, 3)) if grouped else None
    heads = kv_heads * rng.choice((1, 2, 4)) if kv_heads else rng.choice((2, 3, 4))
    drawn = {
        "vocab_size": rng.randint(50, 200),
        "hidden_size": heads * 2 * rng.randint(2, 12),
        "intermediate_size": 2 * rng.randint(5, 60),
        "num_hidden_layers": rng.randint(1, 5),
        "num_attention_heads": heads,
        "max_position_embeddings": rng.randint(8, 64),
        "tie_word_embeddings": rng.random() < 0.5,
    }
    return drawn | ({"num_key_value_heads": kv_heads} if kv_heads else {})


def _flags(*names: str) -> Draw:
    return lambda rng: _common(rng) | {name: rng.random() < 0.5 for name in names}


def _wide(*names: str) -> Draw:
    """With a head width that is not hidden / heads."""
    return lambda rng: _flags(*names)(rng) | {"head_dim": 2 * rng.randint(2, 20)}


def _padded(draw: Draw) -> Draw:
    """With a padding token inside the small vocabulary."""
    return lambda rng: draw(rng) | {"pad_token_id": 0}


def _old(rng: random.Random) -> dict[str, Any]:
    """The names of GPT-2's days."""
    drawn = _common(rng, grouped=False)
    names = {
        "hidden_size": "n_embd",
        "num_hidden_layers": "n_layer",
        "num_attention_heads": "n_head",
    }
    renamed = {names[key]: drawn[key] for key in names}
    return renamed | {
        "vocab_size": drawn["vocab_size"],
        "n_positions": drawn["max_position_embeddings"],
        "n_inner": rng.choice((None, drawn["intermediate_size"])),
        "tie_word_embeddings": drawn["tie_word_embeddings"],
    }


def _multi_head(rng: random.Random) -> dict[str, Any]:
    return _common(rng, grouped=False)


def _bigcode(rng: random.Random) -> dict[str, Any]:
    return _old(rng) | {"multi_query": rng.random() < 0.5}


def _codegen(rng: random.Random) -> dict[str, Any]:
    return _old(rng) | {"n_head": 4, "n_embd": 8 * rng.randint(2, 6)}


def _neo(rng: random.Random) -> dict[str, Any]:
    pairs = rng.randint(1, 3)
    return {
        "vocab_size": rng.randint(50, 200),
        "hidden_size": 4 * rng.randint(2, 20),
        "num_layers": 2 * pairs,
        "num_heads": 4,
        "attention_types": [[["global", "local"], pairs]],
        "intermediate_size": rng.choice((None, 40)),
        "max_position_embeddings": rng.randint(8, 64),
    }


def _neox(rng: random.Random) -> dict[str, Any]:
    return _multi_head(rng) | {"attention_bias": rng.random() < 0.5}


def _bloom(rng: random.Random) -> dict[str, Any]:
    return {"vocab_size": 99, "hidden_size": 4 * rng.randint(2, 20), "n_layer": 2, "n_head": 4}


def _mpt(rng: random.Random) -> dict[str, Any]:
    return {"vocab_size": 99, "d_model": 4 * rng.randint(2, 20), "n_layers": 3, "n_heads": 4}


def _falcon(rng: random.Random) -> dict[str, Any]:
    drawn = _common(rng)
    drawn["num_kv_heads"] = drawn.pop("num_key_value_heads")
    drawn["ffn_hidden_size"] = rng.choice((None, drawn.pop("intermediate_size")))
    flags = ("multi_query", "parallel_attn", "bias", "new_decoder_architecture")
    drawn |= {flag: rng.random() < 0.5 for flag in flags}
    return drawn | {"num_ln_in_parallel_attn": rng.choice((None, 1, 2))}


def _opt(rng: random.Random) -> dict[str, Any]:
    drawn = _multi_head(rng)
    drawn["ffn_dim"] = drawn.pop("intermediate_size")
    drawn["word_embed_proj_dim"] = rng.choice((drawn["hidden_size"], 12))
    return drawn | {name: rng.random() < 0.5 for name in ("do_layer_norm_before", "enable_bias")}


def _stablelm(rng: random.Random) -> dict[str, Any]:
    return _flags("use_qkv_bias", "qk_layernorm", "use_parallel_residual")(rng)


def _cohere(rng: random.Random) -> dict[str, Any]:
    return _flags("attention_bias", "use_qk_norm")(rng)


def _moe(width: str, count: str, *flags: str, wide: bool = False) -> Draw:
    def draw(rng: random.Random) -> dict[str, Any]:
        experts = rng.randint(2, 6)
        drawn = (_wide if wide else _flags)(*flags)(rng)
        drawn |= {count: experts, "num_experts_per_tok": rng.randint(1, experts)}
        return drawn | {width: 2 * rng.randint(3, 20)}

    return draw


def _qwen_moe(rng: random.Random) -> dict[str, Any]:
    drawn = _moe("moe_intermediate_size", "num_experts", wide=True)(rng)
    layers = drawn["num_hidden_layers"]
    drawn["mlp_only_layers"] = sorted(rng.sample(range(layers), rng.randint(0, layers)))
    return drawn | {
        "decoder_sparse_step": rng.choice((1, 2)),
        "shared_expert_intermediate_size": 2 * rng.randint(3, 20),
    }


def _shared(draw: Draw) -> Draw:
    return lambda rng: (
        draw(rng)
        | {
            "n_shared_experts": rng.randint(1, 3),
            "first_k_dense_replace": rng.randint(0, 2),
        }
    )


def _latent(rng: random.Random) -> dict[str, Any]:
    drawn = _shared(_moe("moe_intermediate_size", "n_routed_experts", "attention_bias"))(rng)
    drawn["num_key_value_heads"] = drawn["num_attention_heads"]
    return drawn | {
        "q_lora_rank": rng.choice((None, 10)),
        "kv_lora_rank": 2 * rng.randint(3, 10),
        "qk_rope_head_dim": 4,
        "qk_nope_head_dim": 2 * rng.randint(3, 10),
        "v_head_dim": 2 * rng.randint(3, 10),
        "n_group": 1,
        "topk_group": 1,
    }


def _bert(rng: random.Random) -> dict[str, Any]:
    return _multi_head(rng) | {"type_vocab_size": rng.randint(1, 3)}


def _distilbert(rng: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": rng.randint(50, 200),
        "dim": 4 * rng.randint(2, 20),
        "n_layers": rng.randint(1, 4),
        "n_heads": 4,
        "hidden_dim": rng.randint(10, 80),
        "max_position_embeddings": rng.randint(8, 64),
    }


def _t5(rng: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": rng.randint(50, 200),
        "d_model": rng.randint(8, 40),
        "d_kv": rng.randint(4, 12),
        "d_ff": rng.randint(10, 60),
        "num_layers": rng.randint(1, 3),
        "num_decoder_layers": rng.choice((None, 1, 4)),
        "num_heads": rng.randint(1, 5),
        "feed_forward_proj": rng.choice(("relu", "gated-gelu")),
        "tie_word_embeddings": rng.random() < 0.5,
    }


def _bart(rng: random.Random) -> dict[str, Any]:
    return {
        "vocab_size": rng.randint(50, 200),
        "d_model": 4 * rng.randint(3, 20),
        "encoder_layers": rng.randint(1, 3),
        "decoder_layers": rng.randint(1, 3),
        "encoder_attention_heads": 4,
        "decoder_attention_heads": 2,
        "encoder_ffn_dim": rng.randint(10, 60),
        "decoder_ffn_dim": rng.randint(10, 60),
        "max_position_embeddings": rng.randint(8, 64),
    }


def _vit(rng: random.Random) -> dict[str, Any]:
    patch = rng.randint(2, 8)
    return {
        "hidden_size": 4 * rng.randint(2, 20),
        "num_hidden_layers": rng.randint(1, 4),
        "num_attention_heads": 4,
        "intermediate_size": rng.randint(10, 60),
        "patch_size": patch,
        "image_size": patch * rng.randint(2, 6),
        "num_channels": rng.randint(1, 3),
        "qkv_bias": rng.random() < 0.5,
        "num_labels": rng.randint(2, 9),
    }


DRAWS: dict[str, Draw] = {
    "llama": _wide("attention_bias", "mlp_bias"),
    "mistral": _wide(),
    "qwen2": _flags(),
    "qwen3": _wide("attention_bias"),
    "gemma": _wide("attention_bias"),
    "gemma2": _wide("attention_bias"),
    "gemma3_text": _wide("attention_bias"),
    "phi": _flags("qk_layernorm"),
    "phi3": _padded(_flags()),
    "gpt2": _old,
    "gpt_bigcode": _bigcode,
    "gpt_neo": _neo,
    "gpt_neox": _neox,
    "gptj": lambda rng: _old(rng) | {"rotary_dim": 2, "tie_word_embeddings": False},
    "codegen": lambda rng: _codegen(rng) | {"rotary_dim": 2, "tie_word_embeddings": False},
    "bloom": _bloom,
    "mpt": _mpt,
    "olmo": _flags("attention_bias"),
    "olmo2": _flags("attention_bias"),
    "olmo3": _flags("attention_bias"),
    "stablelm": _stablelm,
    "starcoder2": _flags("use_bias"),
    "cohere": _cohere,
    "cohere2": _flags("attention_bias"),
    "granite": _flags("attention_bias", "mlp_bias"),
    "smollm3": _padded(_flags("attention_bias", "mlp_bias")),
    "glm": _padded(_wide("attention_bias")),
    "glm4": _padded(_wide("attention_bias")),
    "nemotron": _wide("attention_bias", "mlp_bias"),
    "seed_oss": _wide("attention_bias", "attention_out_bias", "mlp_bias"),
    "falcon": _falcon,
    "opt": _opt,
    "mixtral": _moe("intermediate_size", "num_local_experts", wide=True),
    "qwen2_moe": lambda rng: _qwen_moe(rng) | {"qkv_bias": rng.random() < 0.5},
    "qwen3_moe": _qwen_moe,
    "olmoe": _moe("intermediate_size", "num_experts", "attention_bias"),
    "phimoe": _moe("intermediate_size", "num_local_experts", "attention_bias", "lm_head_bias"),
    "granitemoe": _moe("intermediate_size", "num_local_experts", "attention_bias"),
    "glm4_moe": _shared(
        _moe(
            "moe_intermediate_size", "n_routed_experts", "attention_bias", "use_qk_norm", wide=True
        )
    ),
    "dots1": _shared(
        _moe("moe_intermediate_size", "n_routed_experts", "attention_bias", wide=True)
    ),
    "gpt_oss": _moe("intermediate_size", "num_local_experts", "attention_bias", wide=True),
    "deepseek_v2": _latent,
    "deepseek_v3": _latent,
    "bert": _bert,
    "roberta": _bert,
    "xlm-roberta": _bert,
    "camembert": _bert,
    "distilbert": _distilbert,
    "t5": _t5,
    "mt5": _t5,
    "bart": _bart,
    "mbart": _bart,
    "vit": _vit,
}
_SAME_LAYOUT = {"kimi_k2"}  # read as deepseek_v3; the reference has no class of that name

_ENCODER_CLASSES = (
    "AutoModelForMaskedLM",
    "AutoModelForSequenceClassification",
    "AutoModelForTokenClassification",
    "AutoModelForQuestionAnswering",
)
_CLASSES = {
    "bert": (*_ENCODER_CLASSES, "AutoModelForPreTraining", MODEL),
    "roberta": (*_ENCODER_CLASSES, MODEL),
    "xlm-roberta": (*_ENCODER_CLASSES, MODEL),
    "camembert": (*_ENCODER_CLASSES, MODEL),
    "distilbert": (*_ENCODER_CLASSES, MODEL),
    "t5": ("AutoModelForSeq2SeqLM", MODEL),
    "mt5": ("AutoModelForSeq2SeqLM", MODEL),
    "bart": ("AutoModelForSeq2SeqLM", MODEL),
    "mbart": ("AutoModelForSeq2SeqLM", MODEL),
    "vit": ("AutoModelForImageClassification", MODEL),
}
_DECODER_CLASSES = (DECODER, MODEL)
_SCORED = ("llama", "qwen2", "gpt2", "falcon", "opt", "mistral", "gemma")


def _cases() -> list[tuple[str, str, int]]:
    cases = []
    for family in DRAWS:
        classes = _CLASSES.get(family, _DECODER_CLASSES)
        if family in _SCORED:
            classes = (*classes, "AutoModelForSequenceClassification")
        cases += [(family, auto_class, seed) for auto_class in classes for seed in range(4)]
    return cases


def test_every_known_family_is_judged() -> None:
    assert set(known_families()) == set(DRAWS) | _SAME_LAYOUT


@pytest.mark.parametrize(("family", "auto_class", "seed"), _cases())
def test_counts_equal_the_reference_implementation(family: str, auto_class: str, seed: int) -> None:
    drawn = DRAWS[family](random.Random(f"{family} {seed}"))
    module, content = build(family, auto_class, **drawn)
    model = model_from_config(content, name=family)
    assert model.params_total == total(module), content
    assert our_linear_modules(model) == linear_modules(module), content
    adapters = sum(
        3 * (inputs + outputs) * count
        for (_, inputs, outputs), count in linear_modules(module).items()
    )
    if auto_class in (DECODER, MODEL):  # a classifier has no output layer to leave out
        assert lora_params(model, 3) == adapters
