"""Which reader reads which `model_type`, and which architectures are refused by name."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from planner.engine.model import Model
from planner.errors import nearest
from planner.models.fields import Fields

Reader = Callable[[Fields, str], Model]

_DENSE = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "phi",
    "phi3",
    "gpt2",
    "gpt_bigcode",
    "gpt_neo",
    "gpt_neox",
    "gptj",
    "codegen",
    "bloom",
    "mpt",
    "olmo",
    "olmo2",
    "olmo3",
    "stablelm",
    "starcoder2",
    "cohere",
    "cohere2",
    "granite",
    "smollm3",
    "glm",
    "glm4",
    "nemotron",
    "seed_oss",
)
_SPARSE = (
    "mixtral",
    "qwen2_moe",
    "qwen3_moe",
    "olmoe",
    "phimoe",
    "granitemoe",
    "glm4_moe",
    "dots1",
    "gpt_oss",
)

READERS: dict[str, tuple[str, str]] = {
    **dict.fromkeys(_DENSE, ("dense", "read_dense")),
    **dict.fromkeys(_SPARSE, ("experts", "read_sparse")),
    **dict.fromkeys(("deepseek_v2", "deepseek_v3", "kimi_k2"), ("latent", "read_latent")),
    "falcon": ("falcon", "read_falcon"),
    "opt": ("opt", "read_opt"),
    "bert": ("encoders", "read_bert"),
    **dict.fromkeys(("roberta", "xlm-roberta", "camembert"), ("encoders", "read_roberta")),
    "distilbert": ("encoders", "read_distilbert"),
    **dict.fromkeys(("t5", "mt5"), ("seq2seq", "read_t5")),
    **dict.fromkeys(("bart", "mbart"), ("seq2seq", "read_bart")),
    "vit": ("vision", "read_vit"),
}

_OLD_NAMES = {"refinedweb": "falcon", "refinedwebmodel": "falcon"}

_HYBRID = "its linear-attention layers are not modelled yet"
_STATE_SPACE = "its state-space layers are not modelled yet"
_MULTIMODAL = "multimodal models are not modelled yet; give the config of its text model"
_REFUSED: dict[str, str] = {
    **dict.fromkeys(("qwen3_next", "qwen3_5", "minimax", "kimi_linear"), _HYBRID),
    **dict.fromkeys(("qwen3_5_moe", "qwen3_5_text", "qwen3_5_moe_text", "olmo_hybrid"), _HYBRID),
    **dict.fromkeys(("mamba", "mamba2", "falcon_mamba", "rwkv", "jamba", "zamba"), _STATE_SPACE),
    **dict.fromkeys(("zamba2", "bamba", "falcon_h1", "nemotron_h", "xlstm"), _STATE_SPACE),
    **dict.fromkeys(("granitemoehybrid", "recurrent_gemma", "lfm2"), _STATE_SPACE),
    **dict.fromkeys(("llama4", "gemma3", "gemma3n", "gemma4", "mllama", "llava"), _MULTIMODAL),
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "mistral3", "paligemma"), _MULTIMODAL),
    **dict.fromkeys(("clip", "siglip", "whisper", "idefics3", "internvl", "kimi_k25"), _MULTIMODAL),
    "albert": "layers that share their weights are not modelled yet",
}


def known_families() -> list[str]:
    """Every `model_type` that is read, in alphabetical order."""
    return sorted(READERS)


def read_model(fields: Fields) -> Model:
    """The model that the config describes; an architecture that is not known is refused by name."""
    family = _family(fields)
    module, function = READERS[family]
    reader: Reader = getattr(import_module(f"planner.models.{module}"), function)
    return reader(fields, family)


def _family(fields: Fields) -> str:
    stated = fields.word("model_type")
    if stated is None:
        raise fields.error("model_type", None, "state the architecture, for example llama")
    family = _OLD_NAMES.get(stated.lower(), stated)
    if family in READERS:
        return family
    reason = _REFUSED.get(family, "this architecture is not known")
    near = nearest(family, READERS)
    hint = f"; nearest known: {', '.join(near)}" if near else ""
    known = "`forerun model --list` prints the known ones"
    raise fields.error("model_type", stated, f"{reason}{hint}; {known}")
