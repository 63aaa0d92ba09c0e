"""The machine that a run file names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.errors import PlannerError
from planner.quantities import BITS_PER_SECOND, BYTES, COUNT, WATTS, read
from planner.run.keys import key, read_fields
from planner.run.values import amount, or_auto, whole, word

_NUMBERS = frozenset({"nan", "inf", "infinity", "true", "false", "yes", "no", "on", "off"})


def interconnect(field: str, value: object) -> str | float:
    """A fabric by name, or a number: Gbit/s per accelerator, one way.

    >>> interconnect("hardware.interconnect", "50GB/s")
    400.0
    """
    starts_as_number = isinstance(value, str) and value.strip()[:1] in "+-.0123456789"
    if not isinstance(value, str) or starts_as_number:
        return read(BITS_PER_SECOND, field, value)
    name = word(field, value)
    if not any(character.isalpha() for character in name) or name.lower() in _NUMBERS:
        raise PlannerError(field, value, "name a fabric, or say Gbit/s per accelerator, as 400")
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class Hardware:
    """Which accelerators, how many, and how they are joined."""

    PATH: ClassVar[str] = "hardware"

    sku: str | None = key(word, "accelerator, such as h100-sxm5-80gb", metavar="NAME")
    count: int | None = key(whole(COUNT, most=10_000_000), "number of accelerators")
    per_node: int | None = key(
        whole(COUNT, most=100_000), "accelerators in one node"
    )  # None = as that machine is usually built
    interconnect: str | float | None = key(
        or_auto(interconnect),
        "fabric between nodes: a name, or Gbit/s per accelerator",
        metavar="NAME|X",
    )  # a number is Gbit/s, one way
    power_limit: float | None = key(amount(WATTS), "power limit per accelerator, W")  # W
    host_memory: float | None = key(amount(BYTES), "memory of one node, such as 2TB")  # bytes
    profile: str | None = key(word, "profile file measured by forerun profile", metavar="FILE")

    def __post_init__(self) -> None:
        read_fields(self)

    @property
    def interconnect_bytes_per_second(self) -> float | None:
        """The fabric's stated rate per accelerator, one way; None where it is a name or absent."""
        return self.interconnect * 1e9 / 8 if isinstance(self.interconnect, float) else None
