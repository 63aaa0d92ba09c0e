"""Encoder-decoders: T5 with its descendants, BART and mBART."""

from __future__ import annotations

from planner.engine.model import Block, Matrix, Model
from planner.models.fields import MAX_TOKENS, Fields
from planner.models.heads import Head, head_kind, vocabulary_head
from planner.models.parts import Attention, attention_matrices, make_block, mlp_matrices

_T5_ATTENTION = ("q", "k", "v", "o")
_BART_ATTENTION = ("q_proj", "k_proj", "v_proj", "out_proj")
_BART_EXTRA_POSITIONS = 2  # rows that each position table keeps in front of the first token


def read_t5(fields: Fields, family: str) -> Model:
    """T5, T5 v1.1, FLAN-T5, mT5: relative positions in each side's first layer."""
    hidden, heads = fields.count("d_model"), fields.count("num_heads")
    width, gated = fields.count("d_ff"), _t5_gated(fields)
    sizes = Attention(hidden=hidden, heads=heads, kv_heads=heads, head_dim=fields.count("d_kv"))
    layers = fields.layers("num_layers")
    decoder_layers = fields.optional("num_decoder_layers") or layers
    attention = attention_matrices(sizes, names=_T5_ATTENTION)
    cross = attention_matrices(sizes, names=_T5_ATTENTION, cross=True)
    names = ("wi_0", "wi_1", "wo") if gated else ("wi", "wo")
    mlp = mlp_matrices(hidden, width, names=names, gated=gated)
    blocks = (
        _encoder(sizes, (*attention, *mlp), layers, 2 * hidden, width, gated),
        _decoder(sizes, (*attention, *cross, *mlp), decoder_layers, 3 * hidden, width, gated),
    )
    buckets = fields.count("relative_attention_num_buckets")
    return _assemble(
        fields,
        family,
        hidden,
        blocks,
        positions=2 * buckets * heads,
        final=2 * hidden,
        max_seq_len=fields.optional("n_positions", maximum=MAX_TOKENS),
    )


def read_bart(fields: Fields, family: str) -> Model:
    """BART, and mBART with one more norm at the end of each side."""
    hidden = fields.count("d_model")
    positions = fields.count("max_position_embeddings", maximum=MAX_TOKENS)
    blocks = (_bart_side(fields, hidden, "encoder"), _bart_side(fields, hidden, "decoder"))
    norms = 4 if family == "mbart" else 2
    return _assemble(
        fields,
        family,
        hidden,
        blocks,
        positions=2 * (positions + _BART_EXTRA_POSITIONS) * hidden,
        final=norms * 2 * hidden,
        max_seq_len=positions,
    )


def _t5_gated(fields: Fields) -> bool:
    """`feed_forward_proj` is an activation, or `gated-` and an activation."""
    return (fields.word("feed_forward_proj") or "relu").startswith("gated-")


def _bart_side(fields: Fields, hidden: int, side: str) -> Block:
    heads = fields.count(f"{side}_attention_heads")
    width = fields.count(f"{side}_ffn_dim")
    head_dim = fields.divided(hidden, "d_model", heads, f"{side}_attention_heads")
    sizes = Attention(hidden=hidden, heads=heads, kv_heads=heads, head_dim=head_dim)
    attention = attention_matrices(sizes, names=_BART_ATTENTION, in_bias=True, out_bias=True)
    mlp = mlp_matrices(hidden, width, names=("fc1", "fc2"), bias=True, gated=False)
    layers = fields.layers(f"{side}_layers")
    if side == "encoder":
        return _encoder(sizes, (*attention, *mlp), layers, 4 * hidden, width, False)
    cross = attention_matrices(
        sizes, names=_BART_ATTENTION, in_bias=True, out_bias=True, cross=True
    )
    return _decoder(sizes, (*attention, *cross, *mlp), layers, 6 * hidden, width, False)


def _encoder(
    sizes: Attention,
    matrices: tuple[Matrix, ...],
    layers: int,
    norms: int,
    width: int,
    gated: bool,
) -> Block:
    return make_block(
        sizes,
        matrices,
        count=layers,
        norm_params=norms,
        causal=False,
        side="encoder",
        ffn_hidden=width,
        gated=gated,
    )


def _decoder(
    sizes: Attention,
    matrices: tuple[Matrix, ...],
    layers: int,
    norms: int,
    width: int,
    gated: bool,
) -> Block:
    return make_block(
        sizes,
        matrices,
        count=layers,
        norm_params=norms,
        cross_attention=True,
        ffn_hidden=width,
        gated=gated,
    )


def _head(fields: Fields, hidden: int, vocab: int) -> Head:
    if head_kind(fields, usual="lm", allowed=("lm", "none")) == "none":
        return Head()
    tied = fields.flag("tie_word_embeddings", absent=True)
    return vocabulary_head("lm_head", width=hidden, vocab=vocab, tied=tied)


def _assemble(
    fields: Fields,
    family: str,
    hidden: int,
    blocks: tuple[Block, ...],
    *,
    positions: int,
    final: int,
    max_seq_len: int | None,
) -> Model:
    vocab = fields.count("vocab_size")
    head = _head(fields, hidden, vocab)
    return Model(
        name=fields.name,
        family=family,
        kind="encoder-decoder",
        hidden=hidden,
        vocab=head.vocab,
        blocks=blocks,
        input_embedding_params=vocab * hidden,
        position_params=positions,
        head_params=head.params,
        final_params=final,
        tied=head.tied,
        max_seq_len=max_seq_len,
        matrices=head.matrices,
    )
