"""Which precision to train in on a part: decided by what its hardware computes, not by software.

`torch.cuda.is_bf16_supported()` says yes where bf16 is only emulated; compute capability does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hardware_db import Accelerator

TENSOR_CORES = (7, 0)  # compute capability from which fp16 products run on tensor cores


@dataclass(frozen=True, slots=True, kw_only=True)
class Advised:
    """A precision of the run file and how a person says it."""

    precision: str
    words: str


def advised_precision(part: Accelerator) -> Advised:
    """bf16 where the hardware has it; else fp16 with loss scaling on tensor cores; else fp32.

    >>> from hardware_db import accelerator
    >>> advised_precision(accelerator("t4")).words
    'fp16 with loss scaling'
    >>> advised_precision(accelerator("a100-sxm4-80gb")).words
    'bf16'
    """
    if part.supports("bf16") == "native" and part.peak("bf16") is not None:
        return Advised(precision="bf16", words="bf16")
    if part.compute_capability is not None and part.compute_capability >= TENSOR_CORES:
        return Advised(precision="fp16", words="fp16 with loss scaling")
    if part.peak("fp16") is not None and part.supports("fp16") == "native":
        return Advised(precision="fp32", words="fp32 or fp16 with loss scaling (no tensor cores)")
    return Advised(precision="fp32", words="fp32")
