"""When more training is not worth it: gains, guards, verdicts and what to do next."""

from planner.scaling.stopping.options import StopOptions
from planner.scaling.stopping.report import StopReport, stop_report

__all__ = ["StopOptions", "StopReport", "stop_report"]
