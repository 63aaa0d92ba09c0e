"""A model from the few numbers that a published table gives."""

from __future__ import annotations

from typing import TypedDict, Unpack

from planner.engine.model import Block, Matrix, Model
from planner.models.fields import MAX_LAYERS, MAX_TOKENS, Fields
from planner.models.heads import vocabulary_head
from planner.models.parts import (
    Attention,
    Mixture,
    attention_matrices,
    expert_matrices,
    make_block,
    mlp_matrices,
)

MLP_KINDS = ("gelu", "swiglu", "geglu", "moe")
_NORMS = 2  # per layer


class Dimensions(TypedDict, total=False):
    """What a table may state. Widths in elements, lengths in tokens; None is not stated."""

    layers: int | None
    hidden: int | None
    heads: int | None
    kv_heads: int | None  # None = as many as heads
    head_dim: int | None  # None = hidden / heads
    vocab: int | None
    mlp_kind: str | None  # gelu: two matrices | swiglu, geglu: three | moe: three in each expert
    ffn_hidden: int | None  # of dense layers
    num_experts: int | None
    top_k: int | None
    expert_hidden: int | None
    shared_hidden: int | None  # summed width of the always-active experts
    dense_layers: int | None  # of a mixture: dense layers in front, gated
    window: int | None  # sliding-window attention in every layer
    max_seq_len: int | None
    tied: bool | None  # output layer shares the input embedding; None = no
    biases: bool | None  # in all layers and norms; None = no
    learned_positions: bool | None  # a table of max_seq_len positions; None = no
    causal: bool | None  # None = yes


def model_from_dimensions(*, name: str = "model", **stated: Unpack[Dimensions]) -> Model:
    """A plain transformer of these dimensions, counted by plain rules.

    Two norms a layer and one at the end, with one tensor each, two with `biases`; no norms of
    queries and keys. Layers, hidden, heads, vocab, mlp_kind and the width of the feed-forward
    or of the experts must be stated. Raises PlannerError naming the dimension that is missing,
    not positive or does not divide, TypeError for a name that is no dimension.

    >>> model = model_from_dimensions(layers=32, hidden=4096, heads=32, vocab=32000,
    ...                               mlp_kind="swiglu", ffn_hidden=11008)
    >>> model.params_total
    6738415616
    """
    unknown = set(stated) - set(Dimensions.__annotations__)
    if unknown:
        raise TypeError(f"no dimensions: {', '.join(sorted(unknown))}")
    fields = Fields(stated, name=name)
    sizes, vocab = _attention(fields), fields.count("vocab")
    biases = fields.flag("biases", absent=False)
    tied = fields.flag("tied", absent=False)
    causal = fields.flag("causal", absent=True)
    norm = 2 * sizes.hidden if biases else sizes.hidden
    head = vocabulary_head("lm_head", width=sizes.hidden, vocab=vocab, tied=tied)
    return Model(
        name=name,
        family="dimensions",
        kind="decoder" if causal else "encoder",
        hidden=sizes.hidden,
        vocab=vocab,
        blocks=_blocks(fields, sizes, norm=norm, biases=biases, causal=causal),
        input_embedding_params=vocab * sizes.hidden,
        position_params=_positions(fields) * sizes.hidden,
        head_params=head.params,
        final_params=norm,
        tied=tied,
        max_seq_len=fields.optional("max_seq_len", maximum=MAX_TOKENS),
        matrices=head.matrices,
    )


def _positions(fields: Fields) -> int:
    if not fields.flag("learned_positions", absent=False):
        return 0
    return fields.count("max_seq_len", maximum=MAX_TOKENS)


def _attention(fields: Fields) -> Attention:
    hidden, heads = fields.count("hidden"), fields.count("heads")
    kv_heads = fields.optional("kv_heads") or heads
    if heads % kv_heads:
        raise fields.error("kv_heads", kv_heads, f"must divide heads {heads}")
    head_dim = fields.optional("head_dim") or fields.divided(hidden, "hidden", heads, "heads")
    return Attention(hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim)


def _blocks(
    fields: Fields,
    sizes: Attention,
    *,
    norm: int,
    biases: bool,
    causal: bool,
) -> tuple[Block, ...]:
    attention = attention_matrices(sizes, in_bias=biases, out_bias=biases)
    layers = fields.count("layers", maximum=MAX_LAYERS)
    kind = fields.word("mlp_kind", MLP_KINDS)
    dense = fields.optional("dense_layers", minimum=0, maximum=layers) or 0
    dense = dense if kind == "moe" else layers
    blocks: list[tuple[int, tuple[Matrix, ...], int, Mixture | None]] = []
    if dense:
        mlp = _mlp(fields, sizes.hidden, gated=kind != "gelu", biases=biases)
        blocks.append((dense, (*attention, *mlp), fields.count("ffn_hidden"), None))
    if layers > dense:
        blocks.append((layers - dense, attention, 0, _mixture(fields, sizes.hidden)))
    return tuple(
        _block(fields, sizes, *each, gated=kind != "gelu", norm=norm, causal=causal)
        for each in blocks
    )


def _block(
    fields: Fields,
    sizes: Attention,
    count: int,
    matrices: tuple[Matrix, ...],
    ffn_hidden: int,
    mixture: Mixture | None,
    *,
    gated: bool,
    norm: int,
    causal: bool,
) -> Block:
    return make_block(
        sizes,
        matrices,
        count=count,
        norm_params=_NORMS * norm,
        window=fields.optional("window", maximum=MAX_TOKENS),
        causal=causal,
        side="decoder" if causal else "encoder",
        ffn_hidden=ffn_hidden,
        gated=gated,
        mixture=mixture,
    )


def _mlp(fields: Fields, hidden: int, *, gated: bool, biases: bool) -> tuple[Matrix, ...]:
    names = ("gate_proj", "up_proj", "down_proj") if gated else ("up_proj", "down_proj")
    width = fields.count("ffn_hidden")
    return mlp_matrices(hidden, width, names=names, bias=biases, gated=gated)


def _mixture(fields: Fields, hidden: int) -> Mixture:
    num_experts, width = fields.count("num_experts"), fields.count("expert_hidden")
    shared = fields.optional("shared_hidden", minimum=0) or 0
    names = ("gate_proj", "up_proj", "down_proj")
    always = mlp_matrices(hidden, shared, names=names, gated=True, role="shared") if shared else ()
    router = Matrix(name="router", role="router", inputs=hidden, outputs=num_experts, linear=False)
    return Mixture(
        matrices=(router, *expert_matrices(hidden, width, num_experts), *always),
        num_experts=num_experts,
        top_k=fields.count("top_k", maximum=num_experts),
        expert_hidden=width,
        shared_hidden=shared,
    )
