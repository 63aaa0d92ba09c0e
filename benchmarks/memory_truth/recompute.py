"""Which activations of a layer are dropped and computed again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch.utils.checkpoint import (
    CheckpointPolicy,
    checkpoint,
    create_selective_checkpoint_contexts,
)

from benchmarks.memory_truth.case import Case

SAVED_ATTENTION = (
    torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default,
    torch.ops.aten._scaled_dot_product_flash_attention.default,
    torch.ops.aten._scaled_dot_product_efficient_attention.default,
)


def selective_contexts() -> tuple:
    """Keep attention outputs and every second matrix product, as torchtitan's default does."""
    products = {True: 0, False: 0}  # seen so far, by "is this the recomputation"

    def policy(ctx, op, *args, **kwargs):  # type: ignore[no-untyped-def]
        if op in SAVED_ATTENTION:
            return CheckpointPolicy.MUST_SAVE
        if op is not torch.ops.aten.mm.default:
            return CheckpointPolicy.PREFER_RECOMPUTE
        products[ctx.is_recompute] += 1
        keep = products[ctx.is_recompute] % 2 == 1
        return CheckpointPolicy.MUST_SAVE if keep else CheckpointPolicy.PREFER_RECOMPUTE

    return create_selective_checkpoint_contexts(policy)


def caller(case: Case) -> Callable:
    """How a layer is called: directly, or under full or per-operation checkpointing."""
    plain = partial(checkpoint, use_reentrant=False, preserve_rng_state=False)
    if case.recompute == "full":
        return plain
    if case.recompute == "selective-ops":
        return partial(plain, context_fn=selective_contexts)
    return lambda layer, *args: layer(*args)
