"""OPT: embeddings may be narrower than the layers, norms before or after."""

from __future__ import annotations

from planner.engine.model import Block, Matrix, Model
from planner.models.fields import MAX_TOKENS, Fields
from planner.models.heads import decoder_head
from planner.models.parts import Attention, make_block
from planner.models.style import (
    FFN,
    LAYERS,
    POSITIONS,
    Style,
    read_attention,
    style_attention,
    style_mlp,
)

STYLE = Style(
    in_bias=("enable_bias", True),
    out_bias=("enable_bias", True),
    mlp_bias=("enable_bias", True),
    tied=True,
    gated=False,
    attention_names=("q_proj", "k_proj", "v_proj", "out_proj"),
    mlp_names=("fc1", "fc2"),
    norm_tensors=2,
    head_dim="divided",
    kv_heads="multi-head",
)
_EXTRA_POSITIONS = 2  # rows that the position table keeps in front of the first token


def read_opt(fields: Fields, family: str) -> Model:
    """OPT of any size, the 350M model with its projections from 512 to 1024 included."""
    sizes = read_attention(fields, STYLE)
    vocab = fields.count("vocab_size")
    width = fields.optional("word_embed_proj_dim") or sizes.hidden
    tied = fields.flag("tie_word_embeddings", absent=True)
    head = decoder_head(fields, width=width, vocab=vocab, tied=tied)
    projections = _projections(width, sizes.hidden)
    positions = fields.count(*POSITIONS, maximum=MAX_TOKENS)
    final_norm = _norm_width(fields, sizes) if _has_final_norm(fields) else 0
    return Model(
        name=fields.name,
        family=family,
        kind="decoder",
        hidden=sizes.hidden,
        vocab=head.vocab,
        blocks=(_block(fields, sizes),),
        input_embedding_params=vocab * width,
        position_params=(positions + _EXTRA_POSITIONS) * sizes.hidden,
        head_params=head.params,
        final_params=final_norm + sum(matrix.params for matrix in projections),
        tied=head.tied,
        max_seq_len=positions,
        matrices=(*projections, *head.matrices),
    )


def _block(fields: Fields, sizes: Attention) -> Block:
    width = fields.count(*FFN)
    return make_block(
        sizes,
        (*style_attention(fields, STYLE, sizes), *style_mlp(fields, STYLE, sizes.hidden, width)),
        count=fields.layers(*LAYERS),
        norm_params=2 * _norm_width(fields, sizes),
        ffn_hidden=width,
    )


def _norm_width(fields: Fields, sizes: Attention) -> int:
    return 2 * sizes.hidden if fields.flag("layer_norm_elementwise_affine", absent=True) else 0


def _has_final_norm(fields: Fields) -> bool:
    before = fields.flag("do_layer_norm_before", absent=True)
    return before and not fields.flag("_remove_final_layer_norm", absent=False)


def _projections(width: int, hidden: int) -> tuple[Matrix, ...]:
    if width == hidden:
        return ()
    return (
        Matrix(name="project_in", role="other", inputs=width, outputs=hidden),
        Matrix(name="project_out", role="other", inputs=hidden, outputs=width),
    )
