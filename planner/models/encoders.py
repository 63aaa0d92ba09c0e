"""Bidirectional encoders: BERT, RoBERTa and relatives, DistilBERT."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from planner.engine.model import Block, Matrix, Model
from planner.models.fields import MAX_TOKENS, Fields
from planner.models.heads import Head, classifier, head_kind, num_labels, vocabulary_head
from planner.models.parts import Attention, attention_matrices, make_block, mlp_matrices

_HEADS = ("none", "mlm", "sequence", "token", "qa")


@dataclass(frozen=True, slots=True, kw_only=True)
class Keys:
    """Where a family's config keeps its dimensions, and what its modules are called."""

    hidden: str
    layers: str
    heads: str
    ffn: str
    attention_names: tuple[str, ...]
    mlp_names: tuple[str, ...]
    token_types: bool  # has token type embeddings


BERT = Keys(
    hidden="hidden_size",
    layers="num_hidden_layers",
    heads="num_attention_heads",
    ffn="intermediate_size",
    attention_names=("query", "key", "value", "dense"),
    mlp_names=("dense", "dense"),
    token_types=True,
)
DISTILBERT = Keys(
    hidden="dim",
    layers="n_layers",
    heads="n_heads",
    ffn="hidden_dim",
    attention_names=("q_lin", "k_lin", "v_lin", "out_lin"),
    mlp_names=("lin1", "lin2"),
    token_types=False,
)


def read_bert(fields: Fields, family: str) -> Model:
    """BERT: pooler and masked-token head as the class under `architectures` has them."""
    return _encoder(fields, family, BERT, _bert_head, (*_HEADS, "pretraining"))


def read_roberta(fields: Fields, family: str) -> Model:
    """RoBERTa, XLM-RoBERTa, CamemBERT: BERT's layers under other heads."""
    return _encoder(fields, family, BERT, _roberta_head, _HEADS)


def read_distilbert(fields: Fields, family: str) -> Model:
    """DistilBERT: no token types, no pooler, other names."""
    return _encoder(fields, family, DISTILBERT, _distilbert_head, _HEADS)


MakeHead = Callable[[Fields, str, int, int], Head]


def _encoder(
    fields: Fields, family: str, keys: Keys, make_head: MakeHead, allowed: tuple[str, ...]
) -> Model:
    if fields.flag("is_decoder", absent=False) or fields.flag("add_cross_attention", absent=False):
        raise fields.error("is_decoder", True, "this family is known as an encoder only")
    hidden, vocab = fields.count(keys.hidden), fields.count("vocab_size")
    positions = fields.count("max_position_embeddings", maximum=MAX_TOKENS)
    types = fields.count("type_vocab_size") if keys.token_types else 0
    head = make_head(fields, head_kind(fields, usual="mlm", allowed=allowed), hidden, vocab)
    return Model(
        name=fields.name,
        family=family,
        kind="encoder",
        hidden=hidden,
        vocab=head.vocab,
        blocks=(_block(fields, keys, hidden),),
        input_embedding_params=vocab * hidden,
        position_params=(positions + types) * hidden,
        head_params=head.params,
        final_params=2 * hidden + head.final_params,
        tied=head.tied,
        max_seq_len=positions,
        matrices=head.matrices,
    )


def _block(fields: Fields, keys: Keys, hidden: int) -> Block:
    heads, width = fields.count(keys.heads), fields.count(keys.ffn)
    head_dim = fields.divided(hidden, keys.hidden, heads, keys.heads)
    sizes = Attention(hidden=hidden, heads=heads, kv_heads=heads, head_dim=head_dim)
    attention = attention_matrices(sizes, names=keys.attention_names, in_bias=True, out_bias=True)
    mlp = mlp_matrices(hidden, width, names=keys.mlp_names, bias=True, gated=False)
    return make_block(
        sizes,
        (*attention, *mlp),
        count=fields.layers(keys.layers),
        norm_params=4 * hidden,
        causal=False,
        side="encoder",
        ffn_hidden=width,
    )


def _square(name: str, hidden: int, *, per_sequence: bool) -> Matrix:
    return Matrix(
        name=name,
        role="other",
        inputs=hidden,
        outputs=hidden,
        bias=True,
        per_sequence=per_sequence,
    )


def _masked_head(fields: Fields, transform: str, decoder: str, hidden: int, vocab: int) -> Head:
    """Transform, norm, and logits that share the word embedding but have their own bias.

    The reference keeps a second bias beside the output layer, the same tensor only when tied.
    """
    tied = fields.flag("tie_word_embeddings", absent=True)
    logits = vocabulary_head(decoder, width=hidden, vocab=vocab, tied=tied, bias=True)
    square = _square(transform, hidden, per_sequence=False)
    second_bias = 0 if tied or decoder != "decoder" else vocab
    return Head(
        matrices=(square, *logits.matrices),
        params=square.params + 2 * hidden + logits.params + second_bias,
        vocab=vocab,
        tied=tied,
    )


def _with_classifier(
    name: str, hidden: int, labels: int, before: tuple[Matrix, ...], *, per_sequence: bool
) -> Head:
    last = classifier(name, hidden, labels, per_sequence=per_sequence)
    return Head(
        matrices=(*before, last),
        params=last.params,
        final_params=sum(matrix.params for matrix in before),
    )


def _plain_classifier(fields: Fields, kind: str, hidden: int) -> Head:
    """Per-token classes, or the start and end of an answer."""
    if kind == "qa":
        return _with_classifier("qa_outputs", hidden, 2, (), per_sequence=False)
    return _with_classifier("classifier", hidden, num_labels(fields), (), per_sequence=False)


def _bert_head(fields: Fields, kind: str, hidden: int, vocab: int) -> Head:
    pooler = _square("dense", hidden, per_sequence=True)
    if kind == "none":
        return Head(matrices=(pooler,), final_params=pooler.params)
    if kind == "sequence":
        labels = num_labels(fields)
        return _with_classifier("classifier", hidden, labels, (pooler,), per_sequence=True)
    if kind in ("token", "qa"):
        return _plain_classifier(fields, kind, hidden)
    masked = _masked_head(fields, "dense", "decoder", hidden, vocab)
    if kind == "mlm":
        return masked
    pair = classifier("seq_relationship", hidden, 2, per_sequence=True)
    return Head(
        matrices=(pooler, *masked.matrices, pair),
        params=masked.params + pair.params,
        final_params=pooler.params,
        vocab=vocab,
        tied=masked.tied,
    )


def _roberta_head(fields: Fields, kind: str, hidden: int, vocab: int) -> Head:
    square = _square("dense", hidden, per_sequence=True)
    if kind == "none":
        return Head(matrices=(square,), final_params=square.params)
    if kind == "sequence":
        labels = num_labels(fields)
        return _with_classifier("out_proj", hidden, labels, (square,), per_sequence=True)
    if kind in ("token", "qa"):
        return _plain_classifier(fields, kind, hidden)
    return _masked_head(fields, "dense", "decoder", hidden, vocab)


def _distilbert_head(fields: Fields, kind: str, hidden: int, vocab: int) -> Head:
    if kind == "none":
        return Head()
    if kind == "sequence":
        before = _square("pre_classifier", hidden, per_sequence=True)
        labels = num_labels(fields)
        return _with_classifier("classifier", hidden, labels, (before,), per_sequence=True)
    if kind in ("token", "qa"):
        return _plain_classifier(fields, kind, hidden)
    return _masked_head(fields, "vocab_transform", "vocab_projector", hidden, vocab)
