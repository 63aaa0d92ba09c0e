"""Dense decoders whose layers a `Style` describes: one row a family."""

from __future__ import annotations

from dataclasses import replace

from planner.engine.model import Block, Model
from planner.models.fields import MAX_TOKENS, Fields
from planner.models.heads import Head, decoder_head
from planner.models.parts import Attention, make_block
from planner.models.style import (
    LAYERS,
    POSITIONS,
    Style,
    grouped,
    norm_params,
    read_attention,
    read_ffn,
    read_windows,
    resolve,
    style_attention,
    style_mlp,
)

_BIAS = ("attention_bias", False)
_OLD_MLP = ("dense_h_to_4h", "dense_4h_to_h")

STYLES: dict[str, Style] = {
    "llama": Style(in_bias=_BIAS, out_bias=_BIAS, mlp_bias=("mlp_bias", False), kv_heads="heads"),
    "mistral": Style(window="all"),
    "qwen2": Style(in_bias=True, window="late"),
    "qwen3": Style(in_bias=_BIAS, out_bias=_BIAS, qk_norm="head", head_dim="stated", window="late"),
    "gemma": Style(in_bias=_BIAS, out_bias=_BIAS, tied=True, head_dim="stated"),
    "gemma2": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        tied=True,
        norms=4,
        head_dim="stated",
        window="every",
        window_every=2,
    ),
    "gemma3_text": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        tied=True,
        norms=4,
        qk_norm="head",
        head_dim="stated",
        window="every",
        window_every=6,
    ),
    "phi": Style(
        in_bias=True,
        out_bias=True,
        mlp_bias=True,
        head_bias=True,
        gated=False,
        attention_names=("q_proj", "k_proj", "v_proj", "dense"),
        mlp_names=("fc1", "fc2"),
        norm_tensors=2,
        norms=1,
        qk_norm="head",
        qk_norm_key="qk_layernorm",
        qk_norm_tensors=2,
        kv_heads="heads",
    ),
    "phi3": Style(
        attention_names=("qkv_proj", "o_proj"),
        mlp_names=("gate_up_proj", "down_proj"),
        kv_heads="heads",
        window="all",
    ),
    "gpt2": Style(
        in_bias=True,
        out_bias=True,
        mlp_bias=True,
        tied=True,
        gated=False,
        attention_names=("c_attn", "c_proj"),
        mlp_names=("c_fc", "c_proj"),
        norm_tensors=2,
        head_dim="divided",
        kv_heads="multi-head",
        ffn_ratio=4,
        learned_positions=True,
    ),
    "gpt_bigcode": Style(
        in_bias=True,
        out_bias=True,
        mlp_bias=True,
        tied=True,
        gated=False,
        attention_names=("c_attn", "c_proj"),
        mlp_names=("c_fc", "c_proj"),
        norm_tensors=2,
        head_dim="divided",
        kv_heads="multi-query",
        ffn_ratio=4,
        learned_positions=True,
    ),
    "gpt_neo": Style(
        out_bias=True,
        mlp_bias=True,
        tied=True,
        gated=False,
        attention_names=("q_proj", "k_proj", "v_proj", "out_proj"),
        mlp_names=("c_fc", "c_proj"),
        norm_tensors=2,
        head_dim="divided",
        kv_heads="multi-head",
        ffn_ratio=4,
        learned_positions=True,
        window="listed",
        window_key="window_size",
        kinds_key="attention_layers",
        full_kind="global",
        window_kind="local",
    ),
    "gpt_neox": Style(
        in_bias=("attention_bias", True),
        out_bias=("attention_bias", True),
        mlp_bias=True,
        gated=False,
        attention_names=("query_key_value", "dense"),
        mlp_names=_OLD_MLP,
        norm_tensors=2,
        head_dim="divided",
        kv_heads="multi-head",
    ),
    "gptj": Style(
        mlp_bias=True,
        head_bias=True,
        gated=False,
        attention_names=("q_proj", "k_proj", "v_proj", "out_proj"),
        mlp_names=("fc_in", "fc_out"),
        norm_tensors=2,
        norms=1,
        head_dim="divided",
        kv_heads="multi-head",
        ffn_ratio=4,
    ),
    "codegen": Style(
        mlp_bias=True,
        head_bias=True,
        gated=False,
        attention_names=("qkv_proj", "out_proj"),
        mlp_names=("fc_in", "fc_out"),
        norm_tensors=2,
        norms=1,
        head_dim="divided",
        kv_heads="multi-head",
        ffn_ratio=4,
    ),
    "bloom": Style(
        in_bias=True,
        out_bias=True,
        mlp_bias=True,
        tied=True,
        gated=False,
        attention_names=("query_key_value", "dense"),
        mlp_names=_OLD_MLP,
        norm_tensors=2,
        embedding_norm=True,
        head_dim="divided",
        kv_heads="multi-head",
        ffn_ratio=4,
    ),
    "mpt": Style(
        tied=True,
        gated=False,
        attention_names=("Wqkv", "out_proj"),
        mlp_names=("up_proj", "down_proj"),
        head_dim="divided",
        kv_heads="multi-head",
        ffn_ratio=4,
    ),
    "olmo": Style(in_bias=_BIAS, out_bias=_BIAS, norm_tensors=0, kv_heads="heads"),
    "olmo2": Style(in_bias=_BIAS, out_bias=_BIAS, qk_norm="width", kv_heads="heads"),
    "olmo3": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        qk_norm="width",
        kv_heads="heads",
        window="every",
        window_every=4,
    ),
    "stablelm": Style(
        in_bias=("use_qkv_bias", False),
        norm_tensors=2,
        qk_norm="width",
        qk_norm_key="qk_layernorm",
        head_dim="divided",
    ),
    "starcoder2": Style(
        in_bias=("use_bias", True),
        out_bias=("use_bias", True),
        mlp_bias=("use_bias", True),
        tied=True,
        gated=False,
        mlp_names=("c_fc", "c_proj"),
        norm_tensors=2,
        head_dim="divided",
        window="all",
    ),
    "cohere": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        tied=True,
        norms=1,
        qk_norm="width",
        qk_norm_key="use_qk_norm",
        kv_heads="heads",
    ),
    "cohere2": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        tied=True,
        norms=1,
        kv_heads="heads",
        window="every",
        window_every=4,
    ),
    "granite": Style(in_bias=_BIAS, out_bias=_BIAS, mlp_bias=("mlp_bias", False), kv_heads="heads"),
    "smollm3": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        mlp_bias=("mlp_bias", False),
        tied=True,
        window="late",
    ),
    "glm": Style(in_bias=_BIAS, mlp_names=("gate_up_proj", "down_proj"), head_dim="stated"),
    "glm4": Style(
        in_bias=_BIAS, norms=4, mlp_names=("gate_up_proj", "down_proj"), head_dim="stated"
    ),
    "nemotron": Style(
        in_bias=_BIAS,
        out_bias=_BIAS,
        mlp_bias=("mlp_bias", False),
        gated=False,
        mlp_names=("up_proj", "down_proj"),
        norm_tensors=2,
        kv_heads="heads",
    ),
    "seed_oss": Style(
        in_bias=_BIAS,
        out_bias=("attention_out_bias", False),
        mlp_bias=("mlp_bias", False),
    ),
}


