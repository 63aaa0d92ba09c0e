"""How much faster one profile is than another, one dot a kernel and shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.quantities import show_duration
from ui.charts.axes import log_ticks
from ui.charts.style import ACCENT, AXIS, QUIET, framed
from ui.profile_compare import Group
from ui.roofline import shape_text
from ui.text import Words, show_ratio

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

LEAST_SPAN = 1.25  # of the axis to both sides of 1, so that noise looks like noise


def ratio_figure(groups: Sequence[Group], words: Words) -> Figure | None:
    """Speed against the other profile by family and format, log; None without a common kernel."""
    import plotly.graph_objects as go

    if not groups:
        return None
    figure = go.Figure()
    for group in groups:
        _dots(figure, group, words)
    figure.add_scatter(
        x=[group.median for group in groups],
        y=[label(group, words) for group in groups],
        mode="markers",
        marker={
            "symbol": "line-ns",
            "size": 16,
            "line": {"width": 3, "color": ACCENT},
        },
        hovertemplate=f"%{{y}}: {words('accuracy.median_short')} %{{x:.3g}}×<extra></extra>",
    )
    figure.add_vline(x=1, line={"color": AXIS, "width": 1.4, "dash": "dash"})
    framed(figure, height=26 * len(groups) + 90)
    speeds = [pair.speed for group in groups for pair in group.pairs]
    ends = [min([*speeds, 1 / LEAST_SPAN]), max([*speeds, LEAST_SPAN])]
    figure.update_yaxes(autorange="reversed")
    figure.update_xaxes(
        title=words("machine.speed_axis"), **log_ticks(ends, lambda value: f"{show_ratio(value)}×")
    )
    return figure


def label(group: Group, words: Words) -> str:
    """A row of the figure."""
    return f"{words.name('machine_family', group.family)} {group.format.upper()}"


def _dots(figure: Figure, group: Group, words: Words) -> None:
    figure.add_scatter(
        x=[pair.speed for pair in group.pairs],
        y=[label(group, words)] * len(group.pairs),
        mode="markers",
        marker={"size": 7, "color": QUIET, "opacity": 0.55},
        customdata=[
            (
                pair.here.kernel,
                shape_text(pair.here),
                words.number(show_duration(pair.here.median_s)),
                words.number(show_duration(pair.there.median_s)),
            )
            for pair in group.pairs
        ],
        hovertemplate=(
            "%{customdata[0]} %{customdata[1]}<br>%{customdata[2]} : %{customdata[3]}"
            " = %{x:.3g}×<extra></extra>"
        ),
    )
