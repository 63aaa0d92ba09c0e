"""The output layer and cross-entropy in the ways that decide how many copies of the logits live."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from benchmarks.memory_truth.logits import NUM_CHUNKS, fused_linear_chunk_tokens


def eager(x: torch.Tensor, head: Callable, targets: torch.Tensor) -> tuple[torch.Tensor, None]:
    """Logits cast to FP32, torch's cross-entropy; the caller keeps no logits."""
    logits = head(x)
    logits = logits.float()
    return functional.cross_entropy(logits.flatten(0, -2), targets), None


def eager_held(x, head, targets):  # type: ignore[no-untyped-def]
    """The same with a contiguous shifted copy, and FP32 logits returned and held by the loop."""
    logits = head(x)
    logits = logits.float()
    shifted = logits.clone()
    return functional.cross_entropy(shifted.flatten(0, -2), targets), logits


def model_format(x, head, targets):  # type: ignore[no-untyped-def]
    """torch's cross-entropy on the logits as they come (FP32 under autocast)."""
    return functional.cross_entropy(head(x).flatten(0, -2), targets), None


class _VocabParallel(torch.autograd.Function):
    """Megatron's: the softmax is kept in FP32 and becomes the gradient in place."""

    @staticmethod
    def forward(ctx, logits, targets):  # type: ignore[no-untyped-def]
        shifted = logits - logits.max(dim=-1, keepdim=True).values
        predicted = shifted.gather(-1, targets[:, None])
        exponent = torch.exp(shifted, out=shifted)
        total = exponent.sum(dim=-1, keepdim=True)
        exponent.div_(total)
        ctx.save_for_backward(exponent)
        return (torch.log(total) - predicted).mean()

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        (softmax,) = ctx.saved_tensors
        return softmax.detach().mul_(grad), None


class _Compiled(torch.autograd.Function):
    """What a compiler makes of cast and cross-entropy: logits kept as they came, new gradient."""

    @staticmethod
    def forward(ctx, logits, targets):  # type: ignore[no-untyped-def]
        ctx.save_for_backward(logits, logits.new_empty(logits.shape[:-1], dtype=torch.float32))
        return logits.new_empty((), dtype=torch.float32)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return torch.empty_like(ctx.saved_tensors[0]), None


class _Fused(_Compiled):
    """One kernel (flash-attn, Transformer Engine): the gradient is written over the logits."""

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        return ctx.saved_tensors[0].detach(), None


def vocab_parallel(x, head, targets):  # type: ignore[no-untyped-def]
    """FP32 logits into the vocabulary-parallel loss (one shard)."""
    return _VocabParallel.apply(head(x).float().flatten(0, -2), targets), None


def compiled(x, head, targets):  # type: ignore[no-untyped-def]
    """Cast and cross-entropy in one compiled region."""
    return _Compiled.apply(head(x).flatten(0, -2), targets), None


def fused(x, head, targets):  # type: ignore[no-untyped-def]
    """Cross-entropy as one in-place kernel."""
    return _Fused.apply(head(x).flatten(0, -2), targets), None


def chunked(x, head, targets):  # type: ignore[no-untyped-def]
    """Eager cross-entropy over chunks of tokens, each recomputed in the backward pass."""
    pieces = zip(x.flatten(0, -2).chunk(NUM_CHUNKS), targets.chunk(NUM_CHUNKS), strict=True)
    losses = [
        checkpoint(
            lambda piece, wanted: eager(piece, head, wanted)[0],
            piece,
            wanted,
            use_reentrant=False,
            preserve_rng_state=False,
        )
        for piece, wanted in pieces
    ]
    return torch.stack(losses).sum(), None


class _FusedLinear(torch.autograd.Function):
    """Output layer and loss together: gradients are made chunk by chunk in the forward pass."""

    @staticmethod
    def forward(ctx, x, weight, targets):  # type: ignore[no-untyped-def]
        grad_x = torch.empty_like(x)
        grad_weight = torch.zeros_like(weight) if weight.requires_grad else None
        chunk = fused_linear_chunk_tokens(len(x), x.shape[1], weight.shape[0])
        for start in range(0, len(x), chunk):
            rows = slice(start, start + chunk)
            logits = x[rows] @ weight.t()
            grad_x[rows] = logits @ weight
            if grad_weight is not None:
                grad_weight += logits.t() @ x[rows]
            del logits
        ctx.save_for_backward(grad_x, grad_weight)
        return x.new_empty((), dtype=torch.float32)

    @staticmethod
    def backward(ctx, grad):  # type: ignore[no-untyped-def]
        grad_x, grad_weight = ctx.saved_tensors
        return grad_x.detach(), None if grad_weight is None else grad_weight.detach(), None


def fused_linear(x, head, targets):  # type: ignore[no-untyped-def]
    """Loss and gradients without ever holding all logits."""
    weight = head.weight.to(torch.bfloat16) if torch.is_autocast_enabled("cpu") else head.weight
    return _FusedLinear.apply(x.flatten(0, -2).to(weight.dtype), weight, targets), None


KINDS: dict[str, Callable] = {
    "eager": eager,
    "eager-held": eager_held,
    "model-format": model_format,
    "vocab-parallel": vocab_parallel,
    "compiled": compiled,
    "fused": fused,
    "chunked": chunked,
    "fused-linear": fused_linear,
}
