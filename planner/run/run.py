"""A whole run file: frozen, validated, the same words and nesting as the YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from planner.run.data import Data
from planner.run.hardware import Hardware
from planner.run.keys import key, section_from, section_mapping
from planner.run.keys import read_fields as _read_fields
from planner.run.length import AMOUNT
from planner.run.limits import Budget, Price
from planner.run.mapping import mapping_from_yaml, overlay
from planner.run.missing import MissingKeyError
from planner.run.overhead import Overhead
from planner.run.training import Training
from planner.run.values import word

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
_MEASURED = ("hardware.sku", "hardware.count")  # a profile says them


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

    model: str | None = key(
        word, "preset, path to a config.json, hf:ORG/NAME, or FILE.py:FUNCTION", metavar="MODEL"
    )
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
            if name in _MEASURED and self.hardware.profile is not None:
                continue
            section, _, last = name.rpartition(".")
            if getattr(getattr(self, section) if section else self, last) is None:
                raise MissingKeyError(name, remedy)
        if not self.data.has_amount:
            raise MissingKeyError("data.tokens", AMOUNT)
