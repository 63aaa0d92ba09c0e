"""Models that published rows name without giving their dimensions."""

from __future__ import annotations

import re
import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.fidelity.hybrids import Hybrid, hybrid_model
from planner.models.config import model_from_config

_FILE = Path(__file__).parent / "data" / "models.toml"
# named models that nothing here can represent, with the reason
_REFUSED = {
    "deepseekv4": "compressed sparse attention (DeepSeek-V4) is not modelled",
    "deepseek-v4": "compressed sparse attention (DeepSeek-V4) is not modelled",
}


@cache
def _facts() -> dict[str, Any]:
    return tomllib.loads(_FILE.read_text(encoding="utf-8"))


def named_model(name: str, *, source: str = "") -> Model:
    """The model of that name, from its public config. `source` is where the row comes from.

    >>> round(named_model("Nemotron_3_Nano").params_total / 1e9, 1)
    31.6

    Raises PlannerError for a name without a known config.
    """
    plain = name.strip().lower().replace(" ", "-")
    for part, reason in _REFUSED.items():
        if part in plain:
            raise PlannerError("model_name", name, reason)
    for entry, facts in _facts()["names"].items():
        if _matches(plain, facts, source):
            return _from_config(entry)
    for entry, facts in _facts()["hybrids"].items():
        if _matches(plain, facts, source):
            return _from_hybrid(entry)
    preset = _preset(plain)
    if preset is None:
        raise PlannerError(
            "model_name", name, "no dimensions in the row and no public config known by that name"
        )
    return preset


def _matches(plain: str, facts: dict[str, Any], source: str) -> bool:
    only = facts.get("only")
    if only:
        return only in source.lower() and plain in facts["match"]
    return any(plain.startswith(word) for word in facts["match"])


@cache
def _from_config(entry: str) -> Model:
    return model_from_config(_facts()["names"][entry]["config"], name=entry)


@cache
def _from_hybrid(entry: str) -> Model:
    facts = {
        key: value
        for key, value in _facts()["hybrids"][entry].items()
        if key not in ("match", "source", "only")
    }
    return hybrid_model(Hybrid(**facts), entry)


@cache
def _preset(plain: str) -> Model | None:
    """A preset whose id is how people write the name, if there is one."""
    from planner.models import load_model

    for candidate in preset_ids(plain):
        try:
            return load_model(candidate)
        except PlannerError:
            continue
    return None


def preset_ids(name: str) -> list[str]:
    """Ids under which a preset of that name may stand, most likely first.

    >>> preset_ids("Llama 3.1 8B")
    ['llama-3.1-8b']
    >>> preset_ids("LLAMA3_70B")
    ['llama3-70b', 'llama-3-70b']
    """
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    plain = re.sub(r"-?\(.*\)$", "", plain)
    spaced = re.sub(r"^(llama|qwen|gemma|gpt|deepseek|mixtral)(\d|v\d)", r"\1-\2", plain)
    return list(dict.fromkeys([plain, spaced]))
