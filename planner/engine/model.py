"""What a model is to the engine: its kinds of layers and its exact parameter counts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.engine.table import Table

ROLES = ("attention", "ffn", "expert", "shared", "router", "head", "other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """One weight matrix of a layer (or outside the layers), `count` times.

    `linear` says whether the reference implementation holds it as a linear module of its own,
    which is what an adapter on "all-linear" finds; routed experts and routers usually are not.

    >>> Matrix(name="up_proj", role="ffn", inputs=8, outputs=32, bias=True).params
    288
    """

    name: str  # last part of the module's name in the published checkpoint
    role: str  # one of ROLES
    inputs: int  # width of what it multiplies
    outputs: int  # width of what it gives
    bias: bool = False
    count: int = 1  # in one layer; routed experts: number of experts
    linear: bool = True
    per_sequence: bool = False  # used once per sequence (a pooler), not once per token
    encoder_tokens: bool = False  # in a decoder layer, but sees the encoder's tokens

    @property
    def weights(self) -> int:
        """Elements without biases."""
        return self.count * self.inputs * self.outputs

    @property
    def params(self) -> int:
        return self.weights + (self.count * self.outputs if self.bias else 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """One kind of layer, `count` times. Widths in elements, counts in parameters.

    Latent attention (DeepSeek) has `kv_lora_rank` > 0: `head_dim` is then the width of a query or
    key head with its rotary part, `v_head_dim` that of a value head.
    A mixture-of-experts layer has `num_experts` > 0: `ffn_hidden` is then 0, `expert_hidden` the
    width of one routed expert, `shared_hidden` the summed width of the always-active experts.
    """

    count: int  # layers of this kind
    heads: int
    kv_heads: int
    head_dim: int
    v_head_dim: int
    q_lora_rank: int = 0  # latent attention: rank of the query projection, 0 = none
    kv_lora_rank: int = 0  # latent attention: rank of the shared key-value latent, 0 = plain
    rope_head_dim: int = 0  # latent attention: rotary part of a head, shared by all key heads
    window: int | None = None  # sliding-window length in tokens, None = full attention
    causal: bool = True
    cross_attention: bool = False  # also attends to an encoder's output
    side: str = "decoder"  # decoder | encoder: whose tokens it sees
    ffn_hidden: int = 0  # width of the dense feed-forward network, 0 = none
    gated: bool = False  # SwiGLU or GeGLU: three matrices instead of two
    num_experts: int = 0
    top_k: int = 0
    expert_hidden: int = 0
    expert_input: int = 0  # width that routed experts read behind a latent projection, 0 = hidden
    state_space: bool = False  # a state-space scan stands in attention's place (Mamba-2)
    shared_hidden: int = 0
    # parameters of ONE layer, exact
    attention_params: int = 0  # projections with their biases, split by tensor parallelism
    ffn_params: int = 0  # dense feed-forward with its biases, split by tensor parallelism
    expert_params: int = 0  # all routed experts together
    shared_params: int = 0  # always-active experts and their gate
    router_params: int = 0
    norm_params: int = 0  # norms and other small tensors that every device replicates
    matrices: tuple[Matrix, ...] = ()  # of ONE layer: what the parameter counts consist of

    @property
    def params(self) -> int:
        """Parameters of one layer."""
        return (
            self.attention_params
            + self.ffn_params
            + self.expert_params
            + self.shared_params
            + self.router_params
            + self.norm_params
        )

    @property
    def params_active(self) -> int:
        """Parameters of one layer that a token uses."""
        if not self.num_experts:
            return self.params
        used = self.expert_params * self.top_k // self.num_experts
        return self.params - self.expert_params + used


@dataclass(frozen=True, slots=True, kw_only=True)
class Model:
    """A transformer, described by numbers. Parameters are counted once, tied matrices included.

    `input_embedding_params` is the token embedding matrix; when `tied`, the output layer uses the
    same matrix and `head_params` is 0 (or holds what the head adds: biases, a transform).
    """

    name: str
    family: str  # the config's model_type
    kind: str  # decoder | encoder | encoder-decoder | vit | traced
    hidden: int
    vocab: int  # rows of the output layer; 0 = no output layer over a vocabulary
    blocks: tuple[Block, ...]
    input_embedding_params: int
    position_params: int = 0  # learned positions, token types, patch embedding, class token
    head_params: int = 0  # output layer beyond a tied matrix
    final_params: int = 0  # final norm(s), pooler and other small tensors outside the layers
    tied: bool = False
    max_seq_len: int | None = None  # tokens
    checkpoint_format: str | None = None  # of the published weights: bf16, fp16, fp32, fp8, mxfp4
    image_tokens: int | None = None  # vit: tokens per image at the config's size
    matrices: tuple[Matrix, ...] = ()  # outside the layers: output layer, pooler, projections
    warnings: tuple[str, ...] = field(default=())
    table: Table | None = None  # of a traced module, which one block of all parameters stands for

    @property
    def layers(self) -> int:
        return sum(block.count for block in self.blocks)

    @property
    def params_total(self) -> int:
        """All parameters, tied matrices once."""
        return sum(block.count * block.params for block in self.blocks) + self.params_outside

    @property
    def params_outside(self) -> int:
        """Parameters outside the layers: embeddings, output layer, final norms."""
        return (
            self.input_embedding_params
            + self.position_params
            + self.head_params
            + self.final_params
        )

    @property
    def params_active(self) -> int:
        """Parameters that a token uses, the input embedding included."""
        return sum(block.count * block.params_active for block in self.blocks) + self.params_outside

    @property
    def params_active_without_input_embedding(self) -> int:
        """Parameters that a token uses, without an input embedding that only looks up."""
        return self.params_active - (0 if self.tied else self.input_embedding_params)
