"""modded-nanoGPT's text log: the training script is echoed first, the data follow.

`step:125/6200 val_loss:4.81 train_time:24811ms step_avg:215.75ms`; averages are `nan` at first, and
the timer restarts after warm-up.
"""

from __future__ import annotations

import re

from planner.scaling.logs.keyed import Grammar, Key, read_keyed
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "modded-nanogpt"
_LINE = re.compile(r"step:\d+/\d+ .*(_loss|train_time):\S")
_TOTAL = re.compile(r"step:\d+/(\d+) ")
_GRAMMAR = Grammar(
    steps=(Key(literal=b"step:", name="step", kind="step", line_start=True),),
    keys=(
        Key(literal=b"val_loss:", name="val_loss", kind="metric"),
        Key(literal=b"train_loss:", name="train_loss", kind="metric"),
        Key(literal=b"train_time:", name="", kind="elapsed", scale=1e-3),
    ),
)


def recognise(source: Source) -> int:
    """How many lines of the samples are of this format."""
    return sum(_LINE.match(line) is not None for line in source.lines)


def read(source: Source, sink: Sink) -> None:
    """Losses, the timer (ms) and the planned number of steps."""
    totals = [match for line in source.lines if (match := _TOTAL.match(line))]
    if totals:
        sink.total_steps = float(totals[-1].group(1))
    echoed = sum(not line.startswith("step:") for line in source.first_lines)
    if echoed:
        sink.note("lines of echoed code before and between the data were passed over")
    read_keyed(source, sink, _GRAMMAR)
