"""Layers under PyTorch's two generations of fully sharded data parallelism.

The process group is one whose collectives do nothing: what remains is the host's work.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from benchmarks.host_overhead import composer, titan
from benchmarks.host_overhead.kernels import process_group
from benchmarks.host_overhead.style import BATCH, HIDDEN, SEQUENCE, Tower

RANKS = 8


def build_fsdp2(layers: int, recompute: bool) -> Tower:
    """The torchtitan layer, each sharded per parameter with `fully_shard`."""
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    process_group(RANKS)
    mesh = init_device_mesh("cpu", (RANKS,))
    modules = titan.stack(layers, recompute, lambda module: fully_shard(module, mesh=mesh))
    root = fully_shard(titan.Chain(modules), mesh=mesh)
    return titan.tower(modules, root)


def build_fsdp1(layers: int, recompute: bool) -> Tower:
    """The MPT layer, each flattened into one parameter, in 16 bit, as Composer wraps it."""
    from torch.distributed.algorithms._checkpoint.checkpoint_wrapper import checkpoint_wrapper
    from torch.distributed.fsdp import FullyShardedDataParallel, MixedPrecision

    group = process_group(RANKS)
    formats = MixedPrecision(param_dtype=torch.bfloat16, reduce_dtype=torch.bfloat16)

    def wrap(module: nn.Module) -> nn.Module:
        return FullyShardedDataParallel(
            module, process_group=group, mixed_precision=formats, device_id=torch.device("cpu")
        )

    modules = nn.ModuleList()
    for _ in range(layers):
        made: nn.Module = composer.Layer()
        modules.append(wrap(checkpoint_wrapper(made) if recompute else made))
    root = wrap(titan.Chain(modules))

    def forward() -> Tensor:
        x = torch.zeros(BATCH, SEQUENCE, HIDDEN, dtype=torch.bfloat16, requires_grad=True)
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            out: Tensor = root(x)
            return out

    return Tower(forward=forward, parameters=tuple(root.parameters()))
