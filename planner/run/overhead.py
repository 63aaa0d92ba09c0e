"""What a run spends beside its training steps, and how often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.errors import PlannerError
from planner.quantities import SECONDS, TOKENS, Kind, read, read_whole
from planner.run.keys import key, read_fields
from planner.run.values import or_auto

_FAILURES = Kind(
    name="failures per device-day", unit="", units={"": 1.0}, high=10.0, example="auto or 2e-4"
)


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
    unit = value.strip().lstrip("+-0123456789._, ").lower() if isinstance(value, str) else ""
    if unit == "m":
        raise PlannerError(field, value, "write 30min for minutes, or a number of steps")
    if unit in SECONDS.units and unit:
        return Every(seconds=read(SECONDS, field, value))
    return Every(steps=read_whole(TOKENS, field, value))


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
