"""Loss against size at a budget, at several budgets, and best loss against the budget."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from planner.quantities import show_count
from ui.charts.axes import log_reach, log_ticks
from ui.charts.style import ACCENT, AXIS, BAD, DOUBT, GOOD, framed
from ui.scaling_view import Curve, FrontierRow, Point, View
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

FAN = "rgba(47,127,214,0.14)"
NEAR = "rgba(23,156,109,0.13)"  # the near-optimal band
_LINES = ("#8fc1f2", "#5aa2ea", "#1f5ca8", "#8b6fd1")  # cheaper to dearer than the budget
_HEADROOM = 0.25  # of the best loss: losses far above it would flatten the curve


def _known(curve: Curve) -> list[Point]:
    return [point for point in curve.points if point.loss is not None]


def size_figure(view: View, words: Words) -> Figure:
    """Loss against size: the near-optimal band shaded, misfits crossed, the run marked."""
    import plotly.graph_objects as go

    figure, curve = go.Figure(), view.curve
    figure.add_vrect(x0=view.band[0], x1=view.band[1], fillcolor=NEAR, line_width=0, layer="below")
    _line(figure, curve, words, ACCENT, width=2.4, markers=view.asked.unit != "flops")
    misfits = [point.params for point in curve.points if point.does_not_fit]
    if misfits:
        top = _reach([curve])[1]
        _dots(figure, misfits, [top] * len(misfits), words("scaling.does_not_fit"), BAD, "x")
    if view.own is not None and view.own.loss is not None:
        text = words("scaling.your_run")
        _mark(figure, view.own.params, view.own.loss, text, DOUBT, "diamond", "top center")
    best = words("scaling.best")
    _mark(figure, curve.params, curve.loss, best, GOOD, "circle", "bottom center")
    _frame_sizes(figure, [curve], words, height=460)
    return figure


def isoflop_figure(view: View, words: Words, show: Callable[[float], str]) -> Figure:
    """One curve a budget, named by what it costs, and the line through their optima."""
    import plotly.graph_objects as go

    figure = go.Figure()
    curves = sorted((view.curve, *view.others), key=lambda curve: curve.amount)
    spare = iter(_LINES)
    for curve in curves:
        own = curve is view.curve
        hue = ACCENT if own else next(spare)
        _line(figure, curve, words, hue, width=2.6 if own else 1.5, name=show(curve.amount))
    figure.add_scatter(
        x=[curve.params for curve in curves],
        y=[curve.loss for curve in curves],
        mode="lines+markers+text",
        text=[show(curve.amount) for curve in curves],
        textposition="top right",  # between its curve and the cheaper one
        line={"color": AXIS, "width": 1.4, "dash": "dot"},
        marker={"color": GOOD, "size": 8},
        customdata=[[show(curve.amount), show_count(curve.params)] for curve in curves],
        hovertemplate="%{customdata[0]}: %{customdata[1]}, %{y:.3f}<extra></extra>",
    )
    _frame_sizes(figure, curves, words, height=360)
    return figure


def frontier_figure(
    rows: Sequence[FrontierRow],
    words: Words,
    show: Callable[[float], str],
    *,
    here: FrontierRow,
    own: tuple[float, float] | None,
) -> Figure:
    """Best loss against the budget with its 80 % band; the budget asked for and the run, as
    (amount, loss), marked."""
    import plotly.graph_objects as go

    figure = go.Figure()
    amounts = [row.amount for row in rows]
    figure.add_scatter(
        x=[*amounts, *reversed(amounts)],
        y=[*(row.low for row in rows), *(row.high for row in reversed(rows))],
        fill="toself",
        fillcolor=FAN,
        line={"width": 0},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=amounts,
        y=[row.loss for row in rows],
        mode="lines+markers",
        line={"color": ACCENT, "width": 2.4},
        marker={"size": 5},
        customdata=[[show(row.amount), show_count(row.params), f"{row.gain:.2%}"] for row in rows],
        hovertemplate=(
            "%{customdata[0]}: %{y:.3f}<br>%{customdata[1]} "
            f"{words('scaling.params')}, {words('scaling.doubling')} −%{{customdata[2]}}"
            "<extra></extra>"
        ),
    )
    _mark(
        figure,
        here.amount,
        here.loss,
        words("scaling.this_budget"),
        GOOD,
        "circle",
        "bottom center",
    )
    if own is not None:
        _mark(figure, *own, words("scaling.your_run"), DOUBT, "diamond", "top center")
    framed(figure, height=330)
    figure.update_xaxes(title=words("scaling.budget_axis"), **log_ticks(amounts, show, most=5))
    figure.update_yaxes(title=words("plan.loss_axis"))
    return figure


def residual_figure(rows: Sequence[dict[str, Any]], words: Words) -> Figure:
    """What a fitted law misses: (predicted over observed − 1) in per cent against compute."""
    import plotly.graph_objects as go

    figure = go.Figure()
    for odd, hue, symbol in ((False, ACCENT, "circle"), (True, BAD, "x")):
        some = [row for row in rows if row["outlier"] is odd]
        figure.add_scatter(
            x=[row["flops"] for row in some],
            y=[100 * row["residual"] for row in some],
            mode="markers",
            marker={"color": hue, "size": 9 if odd else 6, "symbol": symbol, "opacity": 0.8},
            customdata=[[show_count(row["params"]), show_count(row["tokens"])] for row in some],
            hovertemplate="%{customdata[0]} × %{customdata[1]}: %{y:+.2f} %<extra></extra>",
        )
    figure.add_hline(y=0, line={"color": AXIS, "width": 1})
    framed(figure, height=330)
    flops = [row["flops"] for row in rows]
    figure.update_xaxes(
        title=words("scaling.compute_axis"),
        **log_ticks(flops, lambda value: f"{value:.0e}".replace("e+", "e")),
    )
    figure.update_yaxes(title=words("scaling.residual_axis"), ticksuffix=" %")
    return figure


def _line(
    figure: Figure,
    curve: Curve,
    words: Words,
    hue: str,
    *,
    width: float,
    markers: bool = False,
    name: str = "",
) -> None:
    known = _known(curve)
    figure.add_scatter(
        x=[point.params for point in known],
        y=[point.loss for point in known],
        mode="lines+markers" if markers else "lines",
        name=name,
        line={"color": hue, "width": width, "shape": "spline", "smoothing": 0.5},
        marker={"size": 6},
        customdata=[
            [show_count(point.params), show_count(point.tokens), point.settings] for point in known
        ],
        hovertemplate=(
            f"{name + ': ' if name else ''}%{{customdata[0]}} × %{{customdata[1]}} "
            f"{words('scaling.tokens')}, %{{y:.3f}}<br>%{{customdata[2]}}<extra></extra>"
        ),
    )


def _dots(
    figure: Figure, xs: list[float], ys: list[float], text: str, hue: str, symbol: str
) -> None:
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="markers+text",
        text=[*("" for _ in xs[1:]), text],
        textposition="bottom left",
        textfont={"color": hue, "size": 12.5},
        cliponaxis=False,
        marker={"color": hue, "size": 9, "symbol": symbol},
        customdata=[show_count(x) for x in xs],
        hovertemplate=f"%{{customdata}}: {text}<extra></extra>",
    )


def _mark(figure: Figure, x: float, y: float, text: str, hue: str, symbol: str, side: str) -> None:
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers+text",
        text=[text],
        textposition=side,
        textfont={"size": 12.5},
        marker={"color": hue, "size": 11, "symbol": symbol},
        hovertemplate=f"{text}: %{{y:.3f}}<extra></extra>",
    )


def _reach(curves: Sequence[Curve]) -> tuple[float, float]:
    """Lowest and highest loss drawn: far above the best, curves are cut."""
    losses = [point.loss for curve in curves for point in _known(curve) if point.loss]
    best, worst = min(curve.loss for curve in curves), max(curve.loss for curve in curves)
    return best, min(max(losses), worst * (1 + _HEADROOM))


def _frame_sizes(figure: Figure, curves: Sequence[Curve], words: Words, *, height: int) -> None:
    low, high = _reach(curves)
    room = 0.08 * (high - low)
    shown = [point for curve in curves for point in curve.points]
    sizes = [point.params for point in shown if point.loss is None or point.loss <= high]
    framed(figure, height=height)
    ends = [math.log10(end) for end in log_reach(sizes)]  # room for the names of points
    ticks = log_ticks(sizes, show_count)
    figure.update_xaxes(title=words("scaling.size_axis"), range=ends, **ticks)
    figure.update_yaxes(title=words("plan.loss_axis"), range=[low - 2 * room, high + room])
