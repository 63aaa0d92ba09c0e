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
    """A preset that goes by that name, if there is one."""
    from planner.models import load_model, preset_ids

    found = nearest_id(plain, tuple(preset_ids()))
    return load_model(found) if found else None


def nearest_id(name: str, ids: tuple[str, ...]) -> str | None:
    """The id that is the name, or the longest id that the name begins with.

    >>> nearest_id("LLAMA3_70B", ("llama-3-70b", "llama-3-8b"))
    'llama-3-70b'
    >>> nearest_id("meta-llama/Meta-Llama-3.1-8B-Instruct", ("llama-3-8b", "llama-3.1-8b"))
    'llama-3.1-8b'
    >>> nearest_id("Llama 3.1 8B", ("llama-3-8b",)) is None
    True
    """
    wanted = _letters(re.sub(r"^meta-", "", name.rsplit("/", 1)[-1].lower()))
    fitting = [known for known in ids if wanted.startswith(_letters(known))]
    return max(fitting, key=len, default=None)


def _letters(name: str) -> str:
    """Letters, digits and the points inside numbers: what tells names apart."""
    return re.sub(r"[^a-z0-9.]", "", name.lower())
