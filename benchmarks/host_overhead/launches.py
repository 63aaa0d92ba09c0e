"""How many kernels and collectives a layer launches, counted at the dispatcher."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode

from benchmarks.host_overhead.style import Style, Tower
from benchmarks.host_overhead.timing import LONG, SHORT

WITHOUT_KERNEL = (
    "empty", "detach", "_unsafe_view", "alias", "lift_fresh", "resize_", "set_", "new_empty",
    "_local_scalar_dense", "is_same_size", "prim", "chunk",
)  # fmt: skip
COLLECTIVE = ("c10d", "_c10d_functional")


class Counter(TorchDispatchMode):
    """Counts operations that reach a kernel, and collectives."""

    def __init__(self) -> None:
        super().__init__()
        self.kernels, self.collectives = 0, 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace in COLLECTIVE:
            self.collectives += 1
        elif not func.is_view and not func._schema.name.split("::")[1].startswith(WITHOUT_KERNEL):
            self.kernels += 1
        return func(*args, **(kwargs or {}))


def counted(run: Callable[[], Any]) -> tuple[Any, tuple[int, int]]:
    """The result of `run`, with kernels and collectives."""
    with Counter() as counter:
        result = run()
    return result, (counter.kernels, counter.collectives)


def passes(tower: Tower) -> tuple[int, ...]:
    """Kernels and collectives of one forward, then of one backward pass."""
    for parameter in tower.parameters:
        parameter.grad = None
    out, forward = counted(tower.forward)
    _, backward = counted(lambda: out.backward(out.detach()))
    return (*forward, *backward)


def per_layer(style: Style, recompute: bool) -> list[float]:
    """The same of one layer."""
    short, long = (style.build(count, recompute) for count in (SHORT, LONG))
    pairs = zip(_warm(short), _warm(long), strict=True)
    return [(b - a) / (LONG - SHORT) for a, b in pairs]


def _warm(tower: Tower) -> tuple[int, ...]:
    passes(tower)
    return passes(tower)


def launches(style: Style) -> dict[str, float | None]:
    """Kernels and collectives of one layer by pass; None where nothing can be counted."""
    names = ("forward", "backward", "recompute")
    if not style.countable:
        return {f"{kind}_{name}": None for kind in ("kernels", "collectives") for name in names}
    plain = per_layer(style, False)
    again = per_layer(style, True) if style.recomputes else None
    result: dict[str, float | None] = {}
    for offset, kind in enumerate(("kernels", "collectives")):
        result[f"{kind}_forward"], result[f"{kind}_backward"] = plain[offset], plain[2 + offset]
        both = again[offset] + again[2 + offset] if again else None
        extra = None if both is None else both - plain[offset] - plain[2 + offset]
        result[f"{kind}_recompute"] = extra
    return result
