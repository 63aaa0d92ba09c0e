"""What money and time buy: the best of every machine, the front, the limits, the run itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.quantities import show_duration, show_energy, show_usd, show_whole
from ui.charts.axes import log_reach, log_ticks
from ui.charts.style import ACCENT, BAD, DOUBT, GOOD, QUIET, framed
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

DAY = 86_400.0  # s
SMALLEST, LARGEST = 9.0, 24.0  # px across, by energy
YOURS = "#8b6fd1"
_LOOKS = (  # status, colour, symbol
    ("front", GOOD, "circle"),
    ("kept", ACCENT, "circle"),
    ("broken", DOUBT, "square-open"),
    ("too_large", BAD, "x"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """What the vertical axis of the Pareto figure shows."""

    name: str  # of a row: usd | kwh | count
    show: Callable[[float], str]


MEASURES = (
    Measure(name="usd", show=show_usd),
    Measure(name="kwh", show=show_energy),
    Measure(name="count", show=show_whole),
)


def measure_of(rows: Sequence[Mapping[str, Any]]) -> Measure:
    """Money where a price is known, else energy, else the number of accelerators."""
    return next(
        each for each in MEASURES if any(row[each.name] is not None for row in rows) or not rows
    )


def status_of(row: Mapping[str, Any]) -> str:
    """front, kept (keeps every limit but is beaten), broken (fits, breaks a limit) or too_large.

    >>> status_of({"front": False, "keeps_limits": True, "fits": True})
    'kept'
    """
    if not row["fits"]:
        return "too_large"
    if row["front"]:
        return "front"
    return "kept" if row["keeps_limits"] else "broken"


def pareto_figure(
    rows: Sequence[Mapping[str, Any]],
    words: Words,
    *,
    stated: Mapping[str, Any] | None,
    budget: Mapping[str, float | None],
    name: Callable[[Mapping[str, Any]], str],
) -> Figure:
    """Days against money, one numbered marker a row, larger with more energy.

    The front is joined, limits are dotted lines, the run as stated is a diamond. `customdata`
    begins with the position of the row, for the page to know what was clicked.
    """
    import plotly.graph_objects as go

    figure, measure = go.Figure(), measure_of(rows)
    placed = [(index, row) for index, row in enumerate(rows) if row[measure.name] is not None]
    sizes = _sizes([row for _, row in placed])
    _front_line(figure, [row for _, row in placed if status_of(row) == "front"], measure)
    for status, hue, symbol in _LOOKS:
        mine = [
            (index, row, size)
            for (index, row), size in zip(placed, sizes, strict=True)
            if status_of(row) == status
        ]
        if mine:
            _markers(figure, mine, words, measure, name, look=(status, hue, symbol))
    known = stated is not None and stated.get(measure.name) is not None
    if stated is not None and known:
        _stated(figure, stated, words, measure)
    extra = [stated] if stated is not None and known else []
    _frame(figure, [*(row for _, row in placed), *extra], words, measure, budget)
    return figure


def _sizes(rows: Sequence[Mapping[str, Any]]) -> list[float]:
    """Pixels across by the square root of the energy; all alike where one is unknown."""
    energies = [row["kwh"] for row in rows]
    if not energies or any(each is None for each in energies):
        return [13.0] * len(rows)
    most = max(energies)
    return [max(SMALLEST, LARGEST * math.sqrt(each / most)) for each in energies]


def _front_line(figure: Figure, rows: Sequence[Mapping[str, Any]], measure: Measure) -> None:
    ordered = sorted(rows, key=lambda row: row["seconds"])
    if len(ordered) < 2:
        return
    figure.add_scatter(
        x=[row["seconds"] / DAY for row in ordered],
        y=[row[measure.name] for row in ordered],
        mode="lines",
        line={"color": GOOD, "width": 1.6, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )


def _markers(
    figure: Figure,
    mine: Sequence[tuple[int, Mapping[str, Any], float]],
    words: Words,
    measure: Measure,
    name: Callable[[Mapping[str, Any]], str],
    *,
    look: tuple[str, str, str],
) -> None:
    status, hue, symbol = look
    details = [
        [
            index,
            name(row),
            words.number(show_duration(row["seconds"])),
            show_usd(row["usd"]) if row["usd"] is not None else words.number("unknown"),
            show_energy(row["kwh"]) if row["kwh"] is not None else words.number("unknown"),
        ]
        for index, row, _ in mine
    ]
    figure.add_scatter(
        x=[row["seconds"] / DAY for _, row, _ in mine],
        y=[row[measure.name] for _, row, _ in mine],
        mode="markers+text",
        name=words(f"search.status_{status}"),
        text=[str(index + 1) for index, _, _ in mine],
        textposition="top center",
        textfont={"size": 11, "color": QUIET},
        customdata=details,
        marker={
            "color": hue,
            "symbol": symbol,
            "size": [size for _, _, size in mine],
            "opacity": 0.85,
            "line": {"width": 2 if symbol.endswith("open") else 0},
        },
        hovertemplate=(
            "<b>%{customdata[1]}</b><br>%{customdata[2]} · %{customdata[3]} · %{customdata[4]}"
            f"<br>{words(f'search.status_{status}')}<extra></extra>"
        ),
    )


def _stated(figure: Figure, stated: Mapping[str, Any], words: Words, measure: Measure) -> None:
    label = words("search.your_run")
    figure.add_scatter(
        x=[stated["seconds"] / DAY],
        y=[stated[measure.name]],
        mode="markers+text",
        text=[label],
        textposition="top center",
        textfont={"size": 12.5},
        marker={"color": YOURS, "size": 12, "symbol": "diamond"},
        showlegend=False,
        hovertemplate=f"{label}: {words.number(show_duration(stated['seconds']))}<extra></extra>",
    )


def _frame(
    figure: Figure,
    rows: Sequence[Mapping[str, Any]],
    words: Words,
    measure: Measure,
    budget: Mapping[str, float | None],
) -> None:
    framed(figure, height=460)
    legend = {"orientation": "h", "y": -0.2, "x": 0, "itemsizing": "constant"}
    figure.update_layout(showlegend=True, legend=legend, margin_t=30)
    days, heights = (
        [row["seconds"] / DAY for row in rows],
        [row[measure.name] for row in rows],
    )
    if not rows:
        return
    limits = {"x": budget.get("days"), "y": budget.get(measure.name)}
    for axis, values, show, title in (
        ("x", days, lambda value: words.number(show_duration(value * DAY)), "search.time_axis"),
        ("y", heights, measure.show, f"search.{measure.name}_axis"),
    ):
        low, high = log_reach(values, limits[axis])
        settings = log_ticks([low, high], show) | {"range": [math.log10(low), math.log10(high)]}
        update = figure.update_xaxes if axis == "x" else figure.update_yaxes
        update(title=words(title), **settings)
    if limits["x"] is not None:
        _limit(figure, words("search.deadline"), x=limits["x"])
    if limits["y"] is not None:
        _limit(figure, words("search.budget_line"), y=limits["y"])


def _limit(figure: Figure, text: str, *, x: float | None = None, y: float | None = None) -> None:
    line: dict[str, Any] = {"color": BAD, "width": 1.4, "dash": "dash"}
    note: dict[str, Any] = {"text": text, "font": {"color": BAD, "size": 11.5}, "showarrow": False}
    if x is not None:
        figure.add_vline(x=x, line=line)
        place = {"x": math.log10(x), "y": 1.0, "xanchor": "center", "yanchor": "bottom"}
        figure.add_annotation(**note, **place, xref="x", yref="paper")
    else:
        assert y is not None
        figure.add_hline(y=y, line=line)
        place = {"x": 1.0, "y": math.log10(y), "xanchor": "right", "yanchor": "bottom"}
        figure.add_annotation(**note, **place, xref="paper", yref="y")
