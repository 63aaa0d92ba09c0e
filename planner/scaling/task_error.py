"""The error on downstream tasks that goes with a loss, for laws whose runs were tested on tasks."""

from __future__ import annotations

import math
import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskError:
    """Err(L) = epsilon - k·exp(-gamma·L) (Gadre et al. 2024, arXiv:2403.08540)."""

    epsilon: float  # error at chance, a share
    k: float
    gamma: float  # per nat
    tasks: str
    source: str
    trap: str

    def at(self, loss: float) -> float:
        """Error as a share, of a model with this loss in nats per token."""
        return self.epsilon - self.k * math.exp(-self.gamma * loss)


def task_error(law: str) -> TaskError | None:
    """What is known of tasks for the runs of `law`; None where nothing is.

    >>> round(task_error("gadre2024-rpj").at(2.5), 3)
    0.487
    """
    return _known().get(law)


@cache
def _known() -> dict[str, TaskError]:
    text = (resources.files("planner.scaling") / "data" / "task_errors.toml").read_text("utf-8")
    return {name: TaskError(**row) for name, row in tomllib.loads(text).items()}
