"""From an amount of data and a global batch to optimizer steps, samples, tokens and epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from planner.run.missing import MissingKeyError

if TYPE_CHECKING:
    from planner.run.data import Data

AMOUNT = "say how much to train: --tokens, --samples or --epochs"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLength:
    """How long a run is. The last step may hold less than a whole batch."""

    steps: int  # optimizer steps
    samples: int  # sequences or images seen, repeats counted
    tokens: int  # tokens seen, repeats counted
    epochs: float | None  # passes over the distinct data, None where its size is not said
    unique_tokens: int | None  # distinct tokens, None where not said

    def micro_steps(self, accumulation: int) -> int:
        """Iterations of a data-parallel rank's loader: each step is `accumulation` of them."""
        return self.steps * accumulation


def run_length(data: Data, *, seq_len: int | Fraction, global_batch: int | Fraction) -> RunLength:
    """Steps that `data` takes at `global_batch` sequences of `seq_len` tokens per step.

    Both may be means, as fractions: of real lengths, and of the samples in packed rows.

    A step is one optimizer update of the whole global batch, whatever share of it is accumulated
    or lies on other devices. Raises PlannerError when `data` does not say how much to train.

    >>> from planner.run import Data
    >>> one_epoch = Data(epochs=1, dataset_samples=240_000)
    >>> length = run_length(one_epoch, seq_len=1024, global_batch=8 * 1 * 4)
    >>> length.steps, length.micro_steps(accumulation=4)
    (7500, 30000)
    """
    assert seq_len > 0
    assert global_batch > 0
    tokens, samples = _amount(data, seq_len)
    unique = _unique_tokens(data, seq_len)
    return RunLength(
        steps=math.ceil(samples / global_batch),
        samples=math.ceil(samples),
        tokens=math.ceil(tokens),
        epochs=float(tokens / unique) if unique else None,
        unique_tokens=unique,
    )


def _amount(data: Data, seq_len: int | Fraction) -> tuple[Fraction, Fraction]:
    """Tokens and samples of the whole run, exact."""
    if data.tokens is not None:
        return Fraction(data.tokens), Fraction(data.tokens) / seq_len
    if data.samples is not None:
        return Fraction(data.samples * seq_len), Fraction(data.samples)
    if data.epochs is not None:
        epochs = Fraction(data.epochs)
        if data.dataset_samples is not None:
            samples = epochs * data.dataset_samples
            return samples * seq_len, samples
        assert data.dataset_tokens is not None
        tokens = epochs * data.dataset_tokens
        return tokens, tokens / seq_len
    raise MissingKeyError("data.tokens", AMOUNT)


def _unique_tokens(data: Data, seq_len: int | Fraction) -> int | None:
    if data.unique_tokens is not None:
        return data.unique_tokens
    if data.dataset_samples is not None:
        return round(data.dataset_samples * seq_len)
    return data.dataset_tokens
