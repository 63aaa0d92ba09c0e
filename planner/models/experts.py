"""Decoders with a mixture of experts: which layers are sparse, and what stands in them."""

from __future__ import annotations

from dataclasses import dataclass, replace

from planner.engine.model import Block, Matrix, Model
from planner.models.dense import assemble
from planner.models.fields import Fields
from planner.models.parts import Attention, Mixture, expert_matrices, make_block, mlp_matrices
from planner.models.style import (
    LAYERS,
    Style,
    grouped,
    norm_params,
    read_attention,
    read_ffn,
    read_windows,
    style_attention,
    style_mlp,
)
from planner.models.styles import STYLES

_GATED = ("gate_proj", "up_proj", "down_proj")


_NUM_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts")
_TOP_K = ("num_experts_per_tok", "experts_per_token")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sparse:
    """The config keys of a family's experts and what its experts have."""

    attention: Style
    width: str = "moe_intermediate_size"  # config key: width of one expert
    shared_width: str | None = None  # config key: width of the shared expert
    shared_count: str | None = None  # config key: shared experts, each as wide as a routed one
    shared_gate: bool = False  # a vector that weighs the shared expert
    bias: bool = False  # of experts and router
    linear_router: bool = False
    sinks: bool = False  # one learned logit per attention head
    dense_first: str | None = None  # config key: dense layers in front
    dense_listed: bool = False  # mlp_only_layers and decoder_sparse_step say which are dense


SPARSE: dict[str, Sparse] = {
    "mixtral": Sparse(attention=STYLES["mistral"], width="intermediate_size"),
    "qwen2_moe": Sparse(
        attention=replace(STYLES["qwen2"], in_bias=("qkv_bias", True)),
        shared_width="shared_expert_intermediate_size",
        shared_gate=True,
        dense_listed=True,
    ),
    "qwen3_moe": Sparse(attention=STYLES["qwen3"], dense_listed=True),
    "olmoe": Sparse(
        attention=replace(STYLES["olmo2"], head_dim="divided"), width="intermediate_size"
    ),
    "phimoe": Sparse(
        attention=Style(
            in_bias=("attention_bias", False),
            out_bias=("attention_bias", False),
            head_bias=("lm_head_bias", False),
            norm_tensors=2,
            window="all",
        ),
        width="intermediate_size",
        linear_router=True,
    ),
    "granitemoe": Sparse(attention=STYLES["granite"], width="intermediate_size"),
    "glm4_moe": Sparse(
        attention=Style(
            in_bias=("attention_bias", False),
            qk_norm="head",
            qk_norm_key="use_qk_norm",
            head_dim="stated",
        ),
        shared_count="n_shared_experts",
        dense_first="first_k_dense_replace",
    ),
    "dots1": Sparse(
        attention=Style(
            in_bias=("attention_bias", False),
            out_bias=("attention_bias", False),
            qk_norm="head",
            window="late",
        ),
        shared_count="n_shared_experts",
        dense_first="first_k_dense_replace",
    ),
    "gpt_oss": Sparse(
        attention=Style(
            in_bias=("attention_bias", True),
            out_bias=("attention_bias", True),
            head_dim="stated",
            window="every",
            window_every=2,
        ),
        width="intermediate_size",
        bias=True,
        sinks=True,
    ),
}


def read_sparse(fields: Fields, family: str) -> Model:
    """A decoder with experts of one of the families in `SPARSE`."""
    sparse = SPARSE[family]
    sizes = read_attention(fields, sparse.attention)
    layers = fields.layers(*LAYERS)
    windows = read_windows(fields, sparse.attention, layers)
    dense = dense_layers(fields, sparse, layers)
    sparse_windows = tuple(w for layer, w in enumerate(windows) if layer not in dense)
    dense_windows = tuple(w for layer, w in enumerate(windows) if layer in dense)
    blocks = (
        *_dense_blocks(fields, sparse, sizes, dense_windows),
        *_sparse_blocks(fields, sparse, sizes, sparse_windows),
    )
    return assemble(fields, family, sparse.attention, sizes, blocks)


