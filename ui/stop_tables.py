"""Tables of the Stop page."""

from __future__ import annotations

from collections.abc import Sequence

from planner.quantities import show_count, show_duration, show_percent, show_usd
from planner.scaling.stopping import StopReport
from planner.scaling.stopping.gains import Gain
from ui.charts.stop import gains, seen, smoothed, stop_word
from ui.stop_controls import in_words
from ui.table import Row, Table
from ui.text import Words

MOST_ROWS = 12  # of the curve's table, evenly along the run


def units(report: StopReport, words: Words) -> Table:
    """Gain and verdict per doubling, hour and dollar, at matched schedule, and by worth."""
    judged = report.judgement
    hours, usd = report.options.unit_hours, judged.usd_in_unit
    named = {
        "doubling": words("stop.unit_name_doubling"),
        "hour": words("stop.unit_name_hour") if hours == 1 else f"{hours:g} h",
        "usd": words("stop.unit_name_usd") if usd is None else show_usd(usd),
    }
    rows = [
        _unit(named[name], getattr(judged, name), judged.verdicts[f"per_{name}"], words)
        for name in named
    ]
    if judged.matched is not None:
        rows.append(_plain(words("stop.matched"), judged.matched, ""))
    if report.gain_next is not None:
        rows.append(_plain(words("stop.next_doubling"), report.gain_next, ""))
    if report.value_verdict is not None:
        costs = words("stop.costs", usd=show_usd(report.next_doubling_usd))
        verdict = words(f"stop_verdict.{report.value_verdict}")
        cells = (words("stop.value_unit"), "–", verdict, costs)
        rows.append(Row(cells=cells, values=("value", None, report.value_verdict, None)))
    columns = ("per", "gain", "verdict", "remark")
    return Table(
        columns=tuple(words(f"stop.{key}") for key in columns),
        names=("per", "gain", "verdict", "noise"),
        rows=tuple(rows),
        numeric=(1,),
    )


def _unit(name: str, gain: Gain, verdict: str | None, words: Words) -> Row:
    if gain.value is None:
        return Row(
            cells=(name, "–", "–", in_words(gain.reason, words)), values=(name, None, None, None)
        )
    shown = words(f"stop_verdict.{verdict}") if verdict else "–"
    noise = words("stop.noise", noise=show_percent(gain.deviation)) if gain.deviation > 1e-6 else ""
    cells = (name, show_percent(gain.value), shown, noise)
    return Row(cells=cells, values=(name, gain.value, verdict, gain.deviation))


def _plain(name: str, gain: float, remark: str) -> Row:
    cells = (name, show_percent(gain), "–", remark)
    return Row(cells=cells, values=(name, gain, None, None))


def curve(report: StopReport, words: Words) -> Table:
    """The curve at a few steps along the run, then the forecast at its end."""
    steps, values = seen(report)
    levels = smoothed(report, steps)
    apart = max(1, -(-len(steps) // MOST_ROWS))
    chosen = range(len(steps) - 1, -1, -apart)
    rows = [
        Row(
            cells=(step_text(report, steps[i]), level_text(values[i]), level_text(levels[i]), "–"),
            values=(float(steps[i]), float(values[i]), float(levels[i]), None, None),
        )
        for i in sorted(chosen)
    ]
    forecast = report.outlook.forecast
    if forecast is not None and report.outlook.has_end:
        low, high = forecast.final_low, forecast.final_high
        cells = (
            f"{step_text(report, forecast.steps[-1])} · {words('stop.ahead')}",
            "–",
            level_text(forecast.final_loss),
            f"{level_text(low)}–{level_text(high)}",
        )
        values_ahead = (float(forecast.steps[-1]), None, forecast.final_loss, low, high)
        rows.append(Row(cells=cells, values=values_ahead, strong=True))
    columns = (_step(report), "stop.seen", "stop.level", "scaling.interval")
    return Table(
        columns=tuple(words(key) for key in columns),
        names=("step", "value", "level", "low", "high"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
    )


def along(report: StopReport, words: Words) -> Table:
    """Gain of the last doubling at the last evaluations."""
    steps, found = gains(report)
    pairs = list(zip(steps, found, strict=True))[-MOST_ROWS:]
    return Table(
        columns=(words(_step(report)), words("stop.gain"), words("stop.noise_column")),
        names=("step", "gain", "noise"),
        rows=tuple(
            Row(
                cells=(
                    step_text(report, float(step)),
                    show_percent(gain.value),
                    show_percent(gain.deviation),
                ),
                values=(float(step), gain.value, gain.deviation),
            )
            for step, gain in pairs
        ),
        numeric=(1, 2),
    )


def ahead(report: StopReport, words: Words) -> Table:
    """Where to stop and to evaluate, what that costs and sets free."""
    rows: list[tuple[str, str, object]] = []
    stop = report.stop_at
    if stop.step is not None:
        after = "" if stop.seconds is None else f" · {words.number(show_duration(stop.seconds))}"
        level = "" if stop.loss is None else f" · {report.metric.name} {level_text(stop.loss)}"
        shown = f"{_at(report, (stop.step,), words)}{after}{level}"
        rows.append((words(stop_word(report)), shown, stop.step))
    if report.next_validation:
        steps = [step_text(report, step) for step in report.next_validation]
        shown = _at(report, report.next_validation, words)
        rows.append((words("stop.next_validation"), shown, " ".join(steps)))
    if report.validation_usd is not None:
        cost = show_usd(report.validation_usd)
        rows.append((words("stop.validation_cost"), cost, report.validation_usd))
    if report.law is not None:
        tokens = report.law.stop_tokens
        rows.append((words("stop.law_stop"), show_count(tokens, "tokens"), tokens))
    uses = [in_words(use, words) for use in report.freed.use]
    rows += [(words("stop.use"), use, use) for use in uses]
    rows += [(words("stop.advice"), text, text) for text in report.advice]
    return Table(
        columns=(words("stop.what"), words("stop.answer")),
        names=("what", "answer"),
        rows=tuple(Row(cells=(what, shown), values=(what, value)) for what, shown, value in rows),
    )


def _at(report: StopReport, steps: Sequence[float], words: Words) -> str:
    """Steps or epochs, with the word for them before."""
    told = ", ".join(step_text(report, step) for step in steps)
    return words("stop.at_step", axis=words(_step(report)), step=told)


def level_text(value: float) -> str:
    """A value of the metric to four digits, zeros kept so that a column lines up.

    >>> level_text(2.22), level_text(1234.4)
    ('2.220', '1234')
    """
    return f"{value:#.4g}".rstrip(".")


def _step(report: StopReport) -> str:
    return "stop.epoch" if report.axis == "epoch" else "stop.step"


def step_text(report: StopReport, step: float) -> str:
    """A step as the log counts it."""
    return f"{step:,.3g}" if report.axis == "epoch" else f"{step:,.0f}"
