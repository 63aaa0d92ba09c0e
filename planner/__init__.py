"""forerun: does a training run fit, how long will it take, what will it cost, and how sure is that.

The names below are imported when they are first used, so that `import planner` costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.errors import PlannerError
    from planner.planning.plan import plan
    from planner.run import Layout, Run

__version__ = "0.1.0"

_HOMES = {
    "Layout": "planner.run",
    "Model": "planner.engine.model",
    "PlannerError": "planner.errors",
    "Run": "planner.run",
    "plan": "planner.planning.plan",
}

__all__ = ["Layout", "Model", "PlannerError", "Run", "plan"]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'planner' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
