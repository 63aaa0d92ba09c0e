"""A whole run file: frozen, validated, the same words and nesting as the YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from planner.errors import PlannerError
from planner.run.data import Data
from planner.run.hardware import Hardware
from planner.run.keys import is_nothing, key, section_from, section_mapping
from planner.run.keys import read_fields as _read_fields
from planner.run.limits import Budget, Price
from planner.run.overhead import Overhead
from planner.run.training import Training
from planner.run.values import pairs, word

SECTIONS: dict[str, type] = {
    "data": Data,
    "hardware": Hardware,
    "training": Training,
    "overhead": Overhead,
    "budget": Budget,
    "price": Price,
}
_NEEDED = {
    "model": "name a preset, a config.json or hf:ORG/NAME",
    "hardware.sku": "name an accelerator; forerun hardware list shows them",
    "hardware.count": "say how many accelerators",
}


def _section(name: str) -> Any:
    section = SECTIONS[name]
    return key(
        lambda field, value: section_from(section, field, value),
        name,
        default=section(),
        flag=None,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What a person says about a run. None means: not said, or left to the planner.

    Sections may be given as objects or as mappings, quantities as numbers or as people write them.

    >>> run = Run(model="llama-3-8b", data={"tokens": "1T"}, hardware={"count": 64})
    >>> run.data.tokens, run.training.precision
    (1000000000000, 'bf16')
    """

    PATH: ClassVar[str] = ""

    model: str | None = key(word, "preset, path to a config.json, or hf:ORG/NAME", metavar="MODEL")
    data: Data = _section("data")
    hardware: Hardware = _section("hardware")
    training: Training = _section("training")
    overhead: Overhead = _section("overhead")
    budget: Budget = _section("budget")
    price: Price = _section("price")

    def __post_init__(self) -> None:
        _read_fields(self)
        self.training.check_batch(self.hardware.count)

    @classmethod
    def from_mapping(cls, mapping: Mapping[str, Any]) -> Run:
        """From nested mappings with the keys of a run file. Raises PlannerError."""
        run: Run = section_from(cls, "", mapping)
        return run

    @classmethod
    def from_yaml(cls, path: str | Path) -> Run:
        """From a run file; relative paths in it are seen from its folder. Raises PlannerError."""
        return cls.from_mapping(mapping_from_yaml(path))

    def to_mapping(self) -> dict[str, Any]:
        """As nested mappings of plain words and numbers, which `from_mapping` reads back."""
        return section_mapping(self)

    def changed(self, changes: Mapping[str, object]) -> Run:
        """The run with keys changed, by dotted name: `{"hardware.count": 8}`.

        >>> Run(model="gpt2-xl").changed({"hardware.sku": "h100-sxm5-80gb"}).hardware.sku
        'h100-sxm5-80gb'
        """
        return Run.from_mapping(overlay(self.to_mapping(), changes))

    def require_plannable(self) -> None:
        """Refuse a run that lacks what no plan can do without. Raises PlannerError."""
        for name, remedy in _NEEDED.items():
            section, _, last = name.rpartition(".")
            if getattr(getattr(self, section) if section else self, last) is None:
                raise PlannerError(name, None, remedy)
        if not self.data.has_amount:
            raise PlannerError(
                "data.tokens", None, "say how much to train: tokens, samples or epochs"
            )


def mapping_from_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping of a run file, its relative paths seen from its own folder."""
    from planner.run.yaml_text import read_yaml

    mapping = read_yaml(path)
    folder = Path(path).parent
    if looks_like_path(mapping.get("model"), folder):
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
