"""Loss against training tokens, with where the run ends and where training on brings little."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from planner.quantities import show_count
from ui.charts.style import ACCENT, DOUBT, framed
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure


def loss_figure(
    curve: Sequence[dict[str, Any]],
    words: Words,
    *,
    tokens: float,
    loss: float,
    stop_tokens: float | None,
) -> Figure:
    """`curve` holds tokens, loss (nats per token), low and high; the axis of tokens is log."""
    import plotly.graph_objects as go

    figure = go.Figure()
    xs = [row["tokens"] for row in curve]
    bounds = [*(row["low"] for row in curve), *(row["high"] for row in reversed(curve))]
    figure.add_scatter(
        x=[*xs, *reversed(xs)],
        y=bounds,
        fill="toself",
        fillcolor="rgba(47,127,214,0.14)",
        line={"width": 0},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=xs,
        y=[row["loss"] for row in curve],
        mode="lines",
        line={"color": ACCENT, "width": 2.4},
        customdata=[words.number(show_count(x, "tokens")) for x in xs],
        hovertemplate="%{customdata}: %{y:.3f}<extra></extra>",
    )
    _mark(figure, tokens, loss, words("plan.run_ends"), ACCENT, "circle", "bottom left")
    if stop_tokens and xs[0] < stop_tokens < xs[-1]:
        at = min(curve, key=lambda row: abs(row["tokens"] / stop_tokens - 1))
        _mark(
            figure, stop_tokens, at["loss"], words("plan.stop_here"), DOUBT, "diamond", "top right"
        )
    framed(figure, height=330)
    figure.update_xaxes(type="log", title=words("plan.tokens_axis"), **_decades(xs))
    figure.update_yaxes(title=words("plan.loss_axis"))
    return figure


def _mark(
    figure: Figure, x: float, y: float, text: str, colour: str, symbol: str, side: str
) -> None:
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[text],
        textposition=side,
        textfont={"size": 12.5},
        marker={"color": colour, "size": 11, "symbol": symbol, "line": {"width": 0}},
        hovertemplate=f"{text}: {show_count(x)}, %{{y:.3f}}<extra></extra>",
    )


def _decades(xs: Sequence[float]) -> dict[str, Any]:
    """Ticks at 1, 2 and 5 times each power of ten inside the range, few enough to read."""
    import math

    first, last = math.floor(math.log10(xs[0])), math.ceil(math.log10(xs[-1]))
    ticks = [each * 10.0**power for power in range(first, last + 1) for each in (1, 3)]
    inside = [tick for tick in ticks if xs[0] <= tick <= xs[-1]]
    return {"tickvals": inside, "ticktext": [show_count(tick) for tick in inside]}