def read_dense(fields: Fields, family: str) -> Model:
    """A dense decoder of one of the families in `STYLES`."""
    style = adjusted(fields, family)
    sizes = read_attention(fields, style)
    blocks = _blocks(fields, style, sizes)
    return assemble(fields, family, style, sizes, blocks)


def adjusted(fields: Fields, family: str) -> Style:
    """The family's style, with what a config flag changes about its norms."""
    style = STYLES[family]
    if family == "stablelm" and fields.flag("use_parallel_residual", absent=False):
        return replace(style, norms=1)
    return style


def assemble(
    fields: Fields, family: str, style: Style, sizes: Attention, blocks: tuple[Block, ...]
) -> Model:
    """Embedding, layers, final norm and output layer of a decoder."""
    vocab = fields.count("vocab_size")
    head = _head(fields, style, sizes.hidden, vocab)
    positions = fields.optional(*POSITIONS, maximum=MAX_TOKENS)
    if style.learned_positions and positions is None:
        positions = fields.count(*POSITIONS, maximum=MAX_TOKENS)
    norm = style.norm_tensors * sizes.hidden
    return Model(
        name=fields.name,
        family=family,
        kind="decoder",
        hidden=sizes.hidden,
        vocab=head.vocab,
        blocks=blocks,
        input_embedding_params=vocab * sizes.hidden,
        position_params=(positions or 0) * sizes.hidden if style.learned_positions else 0,
        head_params=head.params,
        final_params=norm * (2 if style.embedding_norm else 1) + head.final_params,
        tied=head.tied,
        max_seq_len=positions,
        matrices=head.matrices,
    )


def _head(fields: Fields, style: Style, hidden: int, vocab: int) -> Head:
    tied = fields.flag("tie_word_embeddings", absent=style.tied)
    bias = resolve(fields, style.head_bias)
    return decoder_head(fields, width=hidden, vocab=vocab, tied=tied, bias=bias)


def _blocks(fields: Fields, style: Style, sizes: Attention) -> tuple[Block, ...]:
    width = read_ffn(fields, style, sizes.hidden)
    matrices = (
        *style_attention(fields, style, sizes),
        *style_mlp(fields, style, sizes.hidden, width),
    )
    norms = norm_params(fields, style, sizes)
    windows = read_windows(fields, style, fields.layers(*LAYERS))
    return tuple(
        make_block(
            sizes,
            matrices,
            count=count,
            norm_params=norms,
            window=window,
            ffn_hidden=width,
            gated=style.gated,
        )
        for window, count in grouped(windows).items()
    )
