"""How much of the objectives' space a set of points dominates."""

from __future__ import annotations

from collections.abc import Sequence

Vector = tuple[float, ...]


def hypervolume(points: Sequence[Vector], reference: Vector) -> float:
    """Volume between the points, all to be minimised, and a reference that is worse than each.

    Slices along the last objective (While et al. 2006, "A faster algorithm for calculating
    hypervolume"); meant for fronts of some hundred points and a few objectives.

    >>> hypervolume([(1.0, 3.0), (2.0, 1.0)], (4.0, 4.0))
    7.0
    >>> hypervolume([(0.0, 0.0, 0.0), (0.5, 0.5, 0.5)], (1.0, 1.0, 1.0))
    1.0
    """
    inside = sorted(
        {p for p in points if all(a < b for a, b in zip(p, reference, strict=True))},
        key=lambda point: point[-1],
    )
    if not inside:
        return 0.0
    if len(reference) == 1:
        return reference[0] - inside[0][0]
    total = 0.0
    for number, point in enumerate(inside):
        upper = inside[number + 1][-1] if number + 1 < len(inside) else reference[-1]
        if upper > point[-1]:
            below = [other[:-1] for other in inside[: number + 1]]
            total += (upper - point[-1]) * hypervolume(below, reference[:-1])
    return total
