"""Plain vision transformers: patches in, one class token, encoder layers."""

from __future__ import annotations

from planner.engine.model import Block, Matrix, Model
from planner.models.fields import Fields
from planner.models.heads import Head, classifier, head_kind, num_labels
from planner.models.parts import Attention, attention_matrices, make_block, mlp_matrices


def read_vit(fields: Fields, family: str) -> Model:
    """ViT; `id2label` holds the classes. Source: Dosovitskiy et al. 2020, section 3.1."""
    hidden = fields.count("hidden_size")
    tokens = (_side(fields, "image_size") // _side(fields, "patch_size")) ** 2 + 1
    patches = _patches(fields, hidden)
    head = _head(fields, hidden)
    return Model(
        name=fields.name,
        family=family,
        kind="vit",
        hidden=hidden,
        vocab=0,
        blocks=(_block(fields, hidden),),
        input_embedding_params=0,
        position_params=patches.params + (tokens + 1) * hidden,
        head_params=head.params,
        final_params=2 * hidden + head.final_params,
        max_seq_len=tokens,
        image_tokens=tokens,
        matrices=(patches, *head.matrices),
    )


def _side(fields: Fields, key: str) -> int:
    side = fields.count(key)
    if key == "image_size" and side % fields.count("patch_size"):
        raise fields.error(
            key, side, f"must be a multiple of patch_size {fields.count('patch_size')}"
        )
    return side


def _patches(fields: Fields, hidden: int) -> Matrix:
    """The patch embedding is a convolution without overlap: a matrix over flattened patches."""
    return Matrix(
        name="projection",
        role="other",
        inputs=fields.count("num_channels") * fields.count("patch_size") ** 2,
        outputs=hidden,
        bias=True,
        linear=False,
    )


def _block(fields: Fields, hidden: int) -> Block:
    heads, width = fields.count("num_attention_heads"), fields.count("intermediate_size")
    head_dim = fields.divided(hidden, "hidden_size", heads, "num_attention_heads")
    sizes = Attention(hidden=hidden, heads=heads, kv_heads=heads, head_dim=head_dim)
    bias = fields.flag("qkv_bias", absent=True)
    attention = attention_matrices(sizes, in_bias=bias, out_bias=True)
    mlp = mlp_matrices(hidden, width, names=("fc1", "fc2"), bias=True, gated=False)
    return make_block(
        sizes,
        (*attention, *mlp),
        count=fields.layers("num_hidden_layers"),
        norm_params=4 * hidden,
        causal=False,
        side="encoder",
        ffn_hidden=width,
    )


def _head(fields: Fields, hidden: int) -> Head:
    if head_kind(fields, usual="image", allowed=("image", "none")) == "image":
        matrix = classifier("classifier", hidden, num_labels(fields), per_sequence=True)
        return Head(matrices=(matrix,), params=matrix.params)
    width = fields.optional("pooler_output_size") or hidden
    pooler = Matrix(
        name="dense", role="other", inputs=hidden, outputs=width, bias=True, per_sequence=True
    )
    return Head(matrices=(pooler,), final_params=pooler.params)
