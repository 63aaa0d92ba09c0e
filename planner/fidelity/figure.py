"""Predicted against measured as an SVG of two panels: the same numbers give the same file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from planner.fidelity.scores import Row

GIB = 2.0**30

WIDTH, HEIGHT = 860, 476  # pixels
TOP, LEFT, SIZE, GAP = 44, 58, 330, 92  # of the panels, pixels
LEGEND = 6  # sources that get a colour of their own; the rest share one
COLOURS = ("#2f7fd6", "#e0862f", "#179c6d", "#8b6fd1", "#b55a86", "#3aa5b8")
OTHERS = "#737d8c"
BAND = 1.25  # factor of the dotted lines about the diagonal


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One kind of measurement on logarithmic axes of equal range."""

    title: str
    unit: str
    left: float  # pixels
    low: int  # decades
    high: int
    points: tuple[tuple[str, float, float], ...]  # source, measured, predicted, in the unit

    def across(self, value: float) -> float:
        """Pixels from the left edge of the drawing."""
        return self.left + SIZE * (math.log10(value) - self.low) / (self.high - self.low)

    def down(self, value: float) -> float:
        """Pixels from the upper edge of the drawing."""
        return TOP + SIZE * (1 - (math.log10(value) - self.low) / (self.high - self.low))


def figure(times: Sequence[Row], peaks: Sequence[Row]) -> str:
    """Step times in seconds and peaks in GiB; a dot is a published run."""
    panels = [
        _panel("step time", "s", LEFT, [(row.source, row.actual, row.predicted) for row in times]),
        _panel(
            "peak memory",
            "GiB",
            LEFT + SIZE + GAP,
            [(row.source, row.actual / GIB, row.predicted / GIB) for row in peaks],
        ),
    ]
    colours = _colours([*times, *peaks])
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"'
        ' font-family="sans-serif" font-size="12">'
        '<rect width="100%" height="100%" fill="#fff"/>'
    )
    parts = [line for panel in panels for line in (*_axes(panel), *_dots(panel, colours))]
    return "\n".join([head, *parts, *_legend(colours), "</svg>"]) + "\n"


def _panel(title: str, unit: str, left: float, points: Sequence[tuple[str, float, float]]) -> Panel:
    values = [value for _, *pair in points for value in pair]
    return Panel(
        title=title,
        unit=unit,
        left=left,
        low=math.floor(math.log10(min(values, default=1.0))),
        high=math.ceil(math.log10(max(values, default=10.0) * 1.001)),
        points=tuple(points),
    )


def _colours(rows: Sequence[Row]) -> dict[str, str]:
    """A colour for each source, by its number of rows."""
    sources = [row.source for row in rows]
    names = sorted(set(sources), key=lambda name: (-sources.count(name), name))
    own = dict(zip(names[:LEGEND], COLOURS, strict=False))
    return {name: own.get(name, OTHERS) for name in names}


def _axes(panel: Panel) -> list[str]:
    right, bottom = panel.left + SIZE, TOP + SIZE
    lines = [
        f'<text x="{panel.left}" y="{TOP - 14}" font-size="14">{panel.title}, {panel.unit}</text>'
    ]
    for decade in range(panel.low, panel.high + 1):
        x, y = panel.across(10.0**decade), panel.down(10.0**decade)
        label = f"{10.0**decade:g}"
        lines += [
            f'<path d="M{x:.1f} {TOP}V{bottom}M{panel.left} {y:.1f}H{right}" stroke="#ddd"/>',
            f'<text x="{x:.1f}" y="{bottom + 16}" text-anchor="middle">{label}</text>',
            f'<text x="{panel.left - 6}" y="{y + 4:.1f}" text-anchor="end">{label}</text>',
        ]
    middle = panel.left + SIZE / 2
    lines += [_diagonal(panel, 1.0), _diagonal(panel, BAND), _diagonal(panel, 1 / BAND)]
    lines.append(f'<text x="{middle}" y="{bottom + 34}" text-anchor="middle">measured</text>')
    return lines


def _diagonal(panel: Panel, factor: float) -> str:
    """The line of predictions that are `factor` times the measurement, inside the panel."""
    shift = math.log10(factor)
    first = 10 ** (panel.low + max(0.0, -shift))
    last = 10 ** (panel.high - max(0.0, shift))
    dash = "" if factor == 1 else ' stroke-dasharray="3 3"'
    start = f"M{panel.across(first):.1f} {panel.down(first * factor):.1f}"
    end = f"L{panel.across(last):.1f} {panel.down(last * factor):.1f}"
    return f'<path d="{start}{end}" stroke="#555"{dash}/>'


def _dots(panel: Panel, colours: dict[str, str]) -> list[str]:
    """One path a source; rows that fall on the same half pixel are one dot."""
    found: dict[str, dict[tuple[float, float], None]] = {}
    for source, measured, predicted in panel.points:
        place = _half(panel.across(measured)), _half(panel.down(predicted))
        found.setdefault(source, {})[place] = None
    lines = []
    for source in (name for name in colours if name in found):
        path = "".join(f"M{x:g} {y:g}h0" for x, y in sorted(found[source]))
        lines.append(
            f'<path d="{path}" stroke="{colours[source]}" stroke-width="4"'
            ' stroke-linecap="round" stroke-opacity="0.6" fill="none"/>'
        )
    return lines


def _half(pixels: float) -> float:
    return round(pixels * 2) / 2


def _legend(colours: dict[str, str]) -> list[str]:
    named = [(name, colour) for name, colour in colours.items() if colour != OTHERS]
    entries = named + ([("others", OTHERS)] if len(named) < len(colours) else [])
    x, y = float(LEFT), HEIGHT - 46
    lines: list[str] = []
    for name, colour in entries:
        label = name.split(" (")[0]
        width = 30 + 6.4 * len(label)
        if x + width > WIDTH:
            x, y = float(LEFT), y + 18
        lines.append(
            f'<circle cx="{x:.1f}" cy="{y - 4}" r="4" fill="{colour}"/>'
            f'<text x="{x + 9:.1f}" y="{y}">{escape(label)}</text>'
        )
        x += width
    lines.append(
        f'<text x="{LEFT}" y="{HEIGHT - 8}" fill="#555">predicted upwards; dotted: a factor of'
        f" {BAND:g} off</text>"
    )
    return lines
