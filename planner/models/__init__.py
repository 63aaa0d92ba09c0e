"""Models as numbers: readers of configs, presets, and what follows from the dimensions."""

from planner.models.config import model_from_config

__all__ = ["model_from_config"]