def dense_layers(fields: Fields, sparse: Sparse, layers: int) -> frozenset[int]:
    """Indices of the layers with a dense feed-forward network."""
    if sparse.dense_first is not None:
        first = fields.optional(sparse.dense_first, minimum=0)
        if first is None:
            raise fields.error(sparse.dense_first, None, "state how many dense layers come first")
        return frozenset(range(min(first, layers)))
    if not sparse.dense_listed:
        return frozenset()
    step = fields.optional("decoder_sparse_step") or 1
    listed = frozenset(fields.items("mlp_only_layers") or ())
    unknown = [item for item in listed if item not in range(layers) or isinstance(item, bool)]
    if unknown:
        raise fields.error("mlp_only_layers", unknown[0], f"must name layers 0 to {layers - 1}")
    return frozenset(layer for layer in range(layers) if layer in listed or (layer + 1) % step != 0)


def read_mixture(fields: Fields, sparse: Sparse, hidden: int) -> Mixture:
    """Router, routed and shared experts of a layer."""
    num_experts, width = fields.count(*_NUM_EXPERTS), fields.count(sparse.width)
    top_k = fields.count(*_TOP_K)
    if top_k > num_experts:
        raise fields.error(_TOP_K[0], top_k, f"exceeds the {num_experts} experts of a layer")
    shared = _shared_width(fields, sparse, width)
    router = Matrix(
        name="router",
        role="router",
        inputs=hidden,
        outputs=num_experts,
        bias=sparse.bias,
        linear=sparse.linear_router,
    )
    return Mixture(
        matrices=(
            router,
            *expert_matrices(hidden, width, num_experts, bias=sparse.bias),
            *_shared_matrices(sparse, hidden, shared),
        ),
        num_experts=num_experts,
        top_k=top_k,
        expert_hidden=width,
        shared_hidden=shared,
    )


def _shared_width(fields: Fields, sparse: Sparse, width: int) -> int:
    if sparse.shared_width is not None:
        return fields.count(sparse.shared_width)
    if sparse.shared_count is None:
        return 0
    return width * (fields.optional(sparse.shared_count, minimum=0) or 0)


def _shared_matrices(sparse: Sparse, hidden: int, width: int) -> tuple[Matrix, ...]:
    if not width:
        return ()
    matrices = mlp_matrices(hidden, width, names=_GATED, gated=True, role="shared")
    if not sparse.shared_gate:
        return matrices
    gate = Matrix(name="shared_expert_gate", role="shared", inputs=hidden, outputs=1)
    return (*matrices, gate)


def _dense_blocks(
    fields: Fields, sparse: Sparse, sizes: Attention, windows: tuple[int | None, ...]
) -> tuple[Block, ...]:
    if not windows:
        return ()
    style = sparse.attention
    width = read_ffn(fields, style, sizes.hidden)
    matrices = (
        *style_attention(fields, style, sizes),
        *style_mlp(fields, style, sizes.hidden, width),
    )
    norms = _small_params(fields, sparse, sizes)
    return tuple(
        make_block(
            sizes,
            matrices,
            count=count,
            norm_params=norms,
            window=window,
            ffn_hidden=width,
            gated=True,
        )
        for window, count in grouped(windows).items()
    )


def _sparse_blocks(
    fields: Fields, sparse: Sparse, sizes: Attention, windows: tuple[int | None, ...]
) -> tuple[Block, ...]:
    if not windows:
        return ()
    mixture = read_mixture(fields, sparse, sizes.hidden)
    attention = style_attention(fields, sparse.attention, sizes)
    norms = _small_params(fields, sparse, sizes)
    return tuple(
        make_block(
            sizes,
            attention,
            count=count,
            norm_params=norms,
            window=window,
            gated=True,
            mixture=mixture,
        )
        for window, count in grouped(windows).items()
    )


def _small_params(fields: Fields, sparse: Sparse, sizes: Attention) -> int:
    sinks = sizes.heads if sparse.sinks else 0
    return norm_params(fields, sparse.attention, sizes) + sinks
