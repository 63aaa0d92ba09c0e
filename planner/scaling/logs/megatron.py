"""Megatron-LM and Megatron-DeepSpeed: fields between pipes, one line per logging interval.

`iteration 100/ 5000 | consumed samples: 25600 | elapsed time per iteration (ms): 842.1 |
learning rate: 1.0E-04 | lm loss: 4.2E+00 | ...`; the time is in milliseconds in one version and in
seconds in another, as the label says. Validation: `validation loss at iteration 1000 | lm loss
value: 3.9E+00 | lm loss PPL: 4.9E+01 |`.
"""

from __future__ import annotations

import re

from planner.scaling.logs.keyed import Grammar, Key, read_keyed
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "megatron"
_LINE = re.compile(r"iteration\s+\d+\s*/\s*(\d+) \|")
_LOSS = re.compile(r"\| ([A-Za-z][\w \-]*(?:loss|perplexity)): ")
_VALIDATION = re.compile(r"\b(validation|test) loss at ")
_GRAMMAR_STEPS = (
    Key(literal=b"validation loss at iteration", name="step", kind="step"),
    Key(literal=b"iteration ", name="step", kind="step"),
)
_KEYS = (
    Key(literal=b"elapsed time per iteration (ms):", name="", kind="per-step", scale=1e-3),
    Key(literal=b"elapsed time per iteration (s):", name="", kind="per-step"),
    Key(literal=b"learning rate:", name="learning rate", kind="lr"),
    Key(literal=b"consumed tokens:", name="tokens", kind="tokens"),
    Key(literal=b"lm loss value:", name="val_loss", kind="metric"),
    Key(literal=b"lm loss PPL:", name="val_perplexity", kind="metric"),
)


def recognise(source: Source) -> int:
    """How many lines of the samples are of this format."""
    return sum(
        (_LINE.search(line) or _VALIDATION.search(line)) is not None for line in source.lines
    )


def read(source: Source, sink: Sink) -> None:
    """Every field that ends in `loss`, validation losses, time, learning rate and tokens."""
    lines = [line for line in source.lines if _LINE.search(line)]
    if lines:
        total = _LINE.search(lines[-1])
        sink.total_steps = float(total.group(1)) if total else None
    found = {name for line in lines for name in _LOSS.findall(line)}
    losses = tuple(
        Key(literal=f"| {name}:".encode(), name=name, kind="metric")
        for name in sorted(found | {"lm loss"})
    )
    read_keyed(source, sink, Grammar(steps=_GRAMMAR_STEPS, keys=_KEYS + losses))
