"""Days against dollars: every accelerator and number of it, the front drawn, size by energy."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from planner.quantities import show_duration, show_energy, show_usd
from ui.charts.axes import FEWEST_TICKS, MOST_TICKS, log_ticks
from ui.charts.style import ACCENT, BAD, DOUBT, GOOD, QUIET, framed
from ui.choose_view import Dot
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DAY = 86_400.0  # s
SMALLEST, LARGEST, UNKNOWN_SIZE = 7.0, 26.0, 9.0  # px across
LOG_FROM = 8.0  # span from which on an axis is logarithmic
REACH = 12.0  # times the ends of the front, beyond which a point is not drawn
MOST_LABELS = 6
APART = 0.42, 0.07  # of the figure's width and height, between two labels on a telephone
ROOM = 0.09  # of an axis, beyond the outermost value
TIMES = (  # days: minutes, hours, days, years
    *(1 / 1440, 5 / 1440, 15 / 1440, 30 / 1440, 2 / 24, 6 / 24, 12 / 24),
    *(1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0),
    *(365.25 * years for years in (1, 2, 5, 10, 20, 50, 100)),
)
_LOOKS = (  # status, colour, symbol, opacity, least size
    ("broken", BAD, "x-thin", 0.55, 0.0),
    ("beaten", QUIET, "circle", 0.4, 0.0),
    ("front", GOOD, "diamond", 0.95, 9.0),
    ("best", DOUBT, "star", 1.0, 17.0),
)
_SPARE_WORDS = re.compile(r" \([^)]*\)| \d+ ?GB")  # of names, in labels


def status_of(dot: Dot) -> str:
    """best, front, beaten or broken (a limit)."""
    if dot.best:
        return "best"
    if not dot.kept:
        return "broken"
    return "front" if dot.front else "beaten"


def near(dots: Sequence[Dot]) -> list[Dot]:
    """The dots worth drawing: what is a dozen times slower or dearer than all of the front, or
    slower and dearer than it and over a limit, would only press the others together."""
    front = [dot for dot in dots if dot.front]
    if not front:
        return list(dots)
    slowest, dearest = _days(front[-1]), float(front[0].row["usd"])
    found = []
    for dot in dots:
        reach = REACH if dot.kept else REACH / 4
        if dot.best or (_days(dot) <= slowest * reach and dot.row["usd"] <= dearest * reach):
            found.append(dot)
    return found


def choose_figure(
    dots: Sequence[Dot],
    words: Words,
    *,
    name: Callable[[Mapping[str, Any]], str],
    days: float | None,
    usd: float | None,
) -> Figure:
    """Markers by status, the front as a line with labels; `days` and `usd` are limits, drawn.

    `customdata` begins with the key of the configuration, for the page to know what was clicked.
    """
    import plotly.graph_objects as go

    figure = go.Figure()
    front = [dot for dot in dots if dot.front]
    figure.add_scatter(
        x=[_days(dot) for dot in front],
        y=[dot.row["usd"] for dot in front],
        mode="lines",
        line={"color": GOOD, "width": 1.8},
        hoverinfo="skip",
        showlegend=False,
    )
    most = max((dot.row["kwh"] or 0.0 for dot in dots), default=0.0)
    for look in _LOOKS:
        mine = [dot for dot in dots if status_of(dot) == look[0]]
        mine.sort(key=lambda dot: dot.row["kwh"] is None)  # the legend shows the first
        if mine:
            _markers(figure, mine, words, name, look=look, most_kwh=most)
    _framed(figure, dots, words, {"x": days, "y": usd})
    for dot in labelled(figure, dots) if dots else []:
        _label(figure, dot, name(dot.row), first=len(front) > 1 and dot is front[0])
    return figure


def _days(dot: Dot) -> float:
    return float(dot.row["seconds"]) / DAY


def size_of(kwh: float | None, most: float) -> float:
    """Pixels across: the area grows with the energy; small and hollow where it is unknown.

    >>> size_of(100.0, 100.0), size_of(25.0, 100.0), size_of(None, 100.0)
    (26.0, 13.0, 9.0)
    """
    if kwh is None or not most:
        return UNKNOWN_SIZE
    return max(SMALLEST, LARGEST * math.sqrt(kwh / most))


def _markers(
    figure: Figure,
    mine: Sequence[Dot],
    words: Words,
    name: Callable[[Mapping[str, Any]], str],
    *,
    look: tuple[str, str, str, float, float],
    most_kwh: float,
) -> None:
    status, hue, symbol, opacity, least = look
    label = words(f"choose.status_{status}")
    hollow = [dot.row["kwh"] is None for dot in mine]
    figure.add_scatter(
        x=[_days(dot) for dot in mine],
        y=[dot.row["usd"] for dot in mine],
        mode="markers",
        name=label,
        customdata=[_said(dot, words, name) for dot in mine],
        marker={
            "color": hue,
            "symbol": [f"{symbol}-open" if each else symbol for each in hollow],
            "size": [max(size_of(dot.row["kwh"], most_kwh), least) for dot in mine],
            "opacity": opacity,
            "line": {"width": 1.4, "color": hue},
        },
        hovertemplate=(
            "<b>%{customdata[1]}</b><br>%{customdata[2]} · %{customdata[3]} · %{customdata[4]}"
            f"<br>{label}<extra></extra>"
        ),
    )


def _said(dot: Dot, words: Words, name: Callable[[Mapping[str, Any]], str]) -> list[str]:
    kwh = dot.row["kwh"]
    return [
        dot.key,
        name(dot.row),
        words.number(show_duration(dot.row["seconds"])),
        show_usd(dot.row["usd"]),
        words("choose.energy_unknown") if kwh is None else show_energy(kwh),
    ]


def labelled(figure: Figure, dots: Sequence[Dot]) -> list[Dot]:
    """Dots to name: the best, the ends of the front and its knee first, then what has room."""
    front = [dot for dot in dots if dot.front]
    inner = sorted(front[1:-1], key=lambda dot: dot.row["seconds"] * dot.row["usd"])
    chosen: list[Dot] = []
    for dot in (*(each for each in dots if each.best), *front[:1], *front[-1:], *inner):
        if len(chosen) < MOST_LABELS and all(_apart(figure, dot, other) for other in chosen):
            chosen.append(dot)
    return chosen


def _apart(figure: Figure, one: Dot, other: Dot) -> bool:
    """Whether the labels of two dots do not meet: they are wide and low."""
    wide, high = (
        abs(_placed(figure, axis, a) - _placed(figure, axis, b)) / _span(figure, axis)
        for axis, a, b in (
            ("x", _days(one), _days(other)),
            ("y", float(one.row["usd"]), float(other.row["usd"])),
        )
    )
    return wide > APART[0] or high > APART[1]


def _span(figure: Figure, axis: str) -> float:
    low, high = figure.layout[f"{axis}axis"].range
    return float(high - low)


def _label(figure: Figure, dot: Dot, text: str, *, first: bool) -> None:
    """Below the front and to its left, where nothing is; the fastest above and to the right."""
    side = (
        {"xanchor": "left", "yanchor": "bottom", "xshift": 6, "yshift": 4}
        if first
        else {"xanchor": "right", "yanchor": "top", "xshift": -4, "yshift": -7}
    )
    figure.add_annotation(
        x=_placed(figure, "x", _days(dot)),
        y=_placed(figure, "y", float(dot.row["usd"])),
        text=_SPARE_WORDS.sub("", text),
        showarrow=False,
        font={"size": 12},
        **side,
    )


def _framed(
    figure: Figure, dots: Sequence[Dot], words: Words, limits: Mapping[str, float | None]
) -> None:
    framed(figure, height=520)
    legend = {"orientation": "h", "y": -0.16, "x": 0, "itemsizing": "constant"}
    figure.update_layout(showlegend=True, legend=legend, clickmode="event+select")
    if not dots:
        return
    days = axis_of(
        [_days(dot) for dot in dots],
        limits["x"],
        lambda day: words.number(show_duration(day * DAY)),
        known=TIMES,
    )
    prices = [float(dot.row["usd"]) for dot in dots]
    usd = axis_of(prices, limits["y"], lambda price: show_usd(price).removesuffix(".00"))
    figure.update_xaxes(title=words("choose.time_axis"), **days)
    figure.update_yaxes(title=words("choose.cost_axis"), **usd)
    for axis, key in (("x", "choose.deadline"), ("y", "choose.budget")):
        limit = limits[axis]
        if limit is not None and _inside(figure, axis, limit):
            _limit(figure, axis, limit, words(key))


def axis_of(
    values: Sequence[float],
    limit: float | None,
    show: Callable[[float], str],
    known: Sequence[float] = (),
) -> dict[str, Any]:
    """Range and ticks: logarithmic where the values span a factor of eight and more.

    `known` are ticks that people read better than round numbers.

    >>> axis_of([1.0, 2.0], None, str)["type"], axis_of([1.0, 90.0], None, str)["type"]
    ('linear', 'log')
    >>> axis_of([0.5, 20.0], None, lambda day: f"{day:g}", known=TIMES)["ticktext"]
    ['0.5', '1', '2', '5', '10', '20']
    """
    low, high = min(values), max(values)
    if limit is not None and low / 3 < limit < high * 3:
        low, high = min(low, limit), max(high, limit)
    if high / low < LOG_FROM:
        room = (high - low or high) * ROOM
        ends = [max(low - 2.5 * room, 0.0), high + room]
        ticks = _even_ticks(*ends)
        texts = [show(tick) for tick in ticks]
        return {"type": "linear", "range": ends, "tickvals": ticks, "ticktext": texts}
    spare = max((high / low) ** ROOM, 1.1)
    ends = [low / spare**2, high * spare]
    scale = {"range": [math.log10(end) for end in ends]}
    inside = [tick for tick in known if ends[0] <= tick <= ends[1]]
    if len(inside) < FEWEST_TICKS:
        return log_ticks(ends, show) | scale
    inside = inside[:: math.ceil(len(inside) / (MOST_TICKS - 1))]
    texts = [show(tick) for tick in inside]
    return {"type": "log", "tickvals": inside, "ticktext": texts} | scale


def _even_ticks(low: float, high: float) -> list[float]:
    """Some five round numbers between the ends.

    >>> _even_ticks(0.9, 4.2)
    [1.0, 2.0, 3.0, 4.0]
    """
    raw = (high - low) / 5
    size = 10 ** math.floor(math.log10(raw))
    step = next(size * each for each in (1, 2, 5, 10) if size * each >= raw)
    first, last = math.ceil(low / step), math.floor(high / step)
    return [step * count for count in range(first, last + 1)]


def _inside(figure: Figure, axis: str, value: float) -> bool:
    """Whether a limit lies in the drawn range."""
    settings = figure.layout[f"{axis}axis"]
    low, high = settings.range
    return bool(low <= _placed(figure, axis, value) <= high)


def _placed(figure: Figure, axis: str, value: float) -> float:
    """A value as annotations want it: the logarithm on a logarithmic axis."""
    return math.log10(value) if figure.layout[f"{axis}axis"].type == "log" else value


def _limit(figure: Figure, axis: str, value: float, text: str) -> None:
    line: dict[str, Any] = {"color": ACCENT, "width": 1.4, "dash": "dash"}
    note: dict[str, Any] = {"text": text, "font": {"color": ACCENT, "size": 12}, "showarrow": False}
    place = _placed(figure, axis, value)
    if axis == "x":
        figure.add_vline(x=value, line=line)
        note |= {"x": place, "y": 1.0, "xref": "x", "yref": "paper"}
        figure.add_annotation(**note, xanchor="right", yanchor="top", textangle=-90)
    else:
        figure.add_hline(y=value, line=line)
        note |= {"x": 1.0, "y": place, "xref": "paper", "yref": "y"}
        figure.add_annotation(**note, xanchor="right", yanchor="bottom")
