"""Run files as nested mappings: read with their paths resolved, and changed key by key."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from planner.run.keys import is_nothing
from planner.run.values import pairs


def mapping_from_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping of a run file, its relative paths seen from its own folder."""
    from planner.run.yaml_text import read_yaml  # flags alone need no YAML

    mapping = read_yaml(path)
    folder = Path(path).parent
    model = mapping.get("model")
    if not is_nothing(model) and looks_like_path(model, folder):
        mapping["model"] = str(folder / mapping["model"])
    for section, name in (("data", "lengths"), ("hardware", "profile")):
        part = mapping.get(section)
        value = part.get(name) if isinstance(part, dict) else None
        if isinstance(part, dict) and isinstance(value, str) and not is_nothing(value):
            part[name] = str(folder / value.strip())
    return mapping


def looks_like_path(model: object, folder: Path) -> bool:
    """Whether a run file's model is a path rather than a preset or hf:ORG/NAME."""
    if not isinstance(model, str) or model.strip().startswith(("hf:", "/", "~")):
        return False
    file = model.strip().split(".py:")[0] + (".py" if ".py:" in model else "")
    return file.endswith((".json", ".py")) or file.startswith(".") or _exists(folder / file)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def overlay(mapping: Mapping[str, Any], changes: Mapping[str, object]) -> dict[str, Any]:
    """`mapping` with dotted keys replaced; a new way to say the amount replaces the old one."""
    result: dict[str, Any] = {
        name: dict(part) if isinstance(part, Mapping) else part for name, part in mapping.items()
    }
    for other in {name for change in changes for name in _replaced_by(change)} - set(changes):
        _put(result, other, None)
    for name, value in changes.items():
        _put(result, name, value)
    return result


def _put(mapping: dict[str, Any], name: str, value: object) -> None:
    *sections, last = name.split(".")
    for section in sections:
        part = mapping.get(section)
        mapping[section] = {} if is_nothing(part) else pairs(section, part)
        mapping = mapping[section]
    mapping[last] = value


def _replaced_by(name: str) -> tuple[str, ...]:
    """The keys that say the same as `name` in another way."""
    amounts = ("data.tokens", "data.samples", "data.epochs")
    datasets = ("data.dataset_tokens", "data.dataset_samples")
    if name in ("data.tokens", "data.samples"):
        return tuple(other for other in amounts + datasets if other != name)
    for group in (amounts, datasets):
        if name in group:
            return tuple(other for other in group if other != name)
    return ()
