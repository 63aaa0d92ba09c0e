"""`forerun model` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Forerun = Callable[..., Any]


def test_json_has_the_agreed_names(forerun: Forerun) -> None:
    answer = forerun("model", "deepseek-v3", "--json").json
    assert answer["params_total"] == 671026404352
    assert answer["params_active"] == 37552282624
    assert answer["params_active_without_input_embedding"] == 36625603584
    assert answer["params_input_embedding"] == 926679040
    assert answer["tied"] is False
    assert answer["layers"] == 61
    assert (answer["layers_dense"], answer["layers_sparse"]) == (3, 58)
    assert answer["flops_per_token"] == sum(answer["flops"].values())
    assert any("fp8" in warning for warning in answer["warnings"])


@pytest.mark.parametrize("preset", ["gpt2-124m", "mixtral-8x7b", "t5-small", "vit-base"])
def test_groups_add_up_to_the_total(forerun: Forerun, preset: str) -> None:
    answer = forerun("model", preset, "--json").json
    assert sum(answer["params"].values()) == answer["params_total"]


def test_the_cache_at_a_context(forerun: Forerun) -> None:
    answer = forerun("model", "santacoder", "--seq-len", "8192", "--json").json
    assert answer["kv_cache"]["bytes"] == 100663296
    assert any("exceed" in warning for warning in answer["warnings"])
    assert forerun("model", "bert-base", "--json").json["kv_cache"] is None


def test_adapters_are_counted(forerun: Forerun) -> None:
    words = ("--lora-rank", "8", "--lora-targets", "q,v", "--json")
    assert forerun("model", "llama-2-7b", *words).json["params_trainable"] == 4194304


def test_a_readable_answer_names_the_parts(forerun: Forerun) -> None:
    answer = forerun("model", "mixtral-8x7b")
    assert answer.status == 0
    assert "46,702,792,704" in answer.out
    assert "2 of 8 x 14336" in answer.out


def test_the_list_names_presets_and_architectures(forerun: Forerun) -> None:
    answer = forerun("model", "--list", "--json").json
    assert {"llama-3-8b", "gpt2-xl"} <= {preset["id"] for preset in answer["presets"]}
    assert "deepseek_v3" in answer["families"]
    assert "llama-3-8b" in forerun("model", "--list").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("llama3-8b",), "did you mean llama-3-8b"),
        ((), "--list"),
        (("gpt2-xl", "--seq-len", "-1"), "--seq-len"),
        (("gpt2-xl", "--seq-len", "8k"), "every digit"),
        (("gpt2-xl", "--lora-rank", "many"), "--lora-rank: 'many': write a count"),
        (("gpt2-xl", "--list"), "--list: 'gpt2-xl'"),
        (("gpt2-xl", "--lora-targets", "q"), "--lora-rank"),
        (("gpt2-xl", "--lora-rank", "8", "--lora-targets", "q_proj"), "c_attn"),
    ],
)
def test_a_mendable_mistake_is_one_line(
    forerun: Forerun, words: tuple[str, ...], said: str
) -> None:
    answer = forerun("model", *words)
    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_config_file_is_read(forerun: Forerun, tmp_path: Path) -> None:
    config = {"model_type": "gpt2", "n_embd": 768, "n_layer": 12, "n_head": 12}
    config |= {"n_positions": 1024, "vocab_size": 50257}
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    answer = forerun("model", path, "--json").json
    assert answer["params_total"] == 124439808
    assert any("architectures" in warning for warning in answer["warnings"])
