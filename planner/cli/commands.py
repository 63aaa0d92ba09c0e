"""The commands by name. Their help stands here too, so that `forerun --help` imports none."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol, cast

from planner.errors import PlannerError, nearest

if TYPE_CHECKING:
    import argparse

COMMANDS = (
    ("plan", "one run: fits, time, cost, energy, loss, intervals, advice"),
    ("search", "best configurations under constraints, Pareto front"),
    ("compare", "accelerators ranked for a run"),
    ("model", "what a model is: parameters, FLOPs per token, operation table"),
    ("hardware", "accelerators and prices"),
    ("profile", "measure this machine, write a profile"),
    ("scaling", "scaling laws: fit to runs, allocate a budget, predict a loss"),
    ("stop", "when to stop, from a training log"),
    ("batch", "critical batch, accumulation, learning rate"),
    ("validate", "our own error against published measurements"),
    ("app", "the application in a browser"),
)


class Command(Protocol):
    """What a command's module provides."""

    HELP: str

    def configure(self, parser: argparse.ArgumentParser) -> None: ...

    def run(self, args: argparse.Namespace) -> int: ...


def load(name: str) -> Command:
    """The module of a command; an unknown one is refused with the nearest names."""
    names = [known for known, _ in COMMANDS]
    if name not in names:
        near = nearest(name, names, count=1)
        guess = f"did you mean {near[0]}?" if near else f"known are {', '.join(names)}"
        raise PlannerError("command", name, guess)
    return cast("Command", import_module(f"planner.cli.{name}"))
