"""The process that runs the user's file: `python -m planner.tracing.child REQUEST ANSWER`.

Reads a request and writes an answer, both JSON files. Whatever goes wrong is an answer too: one
line that names the field, the value and the remedy.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from planner.errors import PlannerError

_DATA_DEPENDENT = ("DataDependentOutputException", "DynamicOutputShapeException")
_DATA_REMEDY = (
    "its work depends on the data (a branch, a shape or .item() on a tensor's values), so no "
    "table describes it: trace the part that does not"
)
_HINTS = {  # by what torch says
    "UninitializedParameter": "has lazy parameters, whose sizes nothing tells: say them",
    "cuda": "puts tensors on a CUDA device: tracing has none, leave the device to the caller",
    "CUDA": "puts tensors on a CUDA device: tracing has none, leave the device to the caller",
}


def main(request_file: str, answer_file: str) -> int:
    """Trace what the request names and write the answer."""
    request = json.loads(Path(request_file).read_text(encoding="utf-8"))
    try:
        answer = _answer(request)
    except PlannerError as error:
        answer = _refusal(error.field, error.value, error.remedy)
    except MemoryError:
        answer = _refusal("model", request["model"], "needs more memory than tracing may take")
    except Exception as error:
        answer = _refusal("model", request["model"], _remedy(error))
    Path(answer_file).write_text(json.dumps(answer, allow_nan=False), encoding="utf-8")
    return 0


def _refusal(field: str, value: object, remedy: str) -> dict[str, Any]:
    said = None if value is None else str(value)
    return {"error": {"field": field, "value": said, "remedy": remedy}}


def _remedy(error: Exception) -> str:
    """What to say of an exception out of the user's code or of torch."""
    from planner.tracing.fold import NotAffineError
    from planner.tracing.recorder import TooManyOperationsError
    from planner.tracing.steps import NotAModuleError

    chain: list[BaseException] = [error]
    while cause := chain[-1].__cause__ or chain[-1].__context__:
        chain.append(cause)
    if any(type(each).__name__ in _DATA_DEPENDENT for each in chain):
        return _DATA_REMEDY
    if isinstance(error, NotAModuleError):
        return str(error)
    for sign, hint in _HINTS.items():
        if any(sign in _text(each) for each in chain):
            return hint
    if isinstance(error, NotAffineError):
        return f"does not grow in proportion to the batch: {error}"
    if isinstance(error, TooManyOperationsError):
        return str(error)
    return f"raises {type(error).__name__}: {_text(error) or 'no message'}".splitlines()[0][:300]


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # of the user's own class
        return ""


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    from planner.search.module_file import subject

    shape = request["input_shape"]
    warnings.simplefilter("ignore")
    return table(
        subject(request["model"], None if shape is None else tuple(shape)), request["formats"]
    )


def table(
    subject: Any, formats: Sequence[str], recomputes: Sequence[str] = ("none", "full")
) -> dict[str, Any]:
    """The module's table in each of `formats`, without recomputation and with all of it."""
    import torch

    from planner.tracing.fold import BATCHES, CHECKED, folded
    from planner.tracing.steps import traced

    torch.set_num_threads(1)
    variants: dict[str, dict[str, Any]] = {}
    module: Any = None
    for number_format in formats:
        variants[number_format] = {}
        for recompute in recomputes:
            checked = module is None  # once: the lines are the same in every format
            batches = (*BATCHES, CHECKED) if checked else BATCHES
            made, steps = traced(subject, number_format, recompute, batches)
            module = made if checked else module
            between = steps[2] if checked else None
            variants[number_format][recompute] = folded(steps[0], steps[1], between)
    return {**counts(module), "torch": torch.__version__, "variants": variants}


def counts(module: Any) -> dict[str, Any]:
    """Parameters and buffers, each once however often it is used, and the units of sharding."""
    from planner.tracing.steps import units

    parameters = list(module.parameters())
    buffers = list({id(each): each for each in module.buffers()}.values())
    sizes = [_own(each) for each in dict.fromkeys(units(module))]
    return {
        "params": sum(each.numel() for each in parameters),
        "trainable": sum(each.numel() for each in parameters if each.requires_grad),
        "tensors": len(parameters),
        "largest": max(each.numel() for each in parameters),
        "buffer_bytes": sum(each.numel() * each.element_size() for each in buffers),
        "units": len([each for each in sizes if each]),
        "unit": max(sizes),
    }


def _own(unit: Any) -> int:
    return sum(each.numel() for each in unit.parameters())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
