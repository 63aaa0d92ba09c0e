"""A user's torch module from a Python file: `path/to/file.py:function`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from planner.errors import PlannerError, nearest
from planner.run.missing import MissingKeyError

BATCH, LOSS = "batch", "loss"  # functions that the file may define beside the module's


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What is trained: how to build it, its inputs, and its loss."""

    name: str
    build: Callable[[], Any]  # a torch module
    batch: Callable[[int], Any]  # inputs and targets of so many samples: a tensor or a tuple
    loss: Callable[..., Any] | None  # of the output and the batch; None: the output is the loss,
    # or its mean square where it has more than one number


def subject(name: str, input_shape: tuple[int, ...] | None = None) -> Subject:
    """Load `file.py:function`; `batch(size)` and `loss(output, *batch)` of the file are used too.

    Without `batch` the inputs are normal numbers of `input_shape`. Raises PlannerError.
    """
    file, colon, function = name.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise PlannerError("model", name, "measured trials need file.py:function")
    module = _module(Path(file), name)
    build = getattr(module, function, None)
    if not callable(build):
        known = [word for word, what in vars(module).items() if callable(what) and word[0] != "_"]
        near = ", ".join(nearest(function, known)) or "nothing near"
        raise PlannerError("model", name, f"{file} has no function {function}: it has {near}")
    batch, loss = (_function(module, each) for each in (BATCH, LOSS))
    if batch is not None and input_shape is not None:
        remedy = f"{file} defines batch(size), which says the shapes: leave this out"
        raise PlannerError("data.input_shape", ",".join(map(str, input_shape)), remedy)
    if batch is None:
        if input_shape is None:
            remedy = "say the shape of one sample, or define batch(size) in the file"
            raise MissingKeyError("data.input_shape", remedy)
        batch = _normal(input_shape)
    return Subject(name=name, build=build, batch=batch, loss=loss)


def _function(module: ModuleType, name: str) -> Callable[..., Any] | None:
    """A number of that name, such as `batch = 32`, is none of ours."""
    found = getattr(module, name, None)
    return found if callable(found) else None


def _module(path: Path, name: str) -> ModuleType:
    if not path.is_file():
        raise PlannerError("model", name, f"there is no file {path}")
    specification = importlib.util.spec_from_file_location(f"forerun_user_{path.stem}", path)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    try:
        specification.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}".splitlines()[0]
        raise PlannerError("model", name, f"cannot be loaded: {what}") from error
    return module


def _normal(shape: tuple[int, ...]) -> Callable[[int], Any]:
    def batch(size: int) -> Any:
        import torch

        return torch.randn(size, *shape)

    return batch
