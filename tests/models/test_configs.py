"""Real configs with their true counts, and the reports in which other tools miscounted them."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from planner.engine.model import Model
from planner.models import kv_cache_bytes, load_model, model_from_config

LATER = {
    "Qwen3.5-35B-A3B": "its linear-attention layers are not modelled yet",
    "Llama-4-Scout-17B-16E-Instruct": "multimodal models are not modelled yet",
}

BERT = {
    "model_type": "bert",
    "hidden_size": 768,
    "num_hidden_layers": 12,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 512,
    "type_vocab_size": 2,
    "vocab_size": 30522,
}


def _read(shared: Path, file: str) -> Model:
    return load_model(str(shared / "data" / file))


def _known(row: dict[str, str]) -> bool:
    return row["model"] not in LATER


def test_every_real_config_is_counted_exactly(shared: Path) -> None:
    with (shared / "data" / "configs" / "index.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) > 20
    for row in filter(_known, rows):
        model = _read(shared, row["file"])
        assert model.params_total == int(row["total_params"]), row["model"]
        assert model.params_active == int(row["active_params_incl_embeddings"]), row["model"]
        if row["active_excl_input_embedding"]:
            excluded = int(row["active_excl_input_embedding"])
            assert model.params_active_without_input_embedding == excluded, row["model"]
        if row["input_embedding_params"] not in ("", "0"):
            beside = model.position_params if model.kind == "encoder" else 0  # as the table has it
            assert model.input_embedding_params + beside == int(row["input_embedding_params"])
        if row["tied"]:
            assert model.tied is (row["tied"] == "True"), row["model"]


@pytest.mark.parametrize(("model", "reason"), LATER.items())
def test_a_hybrid_or_multimodal_model_is_refused_by_name(
    shared: Path, model: str, reason: str
) -> None:
    (file,) = (shared / "data" / "configs").glob(f"*{model}.json")
    with pytest.raises(ValueError, match=reason):
        _read(shared, f"configs/{file.name}")


@pytest.mark.parametrize(
    ("preset", "right", "wrong"),
    [
        ("gpt2-124m", 124439808, 163037184),
        ("t5-small", 60506624, 93405696),
        ("llama-3.2-1b", 1235814400, 1498482688),
        ("gemma-7b", 8537680896, 8185359360),
        ("santacoder", 1124886528, 1313722368),
        ("falcon-7b", 6921720704, 8224276480),
        ("qwen3-0.6b", 596049920, None),
        ("gpt-oss-20b", 20914757184, None),
        ("opt-350m", 331196416, None),
    ],
)
def test_counts_that_others_got_wrong(preset: str, right: int, wrong: int | None) -> None:
    total = load_model(preset).params_total
    assert total == right
    assert total != wrong


@pytest.mark.parametrize(
    ("preset", "total", "active", "without_embedding"),
    [
        ("mixtral-8x7b", 46702792704, 12879925248, 12748853248),
        ("qwen3-30b-a3b", 30532122624, 3353032704, 3041867776),
        ("deepseek-v3", 671026404352, 37552282624, 36625603584),
        ("gpt-oss-120b", 116829156672, 5711982912, 5132849472),
    ],
)
def test_active_parameters_by_both_definitions(
    preset: str, total: int, active: int, without_embedding: int
) -> None:
    model = load_model(preset)
    assert model.params_total == total
    assert model.params_active == active
    assert model.params_active_without_input_embedding == without_embedding


def test_the_cache_of_multi_query_attention_is_that_of_one_head() -> None:
    assert kv_cache_bytes(load_model("santacoder"), 8192) == 100663296
    assert kv_cache_bytes(load_model("gpt2-124m"), 8192) == 301989888


@pytest.mark.parametrize(
    ("architecture", "params"), [("BertModel", 109482240), ("BertForMaskedLM", 109514298)]
)
def test_the_head_class_changes_the_count(architecture: str, params: int) -> None:
    model = model_from_config({**BERT, "architectures": [architecture]})
    assert model.params_total == params


def test_the_classes_of_a_vision_transformer_are_those_of_id2label() -> None:
    config: dict[str, Any] = {
        "model_type": "vit",
        "architectures": ["ViTForImageClassification"],
        "hidden_size": 768,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "intermediate_size": 3072,
        "image_size": 224,
        "patch_size": 16,
        "num_channels": 3,
        "id2label": {str(label): f"class {label}" for label in range(1000)},
    }
    assert model_from_config(config).params_total == 86567656
    assert model_from_config(config).image_tokens == 197
    del config["id2label"]
    assert model_from_config(config).params_total == 86567656 - 998 * 769


def test_latent_attention_keeps_its_latent_only() -> None:
    assert kv_cache_bytes(load_model("deepseek-v3"), 1) == 61 * (512 + 64) * 2


def test_a_window_bounds_the_cache() -> None:
    model = load_model("mistral-7b")
    assert kv_cache_bytes(model, 32768) == kv_cache_bytes(model, 4096)


def test_an_encoder_has_no_cache() -> None:
    assert kv_cache_bytes(load_model("bert-base"), 512) is None


def test_remote_code_is_warned_of_and_never_run() -> None:
    config = json.loads(json.dumps(BERT))
    config["auto_map"] = {"AutoModel": "modeling_evil.Model"}
    assert any("not run" in warning for warning in model_from_config(config).warnings)


@pytest.mark.parametrize(
    ("quantization", "expected"),
    [
        ({"quant_method": "fp8"}, "fp8"),
        ({"quant_method": "mxfp4"}, "mxfp4"),
        (
            {
                "quant_method": "bitsandbytes",
                "load_in_4bit": True,
                "bnb_4bit_quant_type": "nf4",
            },
            "nf4",
        ),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "int8"),
        ({"quant_method": "gptq", "bits": 4}, "gptq-int4"),
    ],
)
def test_a_quantised_checkpoint_counts_logical_weights(
    quantization: dict[str, Any], expected: str
) -> None:
    plain = model_from_config(BERT)
    quantised = model_from_config({**BERT, "quantization_config": quantization})
    assert quantised.params_total == plain.params_total
    assert quantised.checkpoint_format == expected
