"""The best configuration of a run under memory, money, time and energy, proved to be the best.

The package can be called: after `from planner import search`, `search(run)` is
`planner.search.search(run)`.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from planner.search.exhaustive import search

__all__ = ["search"]


class _CallableModule(ModuleType):
    """This package as a function: the name `planner.search` stands for both."""

    def __call__(self, *args: Any, **settings: Any) -> Any:
        return search(*args, **settings)


sys.modules[__name__].__class__ = _CallableModule
