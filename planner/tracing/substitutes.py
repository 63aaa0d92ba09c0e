"""What stands for parts of torch while a module is traced on fake tensors."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode

_DROPOUT, _ATTENTION = functional.dropout, functional.scaled_dot_product_attention


class AsOnAccelerator(TorchFunctionMode):
    """Functions that a processor runs as several operations and an accelerator as one.

    Dropout keeps a mask of one byte an element; attention's own dropout keeps nothing.
    """

    def __torch_function__(self, call: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        given = kwargs or {}
        if call is _DROPOUT:
            return _dropout(*args, **given)
        if call is _ATTENTION:
            return _attention(*args, **given)
        return call(*args, **given)


def _attention(*args: Any, **given: Any) -> Any:
    return _ATTENTION(*args[:4], **(given | {"dropout_p": 0.0} | _causal(args)))


def _causal(args: Any) -> dict[str, bool]:
    return {"is_causal": args[5]} if len(args) > 5 else {}


def _dropout(
    input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False
) -> torch.Tensor:
    if not training or p == 0:
        return input
    return torch.native_dropout(input, p, True)[0]


@contextmanager
def substitutes() -> Iterator[None]:
    """All of them, for as long as the context is entered.

    A mode does not see what a function of torch that is written in Python calls itself, such as
    that of nn.MultiheadAttention: there the names are replaced.
    """
    places: tuple[tuple[Any, str, Any], ...] = (
        (functional, "dropout", _dropout),
        (functional, "scaled_dot_product_attention", _attention),
        (torch.nn.Module, "_apply", _applier()),
    )
    kept = [getattr(owner, name) for owner, name, _ in places]
    for owner, name, other in places:
        setattr(owner, name, other)
    try:
        with AsOnAccelerator():
            yield
    finally:
        for (owner, name, _), old in zip(places, kept, strict=True):
            setattr(owner, name, old)


def _applier() -> Callable[..., torch.nn.Module]:
    """Conversion of a module: `.to(...)`, `.float()`, `.half()`.

    Torch exchanges the contents of two tensors, which fake ones do not allow; here a converted
    parameter takes the place of the old one, wherever that is used.
    """
    made: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # the old one is kept: ids are reused

    def converted(old: torch.Tensor, convert: Callable[[torch.Tensor], torch.Tensor]) -> Any:
        if id(old) in made:
            return made[id(old)][1]
        with torch.no_grad():
            new = convert(old)
        if new is old:
            return old
        made[id(old)] = (old, torch.nn.Parameter(new, requires_grad=old.requires_grad))
        return made[id(old)][1]

    def apply(module: Any, convert: Callable[[Any], Any], recurse: bool = True) -> Any:
        for child in module.children() if recurse else ():
            child._apply(convert)
        for name, parameter in module._parameters.items():
            if parameter is not None:
                module._parameters[name] = converted(parameter, convert)
        for name, buffer in module._buffers.items():
            if buffer is not None:
                module._buffers[name] = convert(buffer)
        return module

    return apply
