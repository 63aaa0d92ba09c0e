"""From the dimensions of a published row to the config that a checkpoint of that model would have.

The rows give widths; what else an architecture has (biases, norms, tied matrices, latent ranks)
follows from its family, as published configs state it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.fidelity.named_models import named_model
from planner.fidelity.table import Row
from planner.models.config import model_from_config

Config = dict[str, object]

# (part of the model's name, family); the first that occurs in the name decides
FAMILIES = (
    ("mosaicgpt", "mpt"),
    ("mpt", "mpt"),
    ("gpt-oss", "gpt_oss"),
    ("gpt_oss", "gpt_oss"),
    ("gptoss", "gpt_oss"),
    ("gpt-neox", "gpt_neox"),
    ("pythia", "gpt_neox"),
    ("stablelm-base-alpha", "gpt_neox"),
    ("stablelm-alpha", "gpt_neox"),
    ("gpt", "gpt2"),
    ("bloom", "bloom"),
    ("opt-", "gpt2"),
    ("falcon", "falcon"),
    ("gemma-2-", "gemma2"),
    ("gemma-3", "gemma3_text"),
    ("gemma", "gemma"),
    ("phi-3", "phi3"),
    ("phi-4", "phi3"),
    ("phi", "phi"),
    ("kimi", "deepseek_v3"),
    ("deepseek", "deepseek_v3"),
    ("moonlight", "deepseek_v3"),
    ("mixtral", "mixtral"),
    ("qwen3", "qwen3"),
    ("qwen2", "qwen2"),
    ("qwen", "qwen2"),
    ("chatglm", "qwen2"),
    ("glm-130b", "gpt2"),
    ("nemotron", "nemotron"),
    ("olmo-2", "olmo2"),
    ("olmo2", "olmo2"),
    ("olmo", "olmo"),
    ("llama", "llama"),
    ("yi-", "llama"),
    ("baichuan", "llama"),
    ("mistral", "llama"),
    ("zephyr", "llama"),
    ("internlm", "llama"),
)
# model-name part -> widths of latent attention and of the dense layers in front, from the
# published configs of DeepSeek-V2, DeepSeek-V3, Kimi-K2 and Moonlight
_LATENT = {
    "deepseekv2": {"intermediate_size": 12288, "first_k_dense_replace": 1, "n_shared_experts": 2},
    "deepseek-v2": {"intermediate_size": 12288, "first_k_dense_replace": 1, "n_shared_experts": 2},
    "kimi": {"intermediate_size": 18432, "first_k_dense_replace": 1, "n_shared_experts": 1},
    "deepseek": {"intermediate_size": 18432, "first_k_dense_replace": 3, "n_shared_experts": 1},
}
_LATENT_WIDTHS = {
    "q_lora_rank": 1536,
    "kv_lora_rank": 512,
    "qk_nope_head_dim": 128,
    "qk_rope_head_dim": 64,
    "v_head_dim": 128,
}
_VOCAB = {"gpt2": 51200, "mpt": 50368, "gpt_neox": 50432, "llama": 32000}  # usual where unstated
_NEEDED = ("layers", "hidden", "heads")


def model_of(row: Row, *, untied: bool = False, pad_vocab: int = 1, mtp: bool = False) -> Model:
    """The model of a row: from its dimensions, or from its name when it gives none.

    `untied` keeps a copy of a tied output matrix, as some stacks do; `pad_vocab` rounds the
    vocabulary up to that multiple; `mtp` adds one multi-token-prediction layer to a
    DeepSeek-V3 layout. Raises PlannerError that names what is missing.
    """
    if any(row.count(field) is None for field in _NEEDED):
        return named_model(row.text("model_name"), source=row.text("source_repo_or_paper"))
    config = config_of(row)
    config["vocab_size"] = -(-int(str(config["vocab_size"])) // pad_vocab) * pad_vocab
    if untied:
        config["tie_word_embeddings"] = False
    model = _read(tuple(sorted(config.items())), row.text("model_name") or row.id)
    if config["model_type"] == "mpt":
        return _with_positions(model, row.count("seq_len") or 2048)
    return _with_mtp(model) if mtp and config["model_type"] == "deepseek_v3" else model


@cache
def _read(items: tuple[tuple[str, object], ...], name: str) -> Model:
    return model_from_config(dict(items), name=name)


@cache
def _with_positions(model: Model, seq_len: int) -> Model:
    """MPT as its makers benchmark it: learned positions for the length of the run."""
    return replace(model, position_params=seq_len * model.hidden)


@cache
def _with_mtp(model: Model) -> Model:
    """One more sparse layer, which predicts the token after the next.

    Its own pass through the shared output layer stands as width of its always-active expert: a
    gated expert of width V/3 costs what a product with the h·V output matrix costs.
    """
    last = model.blocks[-1]
    extra = replace(last, count=1, shared_hidden=last.shared_hidden + model.vocab // 3)
    return replace(model, blocks=(*model.blocks, extra))


def family_of(row: Row) -> str:
    """The config family of a row, from its name, else from its kind of feed-forward network."""
    name = row.text("model_name").lower().replace(" ", "-")
    family = next((family for part, family in FAMILIES if part in name), "")
    if row.count("n_experts"):
        return {"qwen3": "qwen3_moe", "qwen2": "qwen2_moe"}.get(family) or (
            family if family in ("gpt_oss", "deepseek_v3", "mixtral") else "mixtral"
        )
    if "maxtext" in row.text("source_repo_or_paper").lower() and not family:
        return "nemotron" if not row.text("mlp_kind") else "llama"
    if family in ("", "gpt2") and row.text("mlp_kind") in ("swiglu", "geglu"):
        return "llama"
    return family or ("gpt2" if row.text("mlp_kind") in ("gelu", "relu") else "llama")


def config_of(row: Row) -> Config:
    """A config in the published keys of the row's family."""
    family = family_of(row)
    missing = [field for field in _NEEDED if row.count(field) is None]
    if missing:
        raise PlannerError(
            ", ".join(missing), None, "not stated and no public config is known by that name"
        )
    if row.count("n_experts") and (row.count("ffn_hidden") is None or row.count("top_k") is None):
        raise PlannerError("ffn_hidden", None, "width or number of active experts is not stated")
    config = _common(row, family)
    config.update(_dense_config(row, family) if not row.count("n_experts") else {})
    config.update(_sparse_config(row, family) if row.count("n_experts") else {})
    return config


