"""What each change does to the time and the cost of the run, in percent, around zero."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import TYPE_CHECKING

from ui.charts.style import ACCENT, AXIS, framed
from ui.options import machines_named
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

    from ui.answers import Advised

MONEY = "#e0862f"
LINE = 18  # letters of a change's name before it is broken, so that bars keep their room


def tornado(rows: Sequence[Advised], words: Words) -> Figure:
    """One pair of bars a change, best first; to the left is saved, to the right is added."""
    import plotly.graph_objects as go

    figure = go.Figure()
    names = ["<br>".join(wrap(machines_named(each.words), LINE)) for each in rows]
    series = (
        ("plan.time", ACCENT, [each.time for each in rows]),
        ("plan.cost", MONEY, [each.cost for each in rows]),
    )
    for key, hue, shares in series:
        moved = [None if share is None else -100 * share for share in shares]
        figure.add_bar(
            y=names,
            x=moved,
            name=words(key),
            orientation="h",
            marker_color=hue,
            text=[_label(words(key), value) for value in moved],
            textposition="outside",
            cliponaxis=False,
            hovertemplate="%{y}: %{text}<extra></extra>",
        )
    framed(figure, height=54 * len(rows) + 48)
    figure.update_layout(bargap=0.34, bargroupgap=0.08)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    ends = [value for bar in figure.data for value in bar.x if value is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = 0.6 * (high - low)  # of a label outside a bar on a narrow screen
    figure.update_xaxes(
        range=[low - room * (low < 0), high + room * (high > 0)], ticksuffix=" %", nticks=6
    )
    figure.add_vline(x=0, line={"color": AXIS, "width": 1.4})
    return figure


def _label(name: str, value: float | None) -> str:
    """Name and change, nothing where nothing changes."""
    if value is None or abs(value) < 0.5:
        return ""
    return f"{name} {'+' if value > 0 else '−'}{abs(value):.0f} %"
