"""Training logs in the formats that people have, read into one shape."""

from planner.scaling.logs.reading import FORMATS, read_log
from planner.scaling.logs.training_log import Series, TrainingLog

__all__ = ["FORMATS", "Series", "TrainingLog", "read_log"]
