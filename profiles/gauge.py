"""What a device's sensors say, in SI units; a null object where there are none.

Everything is read, nothing is ever set: clocks, limits and modes stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """One reading. None = the device does not say."""

    power_watts: float | None = None
    temperature_celsius: float | None = None
    core_hertz: float | None = None
    memory_hertz: float | None = None
    power_limit_watts: float | None = None
    throttle: tuple[str, ...] | None = None  # why clocks are held down, empty = they are not
    other_processes: int | None = None  # processes on the device beside this one
    used_bytes: int | None = None


class Gauge:
    """The null gauge: nothing is known, and `reason` says why."""

    present = False

    def __init__(self, reason: str) -> None:
        self.reason = reason

    @property
    def name(self) -> str | None:
        """The device's name as its driver states it."""
        return None

    @property
    def driver(self) -> str | None:
        """Driver version."""
        return None

    @property
    def uuid(self) -> str | None:
        return None

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the figures should know."""
        return (self.reason,) if self.reason else ()

    def state(self) -> State:
        """Power in W, temperature in °C, clocks in Hz, throttle reasons."""
        return State()

    def power_watts(self) -> float | None:
        """Power now, W."""
        return None

    def energy_joules(self) -> float | None:
        """Energy since some fixed moment, J; differences are what counts."""
        return None

    def memory_bytes(self) -> int | None:
        """Total memory, bytes."""
        return None

    def close(self) -> None:
        """Leave the driver."""
