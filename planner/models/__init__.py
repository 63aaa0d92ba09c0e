"""Models as numbers: readers of configs, presets, and what follows from the dimensions.

The names below are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.models.config import model_from_config
    from planner.models.dimensions import model_from_dimensions
    from planner.models.flops import flops_per_token
    from planner.models.kvcache import kv_cache_bytes
    from planner.models.lora import lora_params
    from planner.models.presets import preset_ids
    from planner.models.sources import load_model

_HOMES = {
    "flops_per_token": "planner.models.flops",
    "kv_cache_bytes": "planner.models.kvcache",
    "load_model": "planner.models.sources",
    "lora_params": "planner.models.lora",
    "model_from_config": "planner.models.config",
    "model_from_dimensions": "planner.models.dimensions",
    "preset_ids": "planner.models.presets",
}

__all__ = [
    "flops_per_token",
    "kv_cache_bytes",
    "load_model",
    "lora_params",
    "model_from_config",
    "model_from_dimensions",
    "preset_ids",
]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'planner.models' has no attribute {name!r}")
    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
