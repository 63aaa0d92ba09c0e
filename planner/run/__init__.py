"""The run file: what a person says about a training run, before anything is decided."""

from planner.run.data import Data
from planner.run.flags import add_run_flags, run_from_args
from planner.run.hardware import Hardware
from planner.run.layout import Layout
from planner.run.length import RunLength, run_length
from planner.run.limits import Budget, Price
from planner.run.lora import Lora
from planner.run.overhead import Every, Overhead
from planner.run.run import Run
from planner.run.training import Training

__all__ = [
    "Budget",
    "Data",
    "Every",
    "Hardware",
    "Layout",
    "Lora",
    "Overhead",
    "Price",
    "Run",
    "RunLength",
    "Training",
    "add_run_flags",
    "run_from_args",
    "run_length",
]
