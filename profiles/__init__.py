"""Measure this machine: kernels, whole training steps, energy, collectives; profile files.

Needs torch, numpy and nvidia-ml-py, nothing else; `python -m profiles` is the command. Names are
imported when they are first used, so that reading a profile does not need torch.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from profiles.errors import ProfileError
    from profiles.file import read_profile, write_profile
    from profiles.largest import largest_micro_batch
    from profiles.noise import gradient_noise
    from profiles.result import Profile, Result
    from profiles.step import StepMeasurement, measure_step
    from profiles.trace import steady_step
    from profiles.training import TrainingStep, training_step

_HOMES = {
    "Profile": "profiles.result",
    "ProfileError": "profiles.errors",
    "Result": "profiles.result",
    "StepMeasurement": "profiles.step",
    "TrainingStep": "profiles.training",
    "gradient_noise": "profiles.noise",
    "largest_micro_batch": "profiles.largest",
    "measure_step": "profiles.step",
    "read_profile": "profiles.file",
    "steady_step": "profiles.trace",
    "training_step": "profiles.training",
    "write_profile": "profiles.file",
}

__all__ = [
    "Profile",
    "ProfileError",
    "Result",
    "StepMeasurement",
    "TrainingStep",
    "gradient_noise",
    "largest_micro_batch",
    "measure_step",
    "read_profile",
    "steady_step",
    "training_step",
    "write_profile",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'profiles' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
