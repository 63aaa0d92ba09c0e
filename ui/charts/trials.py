"""Trials on their way to the best, and which settings decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.quantities import show_duration, show_energy, show_usd
from ui.charts.axes import log_reach, log_ticks
from ui.charts.style import ACCENT, AXIS, BAD, GOOD, QUIET, framed
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DAY = 86_400.0  # s
WORST = 4.0  # times the best: what is worse is cut off


def trials_figure(
    history: Sequence[Mapping[str, Any]], words: Words, *, by: str, exact: float | None
) -> Figure:
    """Every trial and the best so far, with the exact best as a line."""
    import plotly.graph_objects as go

    figure = go.Figure()
    size, show = _scale(by, words)
    for keeps, hue, symbol in ((False, BAD, "x-thin"), (True, QUIET, "circle")):
        mine = [row for row in history if row["keeps"] is keeps and math.isfinite(row["value"])]
        label = words("search.trial_keeps" if keeps else "search.trial_breaks")
        figure.add_scatter(
            x=[row["trial"] + 1 for row in mine],
            y=[row["value"] / size for row in mine],
            mode="markers",
            marker={"color": hue, "size": 6, "symbol": symbol, "line": {"color": hue, "width": 1}},
            customdata=[show(row["value"]) for row in mine],
            hovertemplate=f"%{{x}}: %{{customdata}}, {label}<extra></extra>",
        )
    best = [row for row in history if row["best"] is not None]
    figure.add_scatter(
        x=[row["trial"] + 1 for row in best],
        y=[row["best"] / size for row in best],
        mode="lines",
        line={"color": ACCENT, "width": 2.6, "shape": "hv"},
        customdata=[show(row["best"]) for row in best],
        hovertemplate=f"{words('search.best_so_far')}: %{{customdata}}<extra></extra>",
    )
    framed(figure, height=330)
    figure.update_xaxes(title=words("search.trial_axis"), rangemode="tozero")
    figure.update_yaxes(
        title=words(f"search.{by}_objective"), **_trial_range(history, exact, by, show)
    )
    if exact is not None:
        figure.add_hline(y=exact / size, line={"color": GOOD, "width": 1.6, "dash": "dash"})
        figure.add_annotation(
            text=words("search.exact_best"),
            x=1.0,
            y=math.log10(exact / size),
            xref="paper",
            xanchor="right",
            yanchor="top",
            showarrow=False,
            font={"color": GOOD, "size": 12},
        )
    return figure


def _scale(by: str, words: Words) -> tuple[float, Callable[[float], str]]:
    """What values are divided by on the axis, and how one is shown."""
    if by == "time":
        return DAY, lambda value: words.number(show_duration(value))
    if by == "value":
        return 1.0, lambda value: f"{value:.4g}"
    return 1.0, show_usd if by == "cost" else show_energy


def _trial_range(
    history: Sequence[Mapping[str, Any]],
    exact: float | None,
    by: str,
    show: Callable[[float], str],
) -> dict[str, Any]:
    """A log axis from the best to some times it: what is worse is not what one looks for."""
    size = DAY if by == "time" else 1.0
    values = [row["value"] for row in history if math.isfinite(row["value"])]
    values += [] if exact is None else [exact]
    if not values:
        return {}
    low = min(values) / size
    high = min(max(values) / size, low * WORST)
    low, high = log_reach([low, high])
    return log_ticks([low, high], lambda value: show(value * size)) | {
        "range": [math.log10(low), math.log10(high)]
    }


def importance_figure(shares: Mapping[str, float], names: Callable[[str], str]) -> Figure:
    """Which settings decide the objective, in per cent, most important on top."""
    import plotly.graph_objects as go

    ordered = sorted(shares.items(), key=lambda item: -item[1])
    figure = go.Figure()
    figure.add_bar(
        y=[names(name) for name, _ in ordered],
        x=[100 * share for _, share in ordered],
        orientation="h",
        marker_color=ACCENT,
        text=[f"{100 * share:.0f} %" if share >= 0.005 else "< 1 %" for _, share in ordered],
        textposition="outside",
        cliponaxis=False,
        hovertemplate="%{y}: %{text}<extra></extra>",
    )
    framed(figure, height=26 * len(ordered) + 60)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    most = max((100 * share for share in shares.values()), default=1.0)
    figure.update_xaxes(range=[0, 1.2 * most], ticksuffix=" %", nticks=5, tickangle=0)
    figure.add_vline(x=0, line={"color": AXIS, "width": 1.4})
    return figure
