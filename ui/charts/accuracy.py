"""Predicted against measured, on logarithmic axes, one marker a published run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ui.charts.style import ACCENT, AXIS, framed
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

GIB = 2**30
_SYMBOLS = ("circle", "diamond", "square", "cross", "x", "triangle-up", "star", "hexagon")
_HUES = ("#2f7fd6", "#e0862f", "#179c6d", "#8b6fd1", "#b55a86", "#3aa5b8", "#b8812e", "#737d8c")


def against_measured(rows: Sequence[dict[str, Any]], words: Words, *, kind: str) -> Figure:
    """Rows of `forerun validate` of one kind: time in seconds or memory in GiB.

    On the diagonal the prediction is right; between the dotted lines it is within a factor 1.25.
    """
    import plotly.graph_objects as go

    size = GIB if kind == "memory" else 1.0
    unit = "GiB" if kind == "memory" else "s"
    figure = go.Figure()
    for index, source in enumerate(dict.fromkeys(row["source"] for row in rows)):
        own = [row for row in rows if row["source"] == source]
        figure.add_scattergl(
            x=[row["actual"] / size for row in own],
            y=[row["predicted"] / size for row in own],
            mode="markers",
            name=source,
            marker={
                "size": 6,
                "opacity": 0.72,
                "color": _HUES[index % len(_HUES)],
                "symbol": _SYMBOLS[index // len(_HUES) % len(_SYMBOLS)],
            },
            customdata=[[row["id"], f"{row['ape']:.0%}"] for row in own],
            hovertemplate=(
                f"{source} %{{customdata[0]}}<br>%{{x:.3g}} {unit} → %{{y:.3g}} {unit}"
                " (%{customdata[1]})<extra></extra>"
            ),
        )
    _diagonals(figure, rows, size)
    framed(figure, height=500)
    figure.update_layout(showlegend=True, legend={"orientation": "h", "y": -0.25, "x": 0})
    ticks = log_ticks([row[name] / size for row in rows for name in ("actual", "predicted")])
    figure.update_xaxes(type="log", title=f"{words('accuracy.measured')}, {unit}", **ticks)
    figure.update_yaxes(type="log", title=f"{words('accuracy.predicted')}, {unit}", **ticks)
    return figure


def log_ticks(values: Sequence[float]) -> dict[str, Any]:
    """Ticks at powers of ten; at 1, 2 and 5 times each where the values span two decades or less.

    >>> log_ticks([0.4, 3000.0])["ticktext"]
    ['1', '10', '100', '1,000']
    """
    first, last = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    steps = (1, 2, 5) if math.log10(max(values) / min(values)) <= 2 else (1,)
    ticks = [step * 10.0**power for power in range(first, last + 1) for step in steps]
    inside = [tick for tick in ticks if min(values) <= tick <= max(values)]
    return {"tickvals": inside, "ticktext": [f"{tick:,.6g}" for tick in inside]}


def _diagonals(figure: Figure, rows: Sequence[dict[str, Any]], size: float) -> None:
    values = [row[name] / size for row in rows for name in ("actual", "predicted")]
    ends = [min(values), max(values)]
    for factor, dash in ((1.0, "solid"), (1.25, "dot"), (0.8, "dot")):
        figure.add_scatter(
            x=ends,
            y=[end * factor for end in ends],
            mode="lines",
            line={"color": ACCENT if dash == "solid" else AXIS, "width": 1.2, "dash": dash},
            showlegend=False,
            hoverinfo="skip",
        )


def errors_by_source(sources: Sequence[tuple[str, float, float]], words: Words) -> Figure:
    """Median and 90th percentile of the error (fractions) of each source, best on top."""
    import plotly.graph_objects as go

    ordered = sorted(sources, key=lambda row: row[1])
    names = [name.partition(" (")[0] for name, _, _ in ordered]
    figure = go.Figure()
    for name, (_, median, ninety) in zip(names, ordered, strict=True):
        figure.add_scatter(
            x=[median * 100, ninety * 100],
            y=[name, name],
            mode="lines",
            line={"color": AXIS, "width": 2},
            hoverinfo="skip",
        )
    for label, position, symbol in (
        ("accuracy.median", 1, "circle"),
        ("accuracy.p90", 2, "line-ns"),
    ):
        figure.add_scatter(
            x=[row[position] * 100 for row in ordered],
            y=names,
            mode="markers",
            marker={
                "color": ACCENT,
                "size": 10,
                "symbol": symbol,
                "line": {"width": 2, "color": ACCENT},
            },
            hovertemplate=f"%{{y}}: {words(label)} %{{x:.3g}} %<extra></extra>",
        )
    framed(figure, height=24 * len(names) + 70)
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(
        ticksuffix=" %", rangemode="tozero", nticks=5, tickangle=0, title=words("accuracy.error")
    )
    return figure