def _common(row: Row, family: str) -> Config:
    heads = row.count("heads")
    return {
        "model_type": family,
        "hidden_size": row.count("hidden"),
        "num_hidden_layers": row.count("layers"),
        "num_attention_heads": heads,
        "num_key_value_heads": row.count("kv_heads") or heads,
        "vocab_size": row.count("vocab") or _VOCAB.get(family, 32000),
        "max_position_embeddings": row.count("seq_len") or 2048,
        "tie_word_embeddings": _tied(row, family),
    }


def _tied(row: Row, family: str) -> bool:
    name = row.text("model_name").lower()
    return family in ("gpt2", "mpt", "gemma", "gemma2", "bloom") or "3.2" in name


def _dense_config(row: Row, family: str) -> Config:
    width = row.count("ffn_hidden")
    hidden, heads = row.count("hidden") or 0, row.count("heads") or 1
    if width is None:
        if family not in ("gpt2", "mpt", "gpt_neox", "bloom"):
            raise PlannerError("ffn_hidden", None, "the row does not state it")
        width = 4 * hidden
    config: Config = {"intermediate_size": width}
    if family in ("gpt2", "mpt", "bloom", "gpt_neox"):
        config |= _plain_config(family, width)
    if family in ("gemma", "gemma2", "gemma3_text"):
        config |= {"head_dim": 256, "sliding_window": 4096}
    if family == "qwen3":
        config |= {"head_dim": 128}
    if family == "falcon":
        config |= _falcon_config(row, width)
    if family == "nemotron" and _wide_heads(row, hidden, heads):
        config |= {"head_dim": 256}
    return config


def _wide_heads(row: Row, hidden: int, heads: int) -> bool:
    """MaxText's own sizes have heads of 256 whatever the hidden width."""
    return "maxtext" in row.text("source_repo_or_paper").lower() and hidden // heads > 128


def _plain_config(family: str, width: int) -> Config:
    return {"n_inner": width} if family == "gpt2" else {}


def _falcon_config(row: Row, width: int) -> Config:
    new = (row.count("layers") or 0) > 32
    return {
        "multi_query": not new,
        "new_decoder_architecture": new,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "num_kv_heads": row.count("kv_heads") or 1,
        "ffn_hidden_size": width,
    }


def _sparse_config(row: Row, family: str) -> Config:
    width = row.count("ffn_hidden")
    experts, top_k = row.count("n_experts"), row.count("top_k")
    config: Config = {
        "num_experts_per_tok": top_k,
        "num_experts": experts,
        "num_local_experts": experts,
        "moe_intermediate_size": width,
        "intermediate_size": width,
    }
    if family == "deepseek_v3":
        return config | _latent_config(row)
    if family == "qwen3_moe":
        config |= {"head_dim": 128, "decoder_sparse_step": 1, "mlp_only_layers": None}
    if family == "gpt_oss":
        config |= {"head_dim": 64, "sliding_window": 128, "attention_bias": True}
    return config


def _latent_config(row: Row) -> Config:
    name = row.text("model_name").lower()
    facts: Mapping[str, int] = next(
        (facts for part, facts in _LATENT.items() if part in name), _LATENT["deepseek"]
    )
    layers = row.count("layers") or 1
    truncated = layers < 27
    dense = 1 if truncated else facts["first_k_dense_replace"]
    return {
        **_LATENT_WIDTHS,
        **facts,
        "n_routed_experts": row.count("n_experts"),
        "first_k_dense_replace": dense,
        "num_nextn_predict_layers": 0,
    }
