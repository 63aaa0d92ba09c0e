"""Peak of a real step on torch's CPU allocator, with nothing between torch and it.

A dispatch mode, which every tracker is, could change what torch allocates (autograd adds in place
less often under one) and does not see workspaces inside kernels. The profiler's allocation events
see the allocator itself, for configurations small enough to compute.
"""

from __future__ import annotations

import torch
from torch.profiler import ProfilerActivity, profile

from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.trace import Step


class _NoTracker:
    """What a step reports to when no one listens."""

    def __init__(self) -> None:
        self.live = {"activations": 0, "gradients": 0}

    def label(self, tensors, kind: str) -> None:  # type: ignore[no-untyped-def]
        for _ in tensors:
            pass

    def enter_phase(self, phase: str) -> None:
        pass


def peak_bytes(case: Case) -> int:
    """Highest allocated bytes of one steady step, really computed on the CPU."""
    step = Step(case, _NoTracker())
    tokens = torch.zeros(case.micro_batch, case.seq_len, dtype=torch.long)
    targets = torch.zeros(case.tokens, dtype=torch.long)
    step.run(tokens, targets)
    for parameter in step.trainable:
        parameter.grad = None  # the profiler does not see what it saw no allocation of
    standing = _standing_bytes(step) + tokens.nbytes + targets.nbytes
    with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as profiler:
        step.run(tokens, targets)
    return standing + _highest_sum(_allocations(profiler))


def _standing_bytes(step: Step) -> int:
    tensors = [*step.model.parameters(), *step.state_tensors()]
    if step.masters:
        tensors += [*step.masters.masters, *(m.grad for m in step.masters.masters)]
    storages = {t.untyped_storage()._cdata: t.untyped_storage().nbytes() for t in tensors}
    return sum(storages.values())


def _allocations(profiler: profile) -> list[int]:
    """Bytes allocated (+) and freed (−) in their order."""
    events = profiler.profiler.kineto_results.events()
    memory = sorted((e for e in events if e.name() == "[memory]"), key=lambda e: e.start_ns())
    return [event.nbytes() for event in memory]


def _highest_sum(changes: list[int]) -> int:
    total = highest = 0
    for change in changes:
        total += change
        highest = max(highest, total)
    return highest
