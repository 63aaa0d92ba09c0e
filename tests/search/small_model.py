"""A small language model for measured trials."""

from __future__ import annotations

import torch
from torch import nn

VOCAB, WIDTH, LENGTH = 64, 32, 16


class Tiny(nn.Module):
    """Embedding, one block, output."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCAB, WIDTH)
        self.block = nn.TransformerEncoderLayer(WIDTH, 2, 64, dropout=0.0, batch_first=True)
        self.output = nn.Linear(WIDTH, VOCAB)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.output(self.block(self.embedding(tokens)))


class Greedy(Tiny):
    """Runs out of memory where more than two sequences run side by side."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        if len(tokens) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        return super().forward(tokens)


class Rough(Tiny):
    """Wrong in anything narrower than FP32."""

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        result = super().forward(tokens)
        return result if result.dtype == torch.float32 else result * 3


def tiny() -> nn.Module:
    return Tiny()


def greedy() -> nn.Module:
    return Greedy()


def rough() -> nn.Module:
    return Rough()


def not_a_module() -> str:
    return "no"


def batch(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(0, VOCAB, (size, LENGTH + 1))
    return tokens[:, :-1], tokens[:, 1:]


def loss(output: torch.Tensor, tokens: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return nn.functional.cross_entropy(output.flatten(0, 1).float(), targets.flatten())
