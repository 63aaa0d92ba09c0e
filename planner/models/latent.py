"""Decoders with latent attention: DeepSeek-V2, V3, R1 and Kimi-K2."""

from __future__ import annotations

from planner.engine.model import Block, Matrix, Model
from planner.models.dense import assemble
from planner.models.experts import Sparse, dense_layers, read_mixture
from planner.models.fields import Fields
from planner.models.parts import Attention, make_block
from planner.models.style import HEADS, HIDDEN, LAYERS, Style, read_ffn, resolve, style_mlp

STYLE = Style(in_bias=("attention_bias", False), mlp_bias=False)
SPARSE = Sparse(
    attention=STYLE,
    shared_count="n_shared_experts",
    dense_first="first_k_dense_replace",
)


def read_latent(fields: Fields, family: str) -> Model:
    """DeepSeek-V2/V3 layout. The extra multi-token-prediction layer is not counted, but warned of.

    Source: DeepSeek-V3 technical report, section 2.1.
    """
    sizes = read_sizes(fields)
    layers = fields.layers(*LAYERS)
    dense = len(dense_layers(fields, SPARSE, layers))
    _refuse_gaps(fields)
    attention = latent_matrices(fields, sizes)
    norms = 2 * sizes.hidden + sizes.q_lora_rank + sizes.kv_lora_rank
    blocks = (
        *_dense(fields, sizes, attention, norms, dense),
        *_sparse(fields, sizes, attention, norms, layers - dense),
    )
    if fields.optional("num_nextn_predict_layers", minimum=0):
        fields.warn("the multi-token-prediction layer of the checkpoint is not counted")
    return assemble(fields, family, STYLE, sizes, blocks)


def read_sizes(fields: Fields) -> Attention:
    """Widths of latent attention; `q_lora_rank` null means a plain query projection."""
    heads = fields.count(*HEADS)
    rope = fields.count("qk_rope_head_dim")
    return Attention(
        hidden=fields.count(*HIDDEN),
        heads=heads,
        kv_heads=heads,
        head_dim=fields.count("qk_nope_head_dim") + rope,
        v_head_dim=fields.count("v_head_dim"),
        q_lora_rank=fields.optional("q_lora_rank") or 0,
        kv_lora_rank=fields.count("kv_lora_rank"),
        rope_head_dim=rope,
    )


def latent_matrices(fields: Fields, sizes: Attention) -> tuple[Matrix, ...]:
    """Down and up projections of queries and of the shared key-value latent, and the output."""
    bias = resolve(fields, STYLE.in_bias)
    nope = sizes.head_dim - sizes.rope_head_dim
    rank = sizes.kv_lora_rank
    down = _matrix("kv_a_proj_with_mqa", sizes.hidden, rank + sizes.rope_head_dim, bias)
    up = _matrix("kv_b_proj", rank, sizes.heads * (nope + sizes.v_head_dim), False)
    out = _matrix("o_proj", sizes.heads * sizes.v_head_dim, sizes.hidden, bias)
    return (*_queries(sizes, bias), down, up, out)


def _queries(sizes: Attention, bias: bool) -> tuple[Matrix, ...]:
    if not sizes.q_lora_rank:
        return (_matrix("q_proj", sizes.hidden, sizes.q_width, False),)
    return (
        _matrix("q_a_proj", sizes.hidden, sizes.q_lora_rank, bias),
        _matrix("q_b_proj", sizes.q_lora_rank, sizes.q_width, False),
    )


def _matrix(name: str, inputs: int, outputs: int, bias: bool) -> Matrix:
    return Matrix(name=name, role="attention", inputs=inputs, outputs=outputs, bias=bias)


def _refuse_gaps(fields: Fields) -> None:
    """Sparse layers at intervals exist in no published model and are not counted by the oracle."""
    step = fields.optional("moe_layer_freq")
    if step not in (None, 1):
        raise fields.error("moe_layer_freq", step, "only 1 is known for this architecture")


def _dense(
    fields: Fields, sizes: Attention, attention: tuple[Matrix, ...], norms: int, count: int
) -> tuple[Block, ...]:
    if not count:
        return ()
    width = read_ffn(fields, STYLE, sizes.hidden)
    mlp = style_mlp(fields, STYLE, sizes.hidden, width)
    block = make_block(
        sizes,
        (*attention, *mlp),
        count=count,
        norm_params=norms,
        ffn_hidden=width,
        gated=True,
    )
    return (block,)


def _sparse(
    fields: Fields, sizes: Attention, attention: tuple[Matrix, ...], norms: int, count: int
) -> tuple[Block, ...]:
    if not count:
        return ()
    block = make_block(
        sizes,
        attention,
        count=count,
        norm_params=norms,
        gated=True,
        mixture=read_mixture(fields, SPARSE, sizes.hidden),
    )
    return (block,)
