"""From the matrices of a layer to a `Block`: every count follows from the shapes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from planner.engine.model import Block, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """Widths of one attention, in elements and heads."""

    hidden: int
    heads: int
    kv_heads: int
    head_dim: int  # of queries and keys
    v_head_dim: int = 0  # of values, 0 = head_dim
    q_lora_rank: int = 0
    kv_lora_rank: int = 0
    rope_head_dim: int = 0

    @property
    def q_width(self) -> int:
        return self.heads * self.head_dim

    @property
    def kv_width(self) -> int:
        return self.kv_heads * self.head_dim


@dataclass(frozen=True, slots=True, kw_only=True)
class Mixture:
    """Router and experts of a sparse layer with their widths."""

    matrices: tuple[Matrix, ...]
    num_experts: int
    top_k: int
    expert_hidden: int
    shared_hidden: int = 0


_NO_MIXTURE = Mixture(matrices=(), num_experts=0, top_k=0, expert_hidden=0)


def attention_matrices(
    sizes: Attention,
    *,
    names: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj"),
    in_bias: bool = False,
    out_bias: bool = False,
    cross: bool = False,
) -> tuple[Matrix, ...]:
    """Four projections, or two when `names` has one name for queries, keys and values together.

    >>> sizes = Attention(hidden=8, heads=2, kv_heads=1, head_dim=4)
    >>> [m.outputs for m in attention_matrices(sizes)]
    [8, 4, 4, 8]
    >>> [m.outputs for m in attention_matrices(sizes, names=("qkv_proj", "o_proj"))]
    [16, 8]
    """
    widths = [sizes.q_width, sizes.kv_width, sizes.kv_width]
    if len(names) == 2:
        widths = [sum(widths)]
    projections = [
        Matrix(
            name=name,
            role="attention",
            inputs=sizes.hidden,
            outputs=width,
            bias=in_bias,
            encoder_tokens=cross and index > 0,
        )
        for index, (name, width) in enumerate(zip(names[:-1], widths, strict=True))
    ]
    out = Matrix(
        name=names[-1],
        role="attention",
        inputs=sizes.q_width,
        outputs=sizes.hidden,
        bias=out_bias,
    )
    return (*projections, out)


def mlp_matrices(
    hidden: int,
    width: int,
    *,
    names: tuple[str, ...],
    bias: bool = False,
    gated: bool,
    role: str = "ffn",
    count: int = 1,
    linear: bool = True,
) -> tuple[Matrix, ...]:
    """Feed-forward matrices: the last name leads back, the others lead out to `width`.

    A gated network with one name for both ways out holds them in one matrix twice as wide.

    >>> [m.outputs for m in mlp_matrices(8, 32, names=("gate_up_proj", "down_proj"), gated=True)]
    [64, 8]
    """
    fused = gated and len(names) == 2
    ways_out = [
        Matrix(
            name=name,
            role=role,
            inputs=hidden,
            outputs=2 * width if fused else width,
            bias=bias,
            count=count,
            linear=linear,
        )
        for name in names[:-1]
    ]
    back = Matrix(
        name=names[-1],
        role=role,
        inputs=width,
        outputs=hidden,
        bias=bias,
        count=count,
        linear=linear,
    )
    return (*ways_out, back)


def expert_matrices(
    hidden: int, width: int, num_experts: int, *, bias: bool = False
) -> tuple[Matrix, ...]:
    """Gated routed experts, stacked as current implementations hold them."""
    return mlp_matrices(
        hidden,
        width,
        names=("gate_up_proj", "down_proj"),
        bias=bias,
        gated=True,
        role="expert",
        count=num_experts,
        linear=False,
    )


def params_of(matrices: Iterable[Matrix], role: str) -> int:
    """Parameters of the matrices with that role."""
    return sum(matrix.params for matrix in matrices if matrix.role == role)


def make_block(
    sizes: Attention,
    matrices: tuple[Matrix, ...],
    *,
    count: int,
    norm_params: int,
    window: int | None = None,
    causal: bool = True,
    cross_attention: bool = False,
    side: str = "decoder",
    ffn_hidden: int = 0,
    gated: bool = False,
    mixture: Mixture | None = None,
) -> Block:
    """A `Block` whose parameter groups are the sums over `matrices` and the mixture's own."""
    mixture = mixture or _NO_MIXTURE
    matrices = (*matrices, *mixture.matrices)
    return Block(
        count=count,
        heads=sizes.heads,
        kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        v_head_dim=sizes.v_head_dim or sizes.head_dim,
        q_lora_rank=sizes.q_lora_rank,
        kv_lora_rank=sizes.kv_lora_rank,
        rope_head_dim=sizes.rope_head_dim,
        window=window,
        causal=causal,
        cross_attention=cross_attention,
        side=side,
        ffn_hidden=ffn_hidden,
        gated=gated,
        num_experts=mixture.num_experts,
        top_k=mixture.top_k,
        expert_hidden=mixture.expert_hidden,
        shared_hidden=mixture.shared_hidden,
        attention_params=params_of(matrices, "attention"),
        ffn_params=params_of(matrices, "ffn"),
        expert_params=params_of(matrices, "expert"),
        shared_params=params_of(matrices, "shared"),
        router_params=params_of(matrices, "router"),
        norm_params=norm_params,
        matrices=matrices,
    )
