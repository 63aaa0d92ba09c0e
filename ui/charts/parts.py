"""Parts that add up to a total: a waterfall of times, stacks of memory against a capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.quantities import show_bytes, show_duration
from ui.charts.style import ACCENT, BAD, QUIET, colour, framed
from ui.text import Words, show_share

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

SMALL = 0.01  # share of the total under which a part is drawn with the others
GIB = 2**30
BAR = 0.56  # width of a stage's bar; a narrow screen has room for a size in two of them
ROOMY = 0.3  # share of the total from which a bar holds its text, also on a telephone
_ROW = 34  # pixels


def drawn_parts(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    """Parts worth a bar, largest first, the small ones summed as `other`.

    >>> drawn_parts({"a": 90.0, "b": 9.5, "c": 0.4, "d": 0.1, "e": 0.0})
    [('a', 90.0), ('b', 9.5), ('other', 0.5)]
    """
    total = sum(parts.values())
    ordered = sorted(parts.items(), key=lambda item: -item[1])
    large = [(name, value) for name, value in ordered if value >= SMALL * total]
    small = [(name, value) for name, value in ordered if 0 < value < SMALL * total]
    if len(small) == 1:
        return large + small
    rest = sum(value for _, value in small)
    return [*large, ("other", rest)] if rest else large


def waterfall(
    parts: Mapping[str, float], words: Words, *, group: str, low: float, high: float
) -> Figure:
    """Times in seconds one after the other, and their total with its 80 % interval."""
    import plotly.graph_objects as go

    drawn = drawn_parts(parts)
    total = sum(parts.values())
    names = [words.name(group, name) for name, _ in drawn]
    starts = [sum(value for _, value in drawn[:index]) for index in range(len(drawn))]
    texts = [words.number(show_duration(value)) for _, value in drawn]
    figure = go.Figure(
        go.Bar(
            y=names,
            x=[value for _, value in drawn],
            base=starts,
            orientation="h",
            marker_color=[colour(name) for name, _ in drawn],
            text=texts,
            textposition=["inside" if value > ROOMY * total else "outside" for _, value in drawn],
            textangle=0,
            cliponaxis=False,
            customdata=[words.number(show_share(value / total)) for _, value in drawn],
            hovertemplate="%{y}: %{text}, %{customdata}<extra></extra>",
        )
    )
    figure.add_bar(
        y=[f"<b>{words('plan.total')}</b>"],
        x=[total],
        orientation="h",
        marker_color=QUIET,
        error_x=_whisker(total, low, high),
        hovertemplate=f"{words.show(show_duration, total, low, high)}<extra></extra>",
    )
    framed(figure, height=_ROW * (len(drawn) + 1) + 56)
    figure.update_yaxes(autorange="reversed", showgrid=False)
    figure.update_xaxes(range=[0, max(high, total) * 1.06], **_ticks(max(high, total), words))
    return figure


def _whisker(value: float, low: float, high: float) -> dict[str, Any]:
    return {
        "type": "data",
        "symmetric": False,
        "array": [high - value],
        "arrayminus": [value - low],
        "thickness": 1.6,
        "width": 6,
        "color": ACCENT,
    }


def _ticks(most: float, words: Words) -> dict[str, Any]:
    """Ticks of a time axis in the unit that suits its length."""
    scale, unit = next(
        (size, unit)
        for least, size, unit in (
            (2 * 86400.0, 86400.0, "days"),
            (2 * 3600.0, 3600.0, "h"),
            (120.0, 60.0, "min"),
            (1.0, 1.0, "s"),
            (0.0, 1e-3, "ms"),
        )
        if most >= least
    )
    step = _round_step(most / scale / 5)
    values = [index * step for index in range(int(most / scale / step) + 1)]
    return {
        "tickvals": [value * scale for value in values],
        "ticktext": [words.number(f"{value:,.6g} {unit}") for value in values],
    }


def _round_step(raw: float) -> float:
    """The next of 1, 2, 5 times a power of ten.

    >>> _round_step(3.3), _round_step(0.07)
    (5.0, 0.1)
    """
    power = 10.0 ** len(str(int(raw))) / 10 if raw >= 1 else 1.0
    while raw < power:
        power /= 10
    return next(round(power * each, 12) for each in (1, 2, 5, 10) if power * each >= raw)


def memory_stack(
    stages: Sequence[Mapping[str, Any]],
    words: Words,
    *,
    capacity: float,
    low: float,
    high: float,
) -> Figure:
    """Bytes of each pipeline stage, part on part, under the line of what the device has."""
    import plotly.graph_objects as go

    figure = go.Figure()
    names = [words.name("stage", str(stage["stage"])) for stage in stages]
    names = [words("plan.device")] if len(stages) == 1 else names
    peak = max(high, capacity, *(stage["peak_bytes"] for stage in stages))
    for part in stages[0]["parts"]:
        sizes = [stage["parts"].get(part, 0.0) for stage in stages]
        if any(sizes):
            label = words.name("memory", part)
            figure.add_bar(
                x=list(range(len(names))),
                y=[size / GIB for size in sizes],
                width=BAR,
                marker={"color": colour(part), "line": {"width": 0}},
                text=[_inside(label if len(names) == 1 else "", size, peak) for size in sizes],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                customdata=[show_bytes(size) for size in sizes],
                hovertemplate=f"{label}, %{{customdata}}<extra></extra>",
            )
    _interval(figure, stages, low, high)
    _capacity_line(figure, capacity, words, crossed=peak > capacity)
    framed(figure, height=400)
    figure.update_layout(barmode="stack", margin_t=30)
    figure.update_yaxes(range=[0, peak / GIB * 1.08], ticksuffix=" GiB", nticks=6)
    figure.update_xaxes(
        range=[-0.5, len(names) - 0.5],
        tickvals=list(range(len(names))),
        ticktext=names,
        showgrid=False,
    )
    return figure


def _inside(label: str, size: float, peak: float) -> str:
    """What stands in a part that is high enough for a line of text."""
    return f"{label} {show_bytes(size)}".strip() if size > 0.05 * peak else ""


def _interval(figure: Figure, stages: Sequence[Mapping[str, Any]], low: float, high: float) -> None:
    """The 80 % interval of the fullest stage, beside its bar."""
    fullest = max(range(len(stages)), key=lambda index: stages[index]["peak_bytes"])
    peak = stages[fullest]["peak_bytes"] / GIB
    figure.add_scatter(
        x=[fullest + BAR / 2 + 0.05],
        y=[peak],
        mode="markers",
        marker={"size": 1, "color": QUIET},
        error_y=_whisker(peak, low / GIB, high / GIB) | {"color": QUIET, "width": 10},
        hoverinfo="skip",
    )


def _capacity_line(figure: Figure, capacity: float, words: Words, *, crossed: bool) -> None:
    """The line and its name, which goes above the figure where bars cross the line."""
    figure.add_hline(y=capacity / GIB, line={"color": BAD, "width": 2, "dash": "dash"})
    name = words("plan.capacity", size=show_bytes(capacity))
    figure.add_annotation(
        text=f'<span style="color:{BAD}">– –</span> {name}' if crossed else name,
        xref="paper",
        x=0,
        yref="paper" if crossed else "y",
        y=1 if crossed else capacity / GIB,
        xanchor="left",
        yanchor="bottom",
        showarrow=False,
        font={"size": 12},
    )
