"""Any other line that names a step and a metric: nanoGPT, torchtitan, printed dictionaries, Keras.

The keys are found in samples of the log, then searched for in the whole of it.
"""

from __future__ import annotations

import re

from planner.scaling.logs.keyed import Grammar, Key, read_keyed
from planner.scaling.logs.sink import Sink
from planner.scaling.logs.source import Source

FORMAT = "key-value lines"
_NUMBER = r"(?=[-+]?(?:\.?\d|nan\b|inf\b))"
_GAP = r"(?:['\"]?\s*[:=]\s*['\"]?|[ \t]+)"
_METRIC_WORD = (
    r"(?:loss|nll|ppl|perplexity|acc|accuracy|auc|wer|cer|bleu|rouge|f1|bpb|bpc|error"
    r"|iou|mae|mse|rmse)"
)
_METRIC = re.compile(
    rf"(?<![\w/.-])((?:(?:train|training|valid|validation|val|eval|test|dev) )?"
    rf"(?:[\w./-]*(?:loss|accuracy)|(?:[\w./-]*[_/.-])?{_METRIC_WORD})(?:_\w+)?)({_GAP}){_NUMBER}",
    re.IGNORECASE,
)
_STEP = re.compile(
    rf"(?<![\w/.-])((?:global_?|training_?|num_?)?(?:steps?|iterations?|iter|updates?))"
    rf"((?:['\"]?\s*[:=#]\s*['\"]?|[ \t\[(]+)){_NUMBER}",
    re.IGNORECASE,
)
_EPOCH = re.compile(rf"(?<![\w/.-])(epoch)((?:['\"]?\s*[:=#]\s*['\"]?|[ \t\[(]+)){_NUMBER}", re.I)
_RATE = re.compile(rf"(?<![\w/.-])(lr|learning[_ ]rate)({_GAP}){_NUMBER}", re.IGNORECASE)
_TOKENS = re.compile(rf"(?<![\w/.-])((?:consumed|total)[_ ]tokens)({_GAP}){_NUMBER}", re.IGNORECASE)


def recognise(source: Source) -> int:
    """How many lines of the samples tell a metric, where any line tells a step or an epoch."""
    lines = [line for line in source.lines if _METRIC.search(line)]
    placed = any(_STEP.search(line) or _EPOCH.search(line) for line in source.lines)
    return len(lines) if placed else 0


def read(source: Source, sink: Sink) -> None:
    """The metrics, against steps where lines tell them and against epochs where not."""
    told = [line for line in source.lines if _METRIC.search(line)]
    pattern, carry = _placed_by(told, source.lines)
    sink.axis = "step" if pattern is _STEP else "epoch"
    if sink.axis == "epoch":
        sink.note("the lines tell no step: points are placed by epoch")
    where = source.lines if carry else [line for line in told if pattern.search(line)]
    grammar = Grammar(
        steps=_keys(pattern, where, "step"),
        keys=(
            *_keys(_METRIC, told if carry else where, "metric"),
            *_keys(_RATE, where, "lr"),
            *_keys(_TOKENS, where, "tokens"),
        ),
        carry_step=carry,
    )
    read_keyed(source, sink, grammar)


def _placed_by(told: list[str], lines: list[str]) -> tuple[re.Pattern[str], bool]:
    """What places a metric, and whether it stands on an earlier line."""
    for some, carry in ((told, False), (lines, True)):
        for pattern in (_STEP, _EPOCH):
            if any(pattern.search(line) for line in some):
                return pattern, carry
    return _EPOCH, True


def _keys(pattern: re.Pattern[str], lines: list[str], kind: str) -> tuple[Key, ...]:
    """One key for each literal text that the pattern finds before a number."""
    literals: dict[str, str] = {}
    for line in lines:
        for name, gap in pattern.findall(line):
            literals.setdefault(name + gap.rstrip(" \t"), name)
    return tuple(
        Key(literal=literal.encode(), name=name.strip().replace(" ", "_"), kind=kind)
        for literal, name in literals.items()
    )
