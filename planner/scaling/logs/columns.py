"""What a named column of a table is: step, clock, rate, counter or metric."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_STEP_NAMES = (
    "step", "_step", "global_step", "trainer/global_step", "train/global_step", "steps",
    "iteration", "iterations", "iter", "update", "updates", "num_updates", "batch",
)  # fmt: skip
_EPOCH_NAMES = ("epoch", "train/epoch", "epochs", "_epoch")
_SECONDS_NAMES = (
    "_runtime", "runtime", "elapsed", "elapsed_seconds", "elapsed_s", "seconds", "time_s",
    "train_time_s", "relative time (process)", "wall_seconds", "wall", "time", "_timestamp",
    "timestamp", "wall time", "wall_time",
)  # fmt: skip
_MILLISECONDS_NAMES = ("elapsed_ms", "train_time_ms", "time_ms")
_PER_STEP_NAMES = ("step_time", "seconds_per_step", "step_seconds", "iter_time", "time_per_step")
_TOKENS_NAMES = (
    "total_tokens", "throughput/total_tokens", "consumed_tokens", "tokens_seen",
    "num_input_tokens_seen", "train/num_input_tokens_seen", "num_tokens", "train/tokens", "tokens",
)  # fmt: skip
_TOKENS_PER_STEP_NAMES = ("batch_size_in_tokens", "tokens_per_step", "tokens_per_batch")
_RATE = re.compile(r"(?:^|[/_.-])(?:lr|learning[ _]rate)(?:$|[/_.-])|^lr", re.IGNORECASE)
_NOT_RATE = re.compile(r"peak|max|initial|base", re.IGNORECASE)
_IGNORED = re.compile(r"__(?:MIN|MAX)$|^Unnamed|^$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column that is read, and as what."""

    index: int
    name: str
    kind: str  # of `Sink.add`
    scale: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Columns:
    """The columns of a table that matter, and those that were left out."""

    step: int
    axis: str  # step or epoch
    read: tuple[Column, ...]
    ignored: tuple[str, ...]


def classify(names: Sequence[str]) -> Columns | None:
    """What each column is; None where no column counts steps or epochs.

    >>> found = classify(["step", "lr", "val_loss", "_runtime"])
    >>> [(column.name, column.kind) for column in found.read]
    [('_runtime', 'elapsed'), ('lr', 'lr'), ('val_loss', 'metric')]
    """
    lower = [name.strip().lower() for name in names]
    step, axis = _first(lower, _STEP_NAMES), "step"
    if step is None:
        step, axis = _first(lower, _EPOCH_NAMES), "epoch"
    if step is None:
        return None
    special = _special(names, lower)
    taken = {step} | {column.index for column in special}
    places = [i for i, name in enumerate(lower) if name in _STEP_NAMES + _EPOCH_NAMES]
    clocks = [i for i, name in enumerate(lower) if name in _SECONDS_NAMES + _MILLISECONDS_NAMES]
    left = [i for i in range(len(names)) if i not in taken | set(places) | set(clocks)]
    ignored = tuple(names[i] for i in left if _IGNORED.search(names[i]))
    metrics = tuple(
        Column(index=i, name=names[i].strip(), kind="metric")
        for i in left
        if not _IGNORED.search(names[i])
    )
    return Columns(step=step, axis=axis, read=special + metrics, ignored=ignored)


def _special(names: Sequence[str], lower: list[str]) -> tuple[Column, ...]:
    rules = (
        ("elapsed", _first(lower, _SECONDS_NAMES), 1.0),
        ("elapsed", _first(lower, _MILLISECONDS_NAMES), 1e-3),
        ("per-step", _first(lower, _PER_STEP_NAMES), 1.0),
        ("lr", _rate(lower), 1.0),
        ("tokens", _first(lower, _TOKENS_NAMES), 1.0),
        ("tokens-per-step", _first(lower, _TOKENS_PER_STEP_NAMES), 1.0),
    )
    return tuple(
        Column(index=index, name=names[index], kind=kind, scale=scale)
        for kind, index, scale in rules
        if index is not None
    )


def _first(lower: list[str], wanted: Sequence[str]) -> int | None:
    for name in wanted:
        if name in lower:
            return lower.index(name)
    return None


def _rate(lower: list[str]) -> int | None:
    found = [i for i, name in enumerate(lower) if _RATE.search(name)]
    plain = [i for i in found if not _NOT_RATE.search(lower[i])]
    return plain[0] if plain else None
