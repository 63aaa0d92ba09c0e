"""A log-log line figure as SVG, with nothing but text."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

_WIDTH, _HEIGHT = 720, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 190, 40, 55
_COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")  # told apart by the colour-blind too
_DASHES = ("", "6 4", "2 3", "8 3 2 3")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One curve; points with a value of None are left out."""

    name: str
    points: Sequence[tuple[float, float | None]]

    @property
    def known(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in self.points if y is not None and y > 0]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Axis:
    low: float
    high: float
    start: float  # pixels
    end: float

    def at(self, value: float) -> float:
        share = math.log(value / self.low) / math.log(self.high / self.low)
        return self.start + share * (self.end - self.start)


def svg(title: str, x_label: str, y_label: str, lines: Sequence[Line]) -> str:
    """The figure as one SVG document; both axes are logarithmic."""
    xs = [x for line in lines for x, _ in line.known]
    ys = [y for line in lines for _, y in line.known]
    assert xs, "a figure needs points"
    across = _Axis(low=min(xs) / 1.1, high=max(xs) * 1.1, start=_LEFT, end=_WIDTH - _RIGHT)
    up = _Axis(
        low=10 ** math.floor(math.log10(min(ys))),
        high=10 ** math.ceil(math.log10(max(ys) * 1.001)),
        start=_HEIGHT - _BOTTOM,
        end=_TOP,
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" '
        'font-family="sans-serif" font-size="12">',
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="white"/>',
        _text(_LEFT, 22, title, size=14),
        *_ticks(across, up, sorted(set(xs))),
        *(_curve(i, line, across, up) for i, line in enumerate(lines)),
        _text((_LEFT + _WIDTH - _RIGHT) / 2, _HEIGHT - 12, x_label, anchor="middle"),
        f'<g transform="translate(18 {(_TOP + _HEIGHT - _BOTTOM) / 2}) rotate(-90)">'
        f"{_text(0, 0, y_label, anchor='middle')}</g>",
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _ticks(across: _Axis, up: _Axis, sides: list[float]) -> list[str]:
    found = []
    power = up.low
    while power <= up.high * 1.001:
        y = up.at(power)
        found.append(f'<path d="M{_LEFT} {y:.1f}H{_WIDTH - _RIGHT}" stroke="#ddd"/>')
        found.append(_text(_LEFT - 8, y + 4, f"{power:g}", anchor="end"))
        power *= 10
    placed = -1e9
    for side in sides:
        x = across.at(side)
        if x - placed >= 45:
            found.append(_text(x, _HEIGHT - _BOTTOM + 18, f"{side:g}", anchor="middle"))
            placed = x
    return found


def _curve(index: int, line: Line, across: _Axis, up: _Axis) -> str:
    colour, dash = _COLOURS[index % 4], _DASHES[index % 4]
    pixels = [(across.at(x), up.at(y)) for x, y in line.known]
    path = "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in pixels)
    dots = "".join(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in pixels)
    stroke = f'stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"'
    beside = _WIDTH - _RIGHT + 12
    y = _TOP + 20 * index + 6
    key = f'<path d="M{beside} {y}h24" {stroke}/>{_text(beside + 30, y + 4, line.name)}'
    return f'<path d="{path}" fill="none" {stroke}/>{dots}{key}'


def _text(x: float, y: float, text: str, *, anchor: str = "start", size: int = 12) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" font-size="{size}">'
        f"{escape(text)}</text>"
    )
