"""Loss along one run under its learning-rate schedule: fit, forecast, what a decay would give."""

from planner.scaling.curves.forecast import CurveForecast, forecast_curve
from planner.scaling.curves.recognition import schedule_of
from planner.scaling.curves.schedule import Schedule, named_schedule

__all__ = ["CurveForecast", "Schedule", "forecast_curve", "named_schedule", "schedule_of"]
