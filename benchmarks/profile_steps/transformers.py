"""Plain transformers of three sizes: how each is planned, and its real step."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from planner import Run
from planner.engine.model import Block, Matrix, Model
from profiles.device import Device
from profiles.training import TrainingStep, transformer_step
from profiles.transformer import Dimensions, make_model

SIZES = {
    "tiny": Dimensions(
        layers=4, hidden=256, heads=4, kv_heads=4, head_dim=64, ffn_hidden=1024, vocab=8192
    ),
    "small": Dimensions(
        layers=6, hidden=512, heads=8, kv_heads=8, head_dim=64, ffn_hidden=2048, vocab=8192
    ),
    "gated": Dimensions(
        layers=4,
        hidden=768,
        heads=12,
        kv_heads=4,
        head_dim=64,
        ffn_hidden=2048,
        gated=True,
        vocab=8192,
        tied=False,
    ),
}
SEQ_LEN = 256


def model_of(name: str, d: Dimensions) -> Model:
    """The engine's description of the same module."""
    query, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    up = Matrix(name="up", role="ffn", inputs=d.hidden, outputs=(1 + d.gated) * d.ffn_hidden)
    down = Matrix(name="down", role="ffn", inputs=d.ffn_hidden, outputs=d.hidden)
    qkv = Matrix(name="qkv", role="attention", inputs=d.hidden, outputs=query + 2 * keys)
    out = Matrix(name="out", role="attention", inputs=query, outputs=d.hidden)
    norms = d.hidden if d.gated else 2 * d.hidden
    block = Block(
        count=d.layers,
        heads=d.heads,
        kv_heads=d.kv_heads,
        head_dim=d.head_dim,
        v_head_dim=d.head_dim,
        ffn_hidden=d.ffn_hidden,
        gated=d.gated,
        attention_params=qkv.params + out.params,
        ffn_params=up.params + down.params,
        norm_params=2 * norms,
        matrices=(qkv, out, up, down),
    )
    return Model(
        name=name,
        family="llama" if d.gated else "gpt2",
        kind="decoder",
        hidden=d.hidden,
        vocab=d.vocab,
        blocks=(block,),
        input_embedding_params=d.vocab * d.hidden,
        head_params=0 if d.tied else d.vocab * d.hidden,
        final_params=norms,
        tied=d.tied,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class TransformerCase:
    """One size under one batch and format."""

    name: str
    micro_batch: int
    precision: str

    @property
    def dimensions(self) -> Dimensions:
        return SIZES[self.name]

    def run(self, profile: str) -> Run:
        """The run whose plan is asked for."""
        return Run(model=self.name).changed(
            {
                "data.tokens": 10**7,
                "data.seq_len": SEQ_LEN,
                "hardware.profile": profile,
                "training.precision": self.precision,
                "training.micro_batch": self.micro_batch,
                "training.accumulation": 1,
                "training.stack": "litgpt",  # a plain loop: no dropout, logits as they come
                "training.loss": "eager",
            }
        )

    def model(self) -> Model:
        """What the plan is of; no preset has this name."""
        return model_of(self.name, self.dimensions)

    def step(self, device: Device) -> TrainingStep:
        """The real step."""
        return transformer_step(
            make_model(self.dimensions),
            device,
            vocab=self.dimensions.vocab,
            micro_batch=self.micro_batch,
            seq_len=SEQ_LEN,
            precision=self.precision,
        )


CASES = [
    TransformerCase(name=name, micro_batch=micro_batch, precision=precision)
    for name, micro_batch, precision in product(SIZES, (1, 4), ("fp32", "bf16"))
]
