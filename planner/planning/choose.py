"""Pick one candidate: the fastest that surely fits, else that fits, else the nearest to fitting."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.choices import LOSSES, SHARDINGS, code
from planner.engine.configuration import Configuration
from planner.engine.constants import Constants
from planner.engine.evaluate import Evaluation, evaluate
from planner.engine.step import step_seconds
from planner.planning.candidates import Candidates
from planner.planning.intervals import Spread

if TYPE_CHECKING:
    from planner.planning.lengths import Lengths

Array = np.ndarray[Any, np.dtype[Any]]

SURE = 0.9  # probability of fitting from which a candidate is preferred
MARGINS = {"tp": 0.03, "pp": 0.05, "cp": 0.03, "ep": 0.02}
LOSS_MARGIN = 0.03  # of a loss that the user has to switch on
SHARDING_MARGINS = np.array([{"none": 0.0, "zero1": 0.01}.get(word, 0.03) for word in SHARDINGS])
"""Share of the step time that each complication of a layout must save to be chosen: the model's
step times are not sure to a few per cent, and a simpler layout is easier to run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen candidate with what the engine says about it."""

    configuration: Configuration
    evaluation: Evaluation  # of the whole batch
    index: int
    count: int  # candidates compared
    fits: bool  # by the best estimate


def choose(pool: Candidates, memory: Spread, c: Constants) -> Choice:
    """The candidate that gets through the data fastest of those that fit with `SURE`; failing that,
    of those that fit by the best estimate; failing that, the one whose memory comes nearest to
    fitting. Ties go to the simpler layout."""
    evaluation = evaluated(pool, c)
    fits = evaluation.peak <= evaluation.capacity
    index = _best(pool, evaluation, fits, memory) if pool.batch.size > 1 else 0
    return Choice(
        configuration=pool.configuration(index),
        evaluation=evaluation,
        index=index,
        count=pool.batch.size,
        fits=bool(fits[index]),
    )


def _best(pool: Candidates, evaluation: Evaluation, fits: Array, memory: Spread) -> int:
    sure = memory.high_of(evaluation.peak) <= evaluation.capacity
    allowed = sure if sure.any() else fits
    if not allowed.any():
        return int(np.argmin(evaluation.peak / evaluation.capacity))
    margins = complications(pool.batch) + unusual_loss(pool)
    worth = evaluation.seconds / rows(pool.batch) * (1 + margins)
    return int(np.argmin(np.where(allowed, worth, np.inf)))


def unusual_loss(pool: Candidates) -> Array:
    """Share of the step time that a loss other than the stack's usual one must save, (n,)."""
    usual = code(LOSSES, pool.scenario.stack.loss)
    result: Array = LOSS_MARGIN * (pool.batch.parallel.loss != usual)
    return result


def evaluated(pool: Candidates, c: Constants) -> Evaluation:
    """Step time and memory of every candidate; with real lengths the time is that of the rows as
    they are computed, while the memory is that of a row of full length."""
    batch, lengths = pool.batch, pool.scenario.lengths
    whole = evaluate(batch, c)
    if lengths is None:
        return whole
    step = step_seconds(as_computed(batch, lengths), c)
    return Evaluation(
        step=step,
        memory=whole.memory,
        moments=whole.moments,
        seconds=np.broadcast_to(step.total, (batch.size,)),
        peak=whole.peak,
        capacity=whole.capacity,
    )


def as_computed(batch: Batch, lengths: Lengths | None) -> Batch:
    """The batch that step time is computed from: with real lengths, rows as long as they are."""
    return batch if lengths is None else shortened(batch, lengths.row_tokens(side_by_side(batch)))


def rows(batch: Batch) -> Array:
    """Rows of one step, (n,): they differ where the global batch follows from other choices."""
    parallel = batch.parallel
    return np.broadcast_to(parallel.micro_batch * parallel.accumulation * parallel.dp, batch.size)


def side_by_side(batch: Batch) -> Array:
    """Rows that all ranks compute at the same time, (n,)."""
    parallel = batch.parallel
    return np.broadcast_to(parallel.micro_batch * parallel.dp, (batch.size,))


def shortened(batch: Batch, row_tokens: Array) -> Batch:
    """The batch with rows of `row_tokens` tokens, (n,), on either side of the model."""
    return batch.vary(batch.size, seq_len=row_tokens, encoder_seq_len=row_tokens)


def complications(batch: Batch) -> Array:
    """Share of the step time that each candidate's complications must save, (n,)."""
    parallel = batch.parallel
    total = sum(
        (MARGINS[name] * (getattr(parallel, name) > 1) for name in ("tp", "pp", "cp", "ep")),
        np.zeros(1),
    )
    result: Array = total + SHARDING_MARGINS[parallel.sharding]
    return result
