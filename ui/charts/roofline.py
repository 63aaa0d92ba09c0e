"""The roofline: arithmetic intensity against rate, one marker a measured kernel."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from planner.quantities import show_duration, show_flops, show_rate
from ui.charts.axes import log_ticks
from ui.charts.style import AXIS, QUIET, colour, framed
from ui.roofline import FAMILIES, Point, Roof, Roofline, shape_text
from ui.text import Words, show_ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

_SYMBOLS = {
    "products": "circle",
    "attention": "diamond",
    "convolution": "square",
    "layer": "star",
    "other": "x",
}
_DASHES = {
    "fp64": "dot",
    "fp32": "solid",
    "tf32": "longdash",
    "fp16": "dash",
    "bf16": "dashdot",
    "fp8": "longdashdot",
    "int8": "dot",
}
_ROOM = 1.6  # times the outermost points, left free around them


def roofline_figure(found: Roofline, words: Words, *, formats: Sequence[str]) -> Figure | None:
    """Roofs of `formats` and the kernels under them, both axes logarithmic; None without points."""
    import plotly.graph_objects as go

    points = [each for each in found.points if each.result.format in formats]
    roofs = [roof for name, roof in found.roofs.items() if name in formats]
    if not points:
        return None
    figure = go.Figure()
    across = _reach([*(p.intensity for p in points), *_ridges(found, roofs)])
    top = max([p.rate for p in points] + [roof.rate for roof in roofs])
    for name in ("cache", "memory"):
        _slope(figure, getattr(found, name), across, top, words, name=name)
    for roof in roofs:
        _roof(figure, roof, found, across, words)
    for name in FAMILIES:
        own = [p for p in points if p.family == name]
        if own:
            _markers(figure, own, name, words)
            _key(figure, name, words)
    up = _reach([p.rate for p in points] + [roof.rate for roof in roofs])
    framed(figure, height=470)
    figure.update_layout(
        showlegend=True, legend={"orientation": "h", "y": -0.27, "x": 0, "itemsizing": "constant"}
    )
    figure.update_xaxes(title=words("machine.intensity_axis"), **_axis(across, show_ratio))
    figure.update_yaxes(
        title=words("machine.rate_axis"),
        **_axis(up, lambda value: show_flops(value, per_second=True)),
    )
    return figure


def _ridges(found: Roofline, roofs: Sequence[Roof]) -> list[float]:
    return [ridge for roof in roofs if (ridge := found.ridge(roof.format)) is not None]


def _reach(values: Sequence[float]) -> tuple[float, float]:
    return min(values) / _ROOM, max(values) * _ROOM


def _axis(ends: tuple[float, float], show: Callable[[float], str]) -> dict[str, Any]:
    return log_ticks(ends, show) | {"range": [math.log10(end) for end in ends]}


def _slope(
    figure: Figure,
    rate: float | None,
    across: tuple[float, float],
    top: float,
    words: Words,
    *,
    name: str,
) -> None:
    """What traffic allows: rate × intensity, up to the highest roof."""
    if rate is None:
        return
    end = min(across[1], top / rate)
    figure.add_scatter(
        x=[across[0], end],
        y=[across[0] * rate, end * rate],
        mode="lines",
        name=f"{words(f'machine.{name}_roof')} {show_rate(rate, 'B')}",
        line={"color": QUIET, "width": 2, "dash": "solid" if name == "memory" else "dot"},
        hoverinfo="skip",
    )


def _roof(
    figure: Figure, roof: Roof, found: Roofline, across: tuple[float, float], words: Words
) -> None:
    """What the arithmetic units allow, from where the memory feeds them."""
    start = max(across[0], found.ridge(roof.format) or across[0])
    name, rate = roof.format.upper(), show_flops(roof.rate, per_second=True)
    figure.add_scatter(
        x=[start, max(across[1], start)],
        y=[roof.rate, roof.rate],
        mode="lines",
        name=f"{name} {rate}",
        line={"color": colour(roof.format), "width": 2, "dash": _DASHES.get(roof.format, "solid")},
        hovertemplate=f"{words('machine.best_of', format=name)} {rate}<extra></extra>",
    )


def _markers(figure: Figure, points: Sequence[Point], name: str, words: Words) -> None:
    """All kernels of a family; the colour is their format's."""
    figure.add_scatter(
        x=[point.intensity for point in points],
        y=[point.rate for point in points],
        mode="markers",
        showlegend=False,
        marker={
            "size": 8,
            "opacity": 0.78,
            "symbol": _SYMBOLS.get(name, "x"),
            "color": [colour(point.result.format) for point in points],
            "line": {"width": 0.6, "color": AXIS},
        },
        customdata=[_told(point, words) for point in points],
        hovertemplate=(
            "%{customdata[0]}<br>%{customdata[1]}<br>%{customdata[2]}, %{customdata[3]}"
            "<br>%{x:.3g} FLOP/B<extra></extra>"
        ),
    )


def _key(figure: Figure, name: str, words: Words) -> None:
    """A family's sign in the legend, in no format's colour."""
    figure.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        name=words.name("machine_family", name),
        marker={"size": 8, "symbol": _SYMBOLS.get(name, "x"), "color": QUIET},
    )


def _told(point: Point, words: Words) -> tuple[str, str, str, str]:
    result = point.result
    return (
        f"{result.kernel} {result.format.upper()}",
        shape_text(result),
        show_flops(point.rate, per_second=True),
        words.number(show_duration(result.median_s)),
    )
