"""A model from the few numbers that a published table gives."""

from __future__ import annotations

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


def model_from_dimensions(
    *,
    layers: int,
    hidden: int,
    heads: int,
    vocab: int,
    mlp_kind: str,
    ffn_hidden: int | None = None,
    kv_heads: int | None = None,
    head_dim: int | None = None,
    num_experts: int | None = None,
    top_k: int | None = None,
    expert_hidden: int | None = None,
    shared_hidden: int | None = None,
    dense_layers: int | None = None,
    window: int | None = None,
    max_seq_len: int | None = None,
    tied: bool = False,
    biases: bool = False,
    learned_positions: bool = False,
    causal: bool = True,
    name: str = "model",
) -> Model:
    """A plain transformer of these dimensions, counted by plain rules.

    Widths in elements, lengths in tokens. `mlp_kind` is gelu (two matrices), swiglu or geglu
    (three), or moe (three in each expert; `dense_layers` in front are gated and `ffn_hidden`
    wide). `kv_heads` left out means as many as heads, `head_dim` hidden / heads. A norm has one
    tensor, two with `biases`. `learned_positions` needs `max_seq_len`.

    Raises PlannerError naming the dimension that is missing, not positive or does not divide.

    >>> model = model_from_dimensions(layers=32, hidden=4096, heads=32, vocab=32000,
    ...                               mlp_kind="swiglu", ffn_hidden=11008)
    >>> model.params_total
    6738415616
    """
    stated = {
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "vocab": vocab,
        "mlp_kind": mlp_kind,
        "ffn_hidden": ffn_hidden,
        "kv_heads": kv_heads,
        "head_dim": head_dim,
        "n_experts": num_experts,
        "top_k": top_k,
        "expert_hidden": expert_hidden,
        "shared_hidden": shared_hidden,
        "dense_layers": dense_layers,
        "window": window,
        "max_seq_len": max_seq_len,
    }
    fields = Fields(stated, name=name)
    sizes = _attention(fields)
    attention = attention_matrices(sizes, in_bias=biases, out_bias=biases)
    norm = 2 * sizes.hidden if biases else sizes.hidden
    head = vocabulary_head("lm_head", width=sizes.hidden, vocab=fields.count("vocab"), tied=tied)
    length = fields.optional("max_seq_len", maximum=MAX_TOKENS)
    if learned_positions:
        length = fields.count("max_seq_len", maximum=MAX_TOKENS)
    return Model(
        name=name,
        family="dimensions",
        kind="decoder" if causal else "encoder",
        hidden=sizes.hidden,
        vocab=head.vocab,
        blocks=_blocks(fields, sizes, attention, norm=norm, biases=biases, causal=causal),
        input_embedding_params=head.vocab * sizes.hidden,
        position_params=(length or 0) * sizes.hidden if learned_positions else 0,
        head_params=head.params,
        final_params=norm,
        tied=tied,
        max_seq_len=length,
        matrices=head.matrices,
    )


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
    attention: tuple[Matrix, ...],
    *,
    norm: int,
    biases: bool,
    causal: bool,
) -> tuple[Block, ...]:
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
    num_experts, width = fields.count("n_experts"), fields.count("expert_hidden")
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
