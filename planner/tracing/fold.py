"""Two traces of one step, at two batch sizes, as quantities a + b·batch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.tracing.costs import Cost

if TYPE_CHECKING:
    from planner.tracing.recorder import Operation, Step

Affine = list[float]  # [a, b]: a + b·batch

BATCHES = (4, 8)  # samples of the two traces
CHECKED = 6  # samples of a third, which must lie on the line through both
TOLERANCE = 1e-3  # relative
MOST_ROWS = 20_000
_SHARES = (0.0, 0.02, 0.1, 0.3, 1.0)  # of the gradients that a device may keep
_MICRO_BATCHES = tuple(2.0**power for power in range(21))


class NotAffineError(Exception):
    """The step does not grow in proportion to the batch."""


def folded(small: Step, large: Step, between: Step | None) -> dict[str, Any]:
    """One variant of the table. Raises NotAffineError where the work is no line in the batch."""
    if len(small.operations) != len(large.operations) or len(small.moments) != len(large.moments):
        raise NotAffineError("the operations differ between batches of 4 and of 8")
    rows = [_row(*pair) for pair in zip(small.operations, large.operations, strict=True)]
    moments = _moments(small.moments, large.moments)
    found = {
        "rows": _grouped(rows),
        "moments": _highest(moments),
        "saved": _affine(small.saved, large.saved),
    }
    if between is not None:
        _check(found, between)
    return found


def _affine(small: float, large: float) -> Affine:
    first, second = BATCHES
    slope = (large - small) / (second - first)
    return [_whole(small - slope * first), _whole(slope)]


def _whole(value: float) -> float:
    """Without the noise of a division; exact integers stay so."""
    near = round(value)
    return float(near) if abs(value - near) < 1e-6 * max(abs(near), 1.0) else value


def _row(small: Operation, large: Operation) -> dict[str, Any]:
    one, other = small.cost, large.cost
    if (one.name, one.kind, small.direction) != (other.name, other.kind, large.direction):
        raise NotAffineError(f"{one.name} with a batch of 4 is {other.name} with a batch of 8")
    return {
        "name": one.name,
        "kind": one.kind,
        "direction": small.direction,
        "shapes": " ".join(map(_shape, small.shapes, large.shapes)),
        "flops": _affine(one.flops, other.flops),
        "bytes": _affine(one.bytes, other.bytes),
        "kernels": one.kernels,
        "width": one.width,
        "dims": _dims(one, other),
        "head_dim": one.head_dim,
        "keys": one.keys,
        "channels_last": int(one.channels_last),
    }


def _dims(one: Cost, other: Cost) -> list[Affine] | None:
    if one.dims is None or other.dims is None:
        return None
    return [_affine(*pair) for pair in zip(one.dims, other.dims, strict=True)]


def _shape(small: Sequence[int], large: Sequence[int]) -> str:
    """A tensor's shape with the batch as b.

    >>> _shape((4, 3, 224, 224), (8, 3, 224, 224)), _shape((196, 64), (392, 64))
    ('[b,3,224,224]', '[49b,64]')
    """
    sides = []
    for one, other in zip(small, large, strict=False):
        base, slope = _affine(one, other)
        factor = "" if slope == 1 else f"{slope:g}"
        grown = f"{factor}b" + (f"{base:+g}" if base else "")
        sides.append(f"{one}" if one == other else grown)
    return f"[{','.join(sides)}]"


def _grouped(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Equal operations once, with their number, in the order of their first."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        kept = found.setdefault(repr(row), {**row, "count": 0})
        kept["count"] += 1
    if len(found) > MOST_ROWS:
        raise NotAffineError(f"more than {MOST_ROWS:,} different operations")
    return list(found.values())


def _moments(
    small: list[tuple[int, int]], large: list[tuple[int, int]]
) -> list[tuple[float, float, float]]:
    """(a, b, gradients) of each moment: a + b·batch bytes of activations, bytes of gradients."""
    return [
        (*_affine(one[0], other[0]), float(one[1]))  # type: ignore[misc]
        for one, other in zip(small, large, strict=True)
    ]


def _highest(moments: list[tuple[float, float, float]]) -> list[list[float]]:
    """The moments at which memory can be highest, for any batch and share of gradients."""
    distinct = list(dict.fromkeys(moments))
    kept = {
        max(distinct, key=lambda each: each[0] + each[1] * batch + each[2] * share)
        for batch in _MICRO_BATCHES
        for share in _SHARES
    }
    return [list(each) for each in distinct if each in kept]


def _check(found: dict[str, Any], step: Step) -> None:
    """A third trace must lie on the line, in FLOP, traffic and memory."""
    rows = found["rows"]
    for name in ("flops", "bytes"):
        line = sum((a + b * CHECKED) * row["count"] for row in rows for a, b in [row[name]])
        _close(name, line, sum(getattr(each.cost, name) for each in step.operations))
    highest = max(a + b * CHECKED + gradients for a, b, gradients in found["moments"])
    _close("memory", highest, max((a + g for a, g in step.moments), default=0))


def _close(name: str, line: float, traced: float) -> None:
    if abs(line - traced) > TOLERANCE * max(abs(traced), 1.0):
        raise NotAffineError(
            f"its {name} with a batch of {CHECKED} is {traced:.6g}, not the {line:.6g} that "
            f"batches of {BATCHES[0]} and {BATCHES[1]} lead to"
        )
