"""One traced configuration: the dimensions and the implementation of every part."""

from __future__ import annotations

from dataclasses import dataclass, fields

WORDS = {
    "mlp_kind": ("swiglu", "swiglu-fused", "gelu", "gelu-composed"),
    "norm": ("rmsnorm-eager", "rmsnorm-fused", "layernorm"),
    "positions": ("rotary", "learned"),
    "qkv": ("split", "fused"),
    "kv_heads_as": ("grouped", "repeated"),
    "precision": ("pure-bf16", "bf16-master", "bf16-autocast", "fp32"),
    "attention": ("flash", "sdpa-math", "eager-fp32-softmax", "eager"),
    "loss": (
        "eager",
        "eager-held",
        "model-format",
        "vocab-parallel",
        "compiled",
        "fused",
        "chunked",
        "fused-linear",
    ),
    "recompute": ("none", "full", "selective-attention", "selective-ops"),
    "optimizer": (
        "adamw-foreach",
        "adamw-fused",
        "adamw",
        "sgd",
        "sgd-momentum",
        "adafactor",
        "muon",
    ),
    "task": ("full", "lora"),
    "lora_targets": ("", "q-v", "all-linear"),
    "lora_format": ("", "model", "fp32"),
    "experts_as": ("", "grouped", "loop"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is traced. Widths in elements; a row of the table starts with these fields.

    `ffn_hidden` is 0 in a mixture of experts. `dropout` is a probability; only whether it is
    above zero matters for memory. `accumulation` counts micro-steps per optimizer step.
    """

    id: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    ffn_hidden: int
    vocab: int
    seq_len: int  # tokens per sequence
    micro_batch: int  # sequences
    mlp_kind: str = "swiglu"
    norm: str = "rmsnorm-fused"
    positions: str = "rotary"
    qkv: str = "split"
    kv_heads_as: str = "grouped"
    precision: str = "pure-bf16"
    attention: str = "flash"
    loss: str = "eager"
    recompute: str = "none"
    optimizer: str = "adamw-foreach"
    task: str = "full"
    lora_rank: int = 0
    lora_targets: str = ""
    lora_format: str = ""
    n_experts: int = 0
    top_k: int = 0
    expert_hidden: int = 0
    experts_as: str = ""
    tied: bool = False
    biases: bool = False
    dropout: float = 0.0
    accumulation: int = 1

    def __post_init__(self) -> None:
        for name, words in WORDS.items():
            if getattr(self, name) not in words:
                raise ValueError(f"{self.id}: {name} = {getattr(self, name)!r}, not one of {words}")
        if self.layers < 2:
            raise ValueError(f"{self.id}: layers = {self.layers}; a layer's share needs at least 2")
        if self.heads % self.kv_heads:
            raise ValueError(f"{self.id}: {self.heads} heads do not share {self.kv_heads} kv_heads")
        if bool(self.n_experts) == bool(self.ffn_hidden):
            raise ValueError(f"{self.id}: give either ffn_hidden or n_experts")
        if self.precision == "bf16-master" and self.lora_format == "fp32":
            raise ValueError(f"{self.id}: FP32 adapters need no FP32 masters; lora_format = model")
        if self.n_experts and (self.tokens * self.top_k) % self.n_experts:
            raise ValueError(f"{self.id}: the tokens do not divide evenly among the experts")

    @property
    def tokens(self) -> int:
        """Tokens of one micro-step."""
        return self.seq_len * self.micro_batch


COLUMNS = tuple(field.name for field in fields(Case))
