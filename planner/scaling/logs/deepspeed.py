"""DeepSpeed's own lines.

The pipeline engine prints `steps: 10 loss: 4.1234 iter time (s): 0.512 samples/sec: 62.5`; every
engine prints `step=10, skipped=0, lr=[0.0001], mom=[...]`.
"""

from __future__ import annotations

import re

from planner.scaling.logs.keyed import Grammar, Key, read_keyed
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "deepspeed"
_LINE = re.compile(r"\bsteps: \d+ loss: \S+ iter time \((s|ms)\):|\bstep=\d+, skipped=\d+, lr=\[")
_GRAMMAR = Grammar(
    steps=(
        Key(literal=b"steps: ", name="step", kind="step"),
        Key(literal=b"step=", name="step", kind="step"),
    ),
    keys=(
        Key(literal=b" loss: ", name="train_loss", kind="metric"),
        Key(literal=b"iter time (s):", name="", kind="per-step"),
        Key(literal=b"iter time (ms):", name="", kind="per-step", scale=1e-3),
        Key(literal=b"lr=[", name="learning rate", kind="lr"),
    ),
)


def recognise(source: Source) -> int:
    """How many lines of the samples are of this format."""
    return sum(_LINE.search(line) is not None for line in source.lines)


def read(source: Source, sink: Sink) -> None:
    """Training loss, seconds per step, learning rate of the first group."""
    read_keyed(source, sink, _GRAMMAR)
