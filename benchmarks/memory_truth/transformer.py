"""A decoder whose every part is chosen by a case."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from benchmarks.memory_truth import losses, recompute
from benchmarks.memory_truth.attention import Attention, drop
from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.experts import MixtureOfExperts
from benchmarks.memory_truth.feedforward import feed_forward
from benchmarks.memory_truth.linear import WEIGHT_FORMATS, AdaptedLinear, Linear
from benchmarks.memory_truth.norms import KINDS as NORMS


class Layer(nn.Module):
    """Pre-norm attention and feed-forward network, each with its residual."""

    def __init__(self, case: Case) -> None:
        super().__init__()
        dtype = WEIGHT_FORMATS[case.precision]
        self.case = case
        self.attention_norm = NORMS[case.norm](case.hidden, dtype)
        self.attention = Attention(case)
        self.ffn_norm = NORMS[case.norm](case.hidden, dtype)
        self.ffn = MixtureOfExperts(case) if case.n_experts else feed_forward(case, case.ffn_hidden)

    def forward(
        self,
        x: torch.Tensor,
        rotary: tuple[torch.Tensor, torch.Tensor] | None,
        mask: torch.Tensor | None,
    ) -> torch.Tensor:
        x = x + drop(self.attention(self.attention_norm(x), rotary, mask), self.case)
        return x + drop(self.ffn(self.ffn_norm(x)), self.case)


class Transformer(nn.Module):
    """Embedding, layers, final norm, output layer and loss. `mark(name)` is called at borders."""

    def __init__(self, case: Case, mark: Callable[[str], None]) -> None:
        super().__init__()
        self.case, self.mark, self.dtype = case, mark, WEIGHT_FORMATS[case.precision]
        self.embedding = nn.Parameter(torch.empty(case.vocab, case.hidden, dtype=self.dtype))
        if case.positions == "learned":
            self.positions = nn.Parameter(torch.empty(case.seq_len, case.hidden, dtype=self.dtype))
        self.layers = nn.ModuleList(Layer(case) for _ in range(case.layers))
        self.final_norm = NORMS[case.norm](case.hidden, self.dtype)
        self.head = Linear(case.hidden, case.vocab, False, self.dtype)
        if case.tied:
            self.head.weight = self.embedding
        self.call_layer = recompute.caller(case)
        if case.task == "lora":
            freeze_base(self)

    def forward(
        self, tokens: torch.Tensor, targets: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor | None]:
        x = nn.functional.embedding(tokens, self.embedding)
        if self.case.positions == "learned":
            x = x + self.positions
        x = drop(x, self.case)
        rotary, mask = self._rotary(), self._mask()
        self.mark("layer")
        for layer in self.layers:
            x = self.call_layer(layer, x, rotary, mask)
            self.mark("layer")
        x = self.final_norm(x)
        self.mark("head-forward")
        if x.requires_grad:
            x.register_hook(lambda _: self.mark("layers-backward"))
        loss = losses.KINDS[self.case.loss](x, self.head, targets)
        self.mark("head-backward")
        return loss

    def _rotary(self) -> tuple[torch.Tensor, torch.Tensor] | None:
        if self.case.positions != "rotary":
            return None
        shape = (self.case.seq_len, self.case.head_dim)
        return torch.empty(shape, dtype=self.dtype), torch.empty(shape, dtype=self.dtype)

    def _mask(self) -> torch.Tensor | None:
        if not self.case.attention.startswith("eager"):
            return None
        return torch.empty(self.case.seq_len, self.case.seq_len, dtype=self.dtype)


def freeze_base(model: nn.Module) -> None:
    """Leave only adapters trainable."""
    model.requires_grad_(False)
    for module in model.modules():
        if isinstance(module, AdaptedLinear):
            module.down.requires_grad_(True)
            module.up.requires_grad_(True)
