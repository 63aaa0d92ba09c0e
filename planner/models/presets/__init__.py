"""Models that people ask about: one file each, dimensions as their config.json states them."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

from planner.engine.model import Model
from planner.errors import PlannerError, nearest
from planner.models.config import model_from_config, read_json

_FOLDER = Path(__file__).parent
_TABLES = _FOLDER / "traced"


@cache
def traced_ids() -> tuple[str, ...]:
    """Presets that are operation tables of our own modules: `python -m planner.tracing.presets`."""
    names = (entry for entry in os.listdir(_TABLES) if entry.endswith(".json"))
    return tuple(sorted(name.removesuffix(".json") for name in names))


@cache
def load_traced(preset: str, input_shape: tuple[int, ...] | None = None) -> Model:
    """A preset of `traced_ids`; another shape than its own is refused."""
    from planner.models.traced import traced_model

    table: dict[str, Any] = read_json(_TABLES / f"{preset}.json")
    own = tuple(table["input_shape"])
    if input_shape not in (None, own):
        shape = ",".join(map(str, own))
        remedy = f"{preset} is tabled for {shape}: for others name {table['module']}"
        raise PlannerError("data.input_shape", list(input_shape or ()), remedy)
    return traced_model(table, name=preset, input_shape=own)


@cache
def preset_ids() -> tuple[str, ...]:
    """Every preset id, in alphabetical order; reads file names only."""
    names = (entry for entry in os.listdir(_FOLDER) if entry.endswith(".json"))
    return tuple(sorted(name.removesuffix(".json") for name in names))


@cache
def load_preset(preset: str) -> Model:
    """One preset; an unknown id is refused with the nearest ones."""
    return model_from_config(_read(preset)["config"], name=preset)  # type: ignore[arg-type]


def preset_source(preset: str) -> str:
    """Where the dimensions of a preset are stated."""
    if preset in traced_ids():
        return str(read_json(_TABLES / f"{preset}.json")["source"])
    return str(_read(preset)["source"])


def nearest_presets(word: str) -> list[str]:
    """Preset ids like `word`: those that it begins, then those of a family that begins alike.

    >>> nearest_presets("Llama3 8B")[0], nearest_presets("gpt2")[0], nearest_presets("resnet")
    ('llama-3-8b', 'gpt2-124m', ['resnet-50'])
    """
    plain = "-".join(word.lower().replace("_", "-").split())
    known = (*preset_ids(), *traced_ids())
    begun = [each for each in known if len(plain) > 1 and each.startswith(plain)]
    alike = [each for each in nearest(plain, known) if each[:2] == plain[:2]]
    return list(dict.fromkeys(begun + alike))[:3]


def _read(preset: str) -> dict[str, object]:
    if preset not in preset_ids():
        near = nearest_presets(preset)
        raise PlannerError("model", preset, f"is no preset; nearest: {', '.join(near) or 'none'}")
    return read_json(_FOLDER / f"{preset}.json")
