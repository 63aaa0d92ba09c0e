"""A stop report as the JSON object that other programs rely on."""

from __future__ import annotations

from typing import Any

from planner.scaling.stopping.gains import Gain
from planner.scaling.stopping.report import StopReport


def stop_answer(report: StopReport) -> dict[str, Any]:
    """Numbers in SI; unknown is None; gains are shares, not per cent."""
    judged, options = report.judgement, report.options
    return {
        "format": report.log.format,
        "steps": report.last_step,
        "axis": report.axis,
        "points": report.series.num_points,
        "metric": report.metric.name,
        "direction": "min" if report.metric.sign > 0 else "max",
        "smoothed_last": report.smoothed_last,
        "volatility": report.volatility,
        "threshold": options.threshold,
        "unit": options.unit,
        "units": {"hours": options.unit_hours, "usd": judged.usd_in_unit},
        "gain_per_doubling": judged.doubling.value,
        "gain_per_hour": _per(judged.hour, options.unit_hours),
        "gain_per_usd": _per(judged.usd, judged.usd_in_unit),
        "gain_per_doubling_noise": judged.doubling.deviation if judged.doubling.known else None,
        "gain_per_doubling_matched": judged.matched,
        "gain_next_doubling": report.gain_next,
        "forecast": forecast_answer(report),
        "verdict": report.verdict,
        "reason": judged.reason,
        "verdicts": {**judged.verdicts, "value": report.value_verdict},
        "unknown": _unknown(report),
        "stop_at": {
            "step": report.stop_at.step,
            "seconds": report.stop_at.seconds,
            "loss": report.stop_at.loss,
        },
        "next_validation": _whole(report),
        "validation_cost": {
            "seconds_each": report.validation_seconds,
            "usd_total": report.validation_usd,
        },
        "freed": {
            "steps": report.freed.steps,
            "hours": report.freed.hours,
            "device_hours": report.freed.device_hours,
            "usd": report.freed.usd,
            "use": list(report.freed.use),
        },
        "next_doubling_usd": report.next_doubling_usd,
        "law": None if report.law is None else _law(report),
        "advice": list(report.advice),
        "warnings": list(report.warnings),
        "notes": list(report.log.notes),
    }


def forecast_answer(report: StopReport) -> dict[str, Any]:
    """The end of the run. The constant of the fit is left out: it is no irreducible loss."""
    outlook = report.outlook
    forecast = outlook.forecast
    if forecast is None or not outlook.has_end:
        return {
            "final_loss": None,
            "low": None,
            "high": None,
            "schedule_aware": False,
            "total_steps": outlook.total_steps,
            "reason": outlook.reason or "no forecast",
            "decay_now_loss": None,
            "decay_now_steps": None,
        }
    return {
        "final_loss": forecast.final_loss,
        "low": forecast.final_low,
        "high": forecast.final_high,
        "schedule_aware": forecast.schedule_aware,
        "total_steps": outlook.total_steps,
        "reason": None,
        "decay_now_loss": forecast.decay_now_loss if forecast.schedule_aware else None,
        "decay_now_steps": forecast.decay_now_steps if forecast.schedule_aware else None,
        "fan": {
            "steps": forecast.steps.tolist(),
            "middle": forecast.middle.tolist(),
            "low": forecast.low.tolist(),
            "high": forecast.high.tolist(),
        },
    }


def _per(gain: Gain, unit: float | None) -> float | None:
    """The gain of one hour or dollar, from that of a unit of several."""
    return None if gain.value is None or unit is None else gain.value / unit


def _unknown(report: StopReport) -> dict[str, str]:
    """Why a verdict is null."""
    judged = report.judgement
    gains = {"per_doubling": judged.doubling, "per_hour": judged.hour, "per_usd": judged.usd}
    told = {
        name: gains[name].reason or "one evaluation more is needed"
        for name, verdict in judged.verdicts.items()
        if verdict is None
    }
    if report.value_verdict is None:
        told["value"] = "needs --worth, --usd-per-hour and a log that tells time"
    return told


def _whole(report: StopReport) -> list[float] | list[int]:
    if report.axis == "epoch":
        return list(report.next_validation)
    return [round(step) for step in report.next_validation]


def _law(report: StopReport) -> dict[str, float]:
    assert report.law is not None
    return {
        "last_doubling": report.law.last_doubling,
        "next_doubling": report.law.next_doubling,
        "stop_tokens": report.law.stop_tokens,
        "stop_tokens_seen": report.law.stop_tokens_seen,
    }
