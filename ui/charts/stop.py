"""The curve of a run with its forecast, and the gain of a doubling along it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from planner.quantities import show_count
from planner.scaling.logs.training_log import Floats
from planner.scaling.stopping import StopReport
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.gains import Gain, evaluation_steps, gain_per_doubling
from planner.scaling.stopping.levels import Levels
from ui.charts.axes import log_ticks
from ui.charts.style import ACCENT, BAD, DOUBT, GOOD, QUIET, framed
from ui.text import Words

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

START = 100.0  # the first hundredth of the steps is left out: it would flatten the rest
MOST_POINTS = 1500  # drawn of a dense log
NOISES = 1.2816  # standard deviations: a gain is told from zero at 90 %
FAN = "rgba(196,138,10,0.18)"


def curve_figure(report: StopReport, words: Words) -> Figure:
    """The metric as logged and smoothed, the forecast with its 80 % fan, stop point and coming
    evaluations; the axis of steps is log."""
    import plotly.graph_objects as go

    figure = go.Figure()
    steps, values = seen(report)
    smooth = smoothed(report, steps)
    figure.add_scatter(
        x=steps,
        y=values,
        mode="lines+markers" if len(steps) < 200 else "lines",
        line={"color": QUIET, "width": 1},
        marker={"size": 4, "color": QUIET},
        opacity=0.6,
        hovertemplate=f"{words(_axis(report))} %{{x:,.6g}}: %{{y:.4g}}<extra></extra>",
    )
    figure.add_scatter(
        x=steps,
        y=smooth,
        mode="lines",
        line={"color": ACCENT, "width": 2.4},
        hoverinfo="skip",
    )
    drawn = [values, smooth]
    if report.outlook.has_end and report.outlook.forecast is not None:
        drawn += _fan(figure, report, words)
    low, high = _range(drawn)
    _rug(figure, report, low, words)
    _stop_mark(figure, report, words)
    framed(figure, height=380)
    ends = [*steps, *report.next_validation, report.outlook.total_steps or steps[-1]]
    figure.update_xaxes(title=words(_axis(report)), **log_ticks(ends, show_count))
    figure.update_yaxes(title=report.metric.name, range=[low, high])
    return figure


def seen(report: StopReport) -> tuple[Floats, Floats]:
    """Steps and values of the judged metric, thinned to what can be seen."""
    series = report.series
    later = series.steps > max(0.0, series.steps[-1] / START)
    steps, values = series.steps[later], series.values[later]
    keep = np.unique(np.linspace(0, len(steps) - 1, min(len(steps), MOST_POINTS)).astype(int))
    return steps[keep], values[keep]


def smoothed(report: StopReport, steps: Floats) -> Floats:
    """The level at each step that is drawn."""
    levels = Levels.of(report.series, report.metric.sign)
    return np.array([report.metric.sign * levels.at(float(step), ahead=True)[0] for step in steps])


def gains(report: StopReport) -> tuple[Floats, list[Gain]]:
    """The steps at which the rule is applied and the gain of the last doubling at each."""
    levels = Levels.of(report.series, report.metric.sign)
    clock = Clockwork.of(report.log, report.metric.name, report.options)
    pairs = [
        (float(step), gain_per_doubling(levels, clock, float(step)))
        for step in evaluation_steps(levels)
    ]
    known = [(step, gain) for step, gain in pairs if gain.known]
    return np.array([step for step, _ in known]), [gain for _, gain in known]


def gain_figure(report: StopReport, words: Words) -> Figure | None:
    """Gain of the last doubling along the run with its noise, and the threshold; None where the
    log covers no doubling."""
    import plotly.graph_objects as go

    steps, found = gains(report)
    if not found:
        return None
    shares = np.array([100 * (gain.value or 0.0) for gain in found])
    noise = np.array([100 * NOISES * gain.deviation for gain in found])
    figure = go.Figure()
    figure.add_scatter(
        x=[*steps, *steps[::-1]],
        y=[*(shares - noise), *(shares + noise)[::-1]],
        fill="toself",
        fillcolor="rgba(47,127,214,0.14)",
        line={"width": 0},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=steps,
        y=shares,
        mode="lines+markers",
        line={"color": ACCENT, "width": 2},
        marker={"size": 5},
        hovertemplate="%{x:,.6g}: %{y:.2f} %<extra></extra>",
    )
    threshold = 100 * report.options.threshold
    figure.add_hline(
        y=threshold,
        line={"color": BAD, "width": 1.4, "dash": "dash"},
        annotation_text=words("stop.threshold_note", threshold=f"{threshold:g} %"),
        annotation_position="top right",
    )
    framed(figure, height=300)
    top = max(3 * threshold, float(np.quantile(shares, 0.9)))
    bottom = min(0.0, float(np.quantile(shares, 0.1)))
    figure.update_xaxes(title=words(_axis(report)), **log_ticks(list(steps), show_count))
    figure.update_yaxes(
        title=words("stop.gain_axis"), ticksuffix=" %", range=[bottom - 0.1 * top, 1.1 * top]
    )
    return figure


def _axis(report: StopReport) -> str:
    return "stop.epochs_axis" if report.axis == "epoch" else "stop.steps_axis"


def _fan(figure: Figure, report: StopReport, words: Words) -> list[Floats]:
    forecast = report.outlook.forecast
    assert forecast is not None
    steps = list(forecast.steps)
    figure.add_scatter(
        x=[*steps, *reversed(steps)],
        y=[*forecast.low, *reversed(forecast.high)],
        fill="toself",
        fillcolor=FAN,
        line={"width": 0},
        hoverinfo="skip",
    )
    figure.add_scatter(
        x=steps,
        y=forecast.middle,
        mode="lines",
        line={"color": DOUBT, "width": 2.2, "dash": "dash"},
        hovertemplate=f"{words('stop.ahead')} %{{x:,.6g}}: %{{y:.4g}}<extra></extra>",
    )
    return [forecast.low, forecast.high]


def _range(drawn: list[Floats]) -> tuple[float, float]:
    """Bounds of the metric that leave out single spikes."""
    values = np.concatenate(drawn)
    low, high = float(np.quantile(values, 0.002)), float(np.quantile(values, 0.99))
    room = 0.08 * max(high - low, 1e-9 * abs(high), 1e-12)
    return low - 2 * room, high + room


def _rug(figure: Figure, report: StopReport, low: float, words: Words) -> None:
    """The coming evaluations as ticks along the axis."""
    if report.next_validation:
        figure.add_scatter(
            x=list(report.next_validation),
            y=[low] * len(report.next_validation),
            mode="markers+text",
            text=[words("stop.next_validation")],
            textposition="middle left",
            marker={"symbol": "line-ns", "size": 18, "line": {"width": 2, "color": GOOD}},
            hovertemplate=f"{words('stop.next_validation')} %{{x:,.6g}}<extra></extra>",
        )


def _stop_mark(figure: Figure, report: StopReport, words: Words) -> None:
    stop = report.stop_at
    if stop.step is None or stop.loss is None or stop.step <= 0:
        return
    hue = DOUBT if report.verdict == "continue" else BAD
    figure.add_scatter(
        x=[stop.step],
        y=[stop.loss],
        mode="markers+text",
        text=[words(stop_word(report))],
        textposition="bottom left",
        marker={"color": hue, "size": 12, "symbol": "diamond"},
        hovertemplate=f"{words(stop_word(report))} %{{x:,.6g}}: %{{y:.4g}}<extra></extra>",
    )


def stop_word(report: StopReport) -> str:
    """Whether the stop point lies ahead by forecast, is due, or is a checkpoint to return to."""
    words = {"continue": "stop.stop_at_continue", "diverged": "stop.go_back"}
    return words.get(report.verdict, "stop.stop_at")
