"""Configs that are wrong, from a typing error to an attack: one line names the key."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.models import load_model, model_from_config
from planner.models.config import MAX_BYTES

LLAMA: dict[str, Any] = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 100,
    "max_position_embeddings": 32,
    "tie_word_embeddings": False,
}
DIMENSIONS = (
    "hidden_size",
    "intermediate_size",
    "num_hidden_layers",
    "num_attention_heads",
    "vocab_size",
)


@pytest.mark.parametrize("key", DIMENSIONS)
def test_a_missing_dimension_is_refused_by_name(key: str) -> None:
    config = {name: value for name, value in LLAMA.items() if name != key}
    with pytest.raises(PlannerError, match=key):
        model_from_config(config)


@pytest.mark.parametrize("key", [*DIMENSIONS, "num_key_value_heads", "max_position_embeddings"])
@pytest.mark.parametrize(
    "value", [-1, 0, 1.5, float("nan"), float("inf"), "64", True, [64], {}, 10**30]
)
def test_a_hostile_value_is_refused_by_name(key: str, value: object) -> None:
    with pytest.raises(PlannerError, match=key):
        model_from_config({**LLAMA, key: value})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("tie_word_embeddings", "false"),
        ("attention_bias", 1),
        ("architectures", "LlamaForCausalLM"),
        ("architectures", ["LlamaForSpeech"]),
        ("architectures", ["GPT2DoubleHeadsModel"]),
        ("num_key_value_heads", 3),
        ("num_attention_heads", 5),
        ("model_type", 7),
        ("quantization_config", {}),
        ("quantization_config", "fp8"),
        ("layer_types", 3),
    ],
)
def test_other_wrong_values_are_refused_by_name(key: str, value: object) -> None:
    config = {**LLAMA, key: value}
    if key == "layer_types":
        config |= {"model_type": "mistral", "architectures": ["MistralForCausalLM"]}
    with pytest.raises(PlannerError, match=key):
        model_from_config(config)


def test_two_keys_for_one_dimension_must_agree() -> None:
    with pytest.raises(PlannerError, match="disagrees with hidden_size"):
        model_from_config({**LLAMA, "n_embd": 128})
    assert model_from_config({**LLAMA, "n_embd": 64}).hidden == 64


def test_an_unknown_architecture_names_the_nearest() -> None:
    with pytest.raises(PlannerError, match=r"lama3.*nearest known: llama"):
        model_from_config({**LLAMA, "model_type": "lama3"})


def test_a_state_space_model_says_why_it_is_refused() -> None:
    with pytest.raises(PlannerError, match="state-space"):
        model_from_config({**LLAMA, "model_type": "mamba2"})


def test_more_experts_for_a_token_than_there_are_is_refused() -> None:
    config = LLAMA | {
        "model_type": "mixtral",
        "architectures": ["MixtralForCausalLM"],
        "num_local_experts": 4,
        "num_experts_per_tok": 5,
    }
    with pytest.raises(PlannerError, match="num_experts_per_tok"):
        model_from_config(config)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("expansion_ratio", 8),
        ("no_bias", False),
        ("attn_config", {"alibi": False}),
        ("attn_config", {"attn_type": "multiquery_attention"}),
    ],
)
def test_a_variant_that_the_reference_does_not_count_is_refused(key: str, value: object) -> None:
    config = {"model_type": "mpt", "d_model": 64, "n_layers": 2, "n_heads": 4, "vocab_size": 99}
    assert model_from_config(config).params_total > 0
    with pytest.raises(PlannerError, match=r"known|must be one of"):
        model_from_config({**config, key: value})


@pytest.mark.parametrize("family", ["gemma", "qwen3", "gpt_oss"])
def test_a_head_width_that_the_config_does_not_state_is_never_divided(family: str) -> None:
    config = {**LLAMA, "model_type": family, "num_experts": 2, "num_experts_per_tok": 1}
    with pytest.raises(PlannerError, match="head_dim"):
        model_from_config(config)


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=4,
)


@given(
    st.dictionaries(st.sampled_from([*LLAMA, "head_dim", "id2label", "auto_map", "bits"]), values),
    st.sampled_from(["llama", "gpt2", "mixtral", "deepseek_v3", "t5", "bert", "vit", "opt", "mpt"]),
)
def test_any_value_gives_a_model_or_a_refusal(changes: dict[str, Any], family: str) -> None:
    config = {**LLAMA, "model_type": family, **changes}
    with suppress(PlannerError):  # any other error fails the test
        assert model_from_config(config).params_total > 0


def _written(folder: Path, text: str) -> str:
    path = folder / "config.json"
    path.write_text(text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[1, 2]",
        '"llama"',
        '{"hidden_size": NaN}',
        '{"hidden_size": Infinity}',
        "[" * 100_000,
        '{"vocab_size": ' + "9" * 5000 + "}",
    ],
)
def test_a_file_that_is_no_config_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(PlannerError, match="model"):
        load_model(_written(tmp_path, text))


def test_a_huge_file_is_refused_before_it_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(PlannerError, match="larger"):
        load_model(str(path))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "config.json"
    path.write_bytes(b"\xff\xfe\x00\x01")
    with pytest.raises(PlannerError, match="UTF-8"):
        load_model(str(path))


def test_a_key_given_twice_is_refused(tmp_path: Path) -> None:
    text = json.dumps(LLAMA)[:-1] + ', "hidden_size": 8192}'
    with pytest.raises(PlannerError, match="'hidden_size' is given twice"):
        load_model(str(_written(tmp_path, text)))


def test_a_device_is_not_read() -> None:
    with pytest.raises(PlannerError, match="regular file"):
        load_model("/dev/zero")


def test_a_config_is_found_in_its_folder_and_beside_the_run_file(tmp_path: Path) -> None:
    _written(tmp_path, json.dumps(LLAMA))
    assert load_model(str(tmp_path)).hidden == 64
    assert load_model("config.json", base_dir=tmp_path).hidden == 64


@pytest.mark.parametrize(
    ("spec", "remedy"),
    [
        ("llama3-8b", "did you mean llama-3-8b"),
        ("resnet-5000", "did you mean resnet-50"),
        ("Qwen/Qwen3-8B", "hf:Qwen/Qwen3-8B"),
        ("net.py:build", "there is no file net.py"),
        ("hf:nonsense", "hf:ORG/NAME"),
        ("hf:org/..", "hf:ORG/NAME"),
        ("hf:org/a--b", "hf:ORG/NAME"),
        ("hf:org/name.", "hf:ORG/NAME"),
        ("hf:org/" + "n" * 200, "hf:ORG/NAME"),
        ("missing/config.json", "no such file"),
        ("", "preset id"),
        ("x/" + "y" * 5000, "no such file"),
        ("~nobody-of-that-name/config.json", "no such file"),
    ],
)
def test_a_model_that_is_not_there_says_what_to_give(spec: str, remedy: str) -> None:
    with pytest.raises(PlannerError, match=remedy):
        load_model(spec)
