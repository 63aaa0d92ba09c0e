"""The Stop page: a log in, the verdict in all units, the forecast, and what stopping frees."""

from __future__ import annotations

import json
from html import escape

import streamlit as st

from planner.errors import PlannerError
from planner.quantities import (
    show_duration,
    show_interval,
    show_number,
    show_percent,
    show_usd,
    show_whole,
)
from planner.scaling.stopping import StopReport, stop_report
from planner.scaling.stopping.answer import stop_answer
from ui import stop_controls
from ui import stop_tables as tables
from ui.charts.stop import curve_figure, gain_figure
from ui.headline import Card, card_html
from ui.show import section
from ui.stop_controls import in_words
from ui.text import Words

_LOOKS = {  # verdict to the look of its card and its sign
    "continue": ("fr-fits", "✓"),
    "stop": ("fr-uncertain", "■"),
    "stopped-learning": ("fr-uncertain", "■"),
    "diverged": ("fr-does-not", "✕"),
    "too-early": ("fr-uncertain", "?"),
}


def draw(words: Words) -> None:
    """The whole page; without a log, how to give one."""
    st.html(f'<h1 class="fr-title">{escape(words("stop.title"))}</h1>')
    st.html(f'<p class="fr-take">{escape(words("stop.lead"))}</p>')
    read = stop_controls.log(words)
    if read is None:
        st.caption(words("stop.empty", formats=words("stop.upload_help")))
        return
    options = stop_controls.options(read, words)
    if options is None:
        return
    try:
        report = stop_report(read, options)
    except PlannerError as error:
        st.error(in_words(str(error), words), icon=":material/edit:")
        return
    answered(report, words)


def answered(report: StopReport, words: Words) -> None:
    """The answer about a log."""
    st.html(headline(report, words))
    section(
        "curve",
        words,
        title=words("stop.curve_title"),
        takeaway=words("stop.curve_takeaway", reason=_reason(report, words)),
        figure=curve_figure(report, words),
        table=tables.curve(report, words),
        split=(3, 2),
    )
    section(
        "units",
        words,
        title=words("stop.units_title"),
        takeaway=words("stop.units_takeaway", unit=words(f"stop.unit_name_{report.options.unit}")),
        figure=None,
        table=tables.units(report, words),
    )
    figure = gain_figure(report, words)
    if figure is not None:
        section(
            "gains",
            words,
            title=words("stop.gains_title"),
            takeaway=words("stop.gains_takeaway"),
            figure=figure,
            table=tables.along(report, words),
        )
    section(
        "ahead",
        words,
        title=words("stop.ahead_title"),
        takeaway=words("stop.ahead_takeaway"),
        figure=None,
        table=tables.ahead(report, words),
    )
    _remarks(report, words)


def _reason(report: StopReport, words: Words) -> str:
    text = in_words(report.judgement.reason, words)
    return text[:1].upper() + text[1:]


def headline(report: StopReport, words: Words) -> str:
    """Verdict, last level, last gain, forecast and freed budget as HTML; every text is escaped."""
    body = _verdict(report, words) + "".join(map(card_html, cards(report, words)))
    return f'<section class="fr-hero">{body}</section>'


def _verdict(report: StopReport, words: Words) -> str:
    look, sign = _LOOKS[report.verdict]
    name = words(f"stop_verdict.{report.verdict}")
    read = words("stop.format", format=report.log.format)
    return (
        f'<div class="fr-card fr-verdict {look}" data-figure="stop_verdict">'
        f'<div class="fr-k">{escape(words("stop.verdict"))}</div>'
        f'<div class="fr-v"><span class="fr-icon" aria-hidden="true">{sign}</span>'
        f"<span data-value>{escape(name)}</span></div>"
        f'<div class="fr-i">{escape(_reason(report, words))}</div>'
        f'<div class="fr-s">{escape(read)}</div></div>'
    )


def cards(report: StopReport, words: Words) -> tuple[Card, ...]:
    """What the log says, what the last doubling gained, where it goes, what stopping frees."""
    return (
        _last(report, words),
        _gain(report, words),
        _forecast(report, words),
        _freed(report, words),
    )


def _axis(report: StopReport, words: Words) -> str:
    return words("stop.epochs_axis" if report.axis == "epoch" else "stop.steps_axis")


def _last(report: StopReport, words: Words) -> Card:
    level = report.smoothed_last
    points = words(
        "stop.points",
        points=show_whole(report.series.num_points),
        axis=_axis(report, words),
        step=tables.step_text(report, report.last_step),
    )
    value = words.number("unknown") if level is None else f"{level:.4g}"
    return Card(
        name="last", label=words("stop.last"), value=value, notes=(report.metric.name, points)
    )


def _gain(report: StopReport, words: Words) -> Card:
    gain = report.judgement.doubling
    share = f"{report.options.threshold:.3%}".rstrip("0%").rstrip(".") + " %"
    notes = [words("stop.threshold_note", threshold=share)]
    if report.gain_next is not None:
        notes.append(words("stop.gain_next", gain=show_percent(report.gain_next)))
    if gain.value is None:
        return Card(
            name="gain",
            label=words("stop.gain_card"),
            value="–",
            notes=(in_words(gain.reason, words), *notes),
        )
    value = show_percent(gain.value)
    return Card(name="gain", label=words("stop.gain_card"), value=value, notes=tuple(notes))


def _forecast(report: StopReport, words: Words) -> Card:
    forecast, label = report.outlook.forecast, words("stop.forecast")
    if forecast is None or not report.outlook.has_end:
        reason = in_words(report.outlook.reason, words) or words("stop.no_forecast")
        return Card(name="forecast", label=label, value="–", notes=(reason,))
    shown = show_interval(
        show_number(".4g"), forecast.final_loss, forecast.final_low, forecast.final_high
    )
    value, _, rest = shown.partition(" (")
    known = "stop.schedule_known" if forecast.schedule_aware else "stop.schedule_unknown"
    step = tables.step_text(report, float(forecast.steps[-1]))
    where = words("stop.at_step", axis=_axis(report, words), step=step)
    return Card(
        name="forecast",
        label=label,
        value=value,
        interval=rest.removesuffix(")") or None,
        notes=(where, words(known)),
    )


def _freed(report: StopReport, words: Words) -> Card:
    freed, label = report.freed, words("stop.freed")
    if freed.steps is None:
        why = in_words(freed.use[0], words) if freed.use else words("stop.freed_later")
        return Card(name="freed", label=label, value="–", notes=(why,))
    steps = words("stop.freed_steps", steps=tables.step_text(report, freed.steps))
    told = [freed.usd and show_usd(freed.usd)]
    told += [freed.hours and words.number(show_duration(freed.hours * 3600))]
    best, *rest = [text for text in (*told, steps) if text]
    return Card(name="freed", label=label, value=best, notes=(*rest, *freed.use[:1]))


def _remarks(report: StopReport, words: Words) -> None:
    texts = [in_words(text, words) for text in (*report.warnings, *report.log.notes)]
    if texts:
        items = "".join(f"<li>{escape(text)}</li>" for text in texts)
        with st.expander(words("stop.remarks", count=len(texts)), icon=":material/info:"):
            st.html(f'<ul class="fr-list">{items}</ul>')
    st.download_button(
        words("stop.json"),
        json.dumps(stop_answer(report), indent=2, allow_nan=False),
        file_name="forerun-stop.json",
        mime="application/json",
        key="stop_json",
        icon=":material/download:",
        on_click="ignore",
    )
