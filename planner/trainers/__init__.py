"""Plans written as the configs of real trainers."""

from planner.trainers.export import Export, File, Left
from planner.trainers.job import Job, job_of
from planner.trainers.registry import TARGETS, export, target

__all__ = ["TARGETS", "Export", "File", "Job", "Left", "export", "job_of", "target"]
