"""Pick one candidate: the fastest that fits, or the one that comes nearest."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from planner.engine.configuration import Configuration
from planner.engine.constants import Constants
from planner.engine.evaluate import Evaluation, evaluate
from planner.planning.candidates import Candidates


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The chosen candidate with what the engine says about it."""

    configuration: Configuration
    evaluation: Evaluation  # of the whole batch
    index: int
    count: int  # candidates compared
    fits: bool


def choose(pool: Candidates, c: Constants) -> Choice:
    """The fastest candidate that fits; the fullest memory decides when none does."""
    evaluation = evaluate(pool.batch, c)
    fits = evaluation.peak <= evaluation.capacity
    if np.any(fits):
        index = int(np.argmin(np.where(fits, evaluation.seconds, np.inf)))
    else:
        index = int(np.argmin(evaluation.peak / evaluation.capacity))
    return Choice(
        configuration=pool.configuration(index),
        evaluation=evaluation,
        index=index,
        count=pool.batch.size,
        fits=bool(fits[index]),
    )
