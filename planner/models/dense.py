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
from planner.models.styles import STYLES


def read_dense(fields: Fields, family: str) -> Model:
    """A dense decoder of one of the families in `STYLES`."""
    style = adjusted(fields, family)
    sizes = read_attention(fields, style)
    blocks = _blocks(fields, style, sizes)
    return assemble(fields, family, style, sizes, blocks)


def adjusted(fields: Fields, family: str) -> Style:
    """The family's style, with what a config flag changes about its norms."""
    style = STYLES[family]
    if family == "mpt":
        _refuse_other_mpt(fields)
    if family == "stablelm" and fields.flag("use_parallel_residual", absent=False):
        return replace(style, norms=1)
    return style


def _refuse_other_mpt(fields: Fields) -> None:
    """The reference counts MPT without biases, with ALiBi and four times wider feed-forwards."""
    ratio = fields.optional("expansion_ratio")
    if ratio not in (None, 4):
        raise fields.error("expansion_ratio", ratio, "only 4 is known for this architecture")
    if not fields.flag("no_bias", absent=True):
        raise fields.error("no_bias", False, "only true is known for this architecture")
    attention = Fields(fields.table("attn_config") or {}, name=f"{fields.name}: attn_config")
    if not attention.flag("alibi", absent=True):
        raise attention.error("alibi", False, "learned positions are not known for it")
    attention.word("attn_type", ("multihead_attention",))


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
