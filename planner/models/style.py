"""How a family of decoders fills in a layer, as data, and the readers of those facts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from planner.engine.model import Matrix
from planner.models.fields import MAX_TOKENS, Fields
from planner.models.parts import Attention, attention_matrices, mlp_matrices

HIDDEN = ("hidden_size", "n_embd", "n_embed", "d_model")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv")
FFN = ("intermediate_size", "n_inner", "ffn_hidden_size", "ffn_dim")
POSITIONS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length")

Flag = bool | tuple[str, bool]  # fixed by the architecture, or (config key, meaning when absent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Style:
    """Facts of one architecture that its configs take for granted.

    Norm counts are in tensors of the layer's width: 1 for RMSNorm or a LayerNorm without bias,
    2 for a LayerNorm with bias, 0 for one without parameters.
    """

    in_bias: Flag = False  # of the query, key and value projections
    out_bias: Flag = False  # of the output projection
    mlp_bias: Flag = False
    head_bias: Flag = False
    tied: bool = False  # output layer shared with the input embedding when the config is silent
    gated: bool = True
    attention_names: tuple[str, ...] = ("q_proj", "k_proj", "v_proj", "o_proj")
    mlp_names: tuple[str, ...] = ("gate_proj", "up_proj", "down_proj")
    norm_tensors: int = 1
    norms: int = 2  # per layer
    embedding_norm: bool = False
    qk_norm: str = "none"  # none | head: one head wide | width: as wide as all heads
    qk_norm_key: str | None = None  # config flag that turns it on; None = always
    qk_norm_tensors: int = 1
    head_dim: str = "optional"  # stated: must be in the config | optional | divided: never read
    kv_heads: str = "stated"  # stated | heads: as many as heads when absent | multi-head: always |
    # multi-query: one unless the config's multi_query is false
    ffn_ratio: int = 0  # feed-forward width over hidden when the config is silent; 0 = refuse
    learned_positions: bool = False
    window: str = "none"  # none | all | late: from max_window_layers on | every: see window_every |
    # listed: each layer's kind is in the config
    window_every: int = 0  # each so-many-th layer has full attention, the others the window
    window_key: str = "sliding_window"
    kinds_key: str = "layer_types"
    full_kind: str = "full_attention"  # the words of that list
    window_kind: str = "sliding_attention"


def resolve(fields: Fields, flag: Flag) -> bool:
    """The value of a style's flag for this config."""
    return flag if isinstance(flag, bool) else fields.flag(flag[0], absent=flag[1])


def read_attention(fields: Fields, style: Style) -> Attention:
    """Hidden width and heads; `head_dim` is divided only where the architecture divides."""
    hidden = fields.count(*HIDDEN)
    heads = fields.count(*HEADS)
    kv_heads = _kv_heads(fields, style, heads)
    if heads % kv_heads:
        raise fields.error(KV_HEADS[0], kv_heads, f"must divide num_attention_heads {heads}")
    if style.head_dim == "stated":
        head_dim = fields.count("head_dim")
    else:
        stated = fields.optional("head_dim") if style.head_dim == "optional" else None
        head_dim = stated or fields.divided(hidden, HIDDEN[0], heads, HEADS[0])
    return Attention(hidden=hidden, heads=heads, kv_heads=kv_heads, head_dim=head_dim)


def read_ffn(fields: Fields, style: Style, hidden: int) -> int:
    """Width of the dense feed-forward network."""
    if not style.ffn_ratio:
        return fields.count(*FFN)
    return fields.optional(*FFN) or style.ffn_ratio * hidden


def style_attention(fields: Fields, style: Style, sizes: Attention) -> tuple[Matrix, ...]:
    return attention_matrices(
        sizes,
        names=style.attention_names,
        in_bias=resolve(fields, style.in_bias),
        out_bias=resolve(fields, style.out_bias),
    )


def style_mlp(fields: Fields, style: Style, hidden: int, width: int) -> tuple[Matrix, ...]:
    bias = resolve(fields, style.mlp_bias)
    return mlp_matrices(hidden, width, names=style.mlp_names, bias=bias, gated=style.gated)


def norm_params(fields: Fields, style: Style, sizes: Attention) -> int:
    """Norms of one layer, those of queries and keys included."""
    params = style.norms * style.norm_tensors * sizes.hidden
    if style.qk_norm_key and not fields.flag(style.qk_norm_key, absent=False):
        return params
    widths = {
        "none": 0,
        "head": 2 * sizes.head_dim,
        "width": sizes.q_width + sizes.kv_width,
    }
    return params + style.qk_norm_tensors * widths[style.qk_norm]


def read_windows(fields: Fields, style: Style, layers: int) -> tuple[int | None, ...]:
    """Sliding-window length of each layer in tokens, None = full attention.

    `layer_types` in the config decides; otherwise the architecture's own pattern.
    """
    window = _window(fields, style)
    kinds = fields.items(style.kinds_key)
    if kinds is not None and style.window != "none":
        return _stated_windows(fields, style, kinds, layers, window)
    if style.window == "listed":
        raise fields.error(style.kinds_key, None, f"state the kind of all {layers} layers")
    if window is None:
        return (None,) * layers
    if style.window == "all":
        return (window,) * layers
    if style.window == "late":
        first = fields.optional("max_window_layers", minimum=0) or 0
        return tuple(window if layer >= first else None for layer in range(layers))
    every = fields.optional("sliding_window_pattern") or style.window_every
    return tuple(None if (layer + 1) % every == 0 else window for layer in range(layers))


def grouped(windows: tuple[int | None, ...]) -> dict[int | None, int]:
    """How many layers have each window.

    >>> grouped((128, None, 128))
    {128: 2, None: 1}
    """
    return dict(Counter(windows))


def _kv_heads(fields: Fields, style: Style, heads: int) -> int:
    if style.kv_heads == "multi-head":
        return heads
    if style.kv_heads == "multi-query":
        return 1 if fields.flag("multi_query", absent=True) else heads
    if style.kv_heads == "stated":
        return fields.count(*KV_HEADS)
    return fields.optional(*KV_HEADS) or heads


def _window(fields: Fields, style: Style) -> int | None:
    if style.window == "none":
        return None
    if not fields.flag("use_sliding_window", absent=style.window != "late"):
        return None
    return fields.optional(style.window_key, maximum=MAX_TOKENS)


def _stated_windows(
    fields: Fields, style: Style, kinds: tuple[object, ...], layers: int, window: int | None
) -> tuple[int | None, ...]:
    key = style.kinds_key
    if len(kinds) != layers:
        raise fields.error(key, list(kinds), f"must have {layers} entries, one a layer")
    for kind in kinds:
        if kind not in (style.full_kind, style.window_kind):
            known = f"{style.full_kind} and {style.window_kind}"
            raise fields.error(key, kind, f"only {known} are known for this architecture")
    if window is None and style.window_kind in kinds:
        raise fields.error(style.window_key, None, f"{key} names {style.window_kind}: state it")
    return tuple(None if kind == style.full_kind else window for kind in kinds)
