"""llm.c's main.log: `s:250 tel:6.4` for validation, `s:250 trl:6.3 lr:0.0006 norm:0.5`."""

from __future__ import annotations

import re

from planner.scaling.logs.keyed import Grammar, Key, read_keyed
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "llm.c"
_LINE = re.compile(r"s:\d+ (tel|trl|eval):\S")
_GRAMMAR = Grammar(
    steps=(Key(literal=b"s:", name="step", kind="step", line_start=True),),
    keys=(
        Key(literal=b"tel:", name="val_loss", kind="metric"),
        Key(literal=b"trl:", name="train_loss", kind="metric"),
        Key(literal=b"eval:", name="hellaswag_accuracy", kind="metric"),
        Key(literal=b"lr:", name="learning rate", kind="lr"),
    ),
)


def recognise(source: Source) -> int:
    """How many lines of the samples are of this format."""
    return sum(_LINE.match(line) is not None for line in source.lines)


def read(source: Source, sink: Sink) -> None:
    """`tel` is the validation loss, `trl` the training loss, `eval` HellaSwag accuracy."""
    read_keyed(source, sink, _GRAMMAR)
