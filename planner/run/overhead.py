"""What a run spends beside its training steps, and how often."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from planner.errors import PlannerError
from planner.quantities import SECONDS, Kind, read, read_whole
from planner.run.keys import key, read_fields
from planner.run.values import or_auto

_FAILURES = Kind(
    name="failures per device-day", unit="", units={"": 1.0}, high=10.0, example="auto or 2e-4"
)
_STEPS = Kind(
    name="steps or a time between two",
    unit="steps",
    units={"": 1.0, "step": 1.0, "steps": 1.0, "k": 1e3, "ksteps": 1e3},
    high=1e18,
    example="1000 or 30min",
    case=False,
)
_UNIT = re.compile(r"[-+0-9._, ]*(?:e[-+]?[0-9]+)?\s*(?P<unit>.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Every:
    """How often something happens: every so many steps, or every so many seconds."""

    steps: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        assert (self.steps is None) != (self.seconds is None)

    def in_steps(self, step_seconds: float) -> float:
        """Steps between two occurrences, for a step of `step_seconds`.

        >>> Every(seconds=1800.0).in_steps(6.0)
        300.0
        """
        if self.steps is not None:
            return float(self.steps)
        assert self.seconds is not None
        return max(1.0, self.seconds / step_seconds)

    def written(self) -> int | str:
        """As a run file says it."""
        return self.steps if self.steps is not None else f"{self.seconds!r}s"


def every(field: str, value: object) -> Every:
    """Read `1000` or `1000 steps` as steps, `30min` as a duration.

    >>> every("overhead.checkpoint_every", "30min")
    Every(steps=None, seconds=1800.0)
    """
    if isinstance(value, Every):
        return value
    unit = _unit(value) if isinstance(value, str) else ""
    if unit == "m":
        raise PlannerError(field, value, "write 30min for minutes, or a number of steps")
    if unit in SECONDS.units and unit:
        return Every(seconds=read(SECONDS, field, value))
    return Every(steps=read_whole(_STEPS, field, value))


def _unit(text: str) -> str:
    """What stands behind the number: `s` of 1e-05s.

    >>> _unit("1.5e3 s"), _unit("12h"), _unit("1e3")
    ('s', 'h', '')
    """
    match = _UNIT.fullmatch(text.strip().lower())
    return match["unit"] if match else ""


def failure_rate(field: str, value: object) -> float:
    """Failures per device-day; 0 and none mean that nothing fails."""
    if value in (0, 0.0) or (
        isinstance(value, str) and value.strip().lower() in {"0", "none", "no"}
    ):
        return 0.0
    return read(_FAILURES, field, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overhead:
    """What a run spends beside its training steps."""

    PATH: ClassVar[str] = "overhead"

    evaluate_every: Every | None = key(every, "evaluation: steps or a time between, as 1000, 30min")
    checkpoint_every: Every | None = key(every, "checkpoints: steps or a time between, as 30min")
    failures: float | None = key(
        or_auto(failure_rate), "failures per device-day, or auto for a published rate"
    )  # None = auto

    def __post_init__(self) -> None:
        read_fields(self)
