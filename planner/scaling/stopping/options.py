"""What the user of the stop rule may say."""

from __future__ import annotations

from dataclasses import dataclass, fields

from planner.engine.choices import SCHEDULES, TASKS
from planner.errors import PlannerError, nearest
from planner.scaling.curves.schedule import SETTLED_SHARE
from planner.scaling.marginal import THRESHOLD

UNITS = ("doubling", "hour", "usd")
DIRECTIONS = ("min", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class StopOptions:
    """Options of `forerun stop`; None means unknown, or chosen from the log and reported."""

    threshold: float = THRESHOLD  # relative gain per unit under which a run is not worth it
    unit: str = "doubling"  # UNITS: whose verdict is the headline
    metric: str | None = None  # a name of the log
    direction: str | None = None  # DIRECTIONS, for a metric that we do not know
    unit_hours: float = 1.0  # hours in one unit of time
    unit_usd: float | None = None  # dollars in one unit of money; None = the coarser of one dollar
    # and what two evaluations are apart
    usd_per_hour: float | None = None  # of the whole job, all devices
    num_devices: int | None = None
    seconds_per_step: float | None = None  # for logs that tell no time
    total_steps: float | None = None  # planned length; None = as the log says
    schedule: str | None = None  # choices.SCHEDULES; None = from the rates in the log
    warmup_steps: float = 0.0
    final_ratio: float | None = None  # last learning rate over its peak
    decay_share: float = SETTLED_SHARE  # of the run, for wsd
    task: str = "pretrain"  # choices.TASKS
    epochs: float | None = None  # planned
    params: float | None = None  # of the model, for the advice of the law
    tokens_per_step: float | None = None
    worth_usd: float | None = None  # dollars that one per cent of gain is worth
    evaluation_seconds: float | None = None  # of one evaluation
    num_validations: int = 6  # evaluation points to propose

    def __post_init__(self) -> None:
        _one_of("unit", self.unit, UNITS)
        _one_of("task", self.task, TASKS)
        _one_of("schedule", self.schedule, SCHEDULES)
        _one_of("direction", self.direction, DIRECTIONS)
        if not 0.0 < self.threshold < 1.0:
            raise PlannerError("threshold", self.threshold, "a share between 0 and 1, e.g. 0.015")
        if not 0.0 < self.decay_share <= 1.0:
            raise PlannerError("decay-share", self.decay_share, "a share of the run, up to 1")
        if self.num_validations < 1:
            raise PlannerError("validations", self.num_validations, "at least 1")
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name in _POSITIVE and value is not None and not 0 < value < float("inf"):
                name = field.name.replace("_", "-")
                raise PlannerError(name, value, "a positive number")
        if self.unit == "usd" and self.usd_per_hour is None:
            raise PlannerError("unit", "usd", "needs a price: --usd-per-hour of the whole job")


_POSITIVE = frozenset(
    {
        "unit_hours",
        "unit_usd",
        "usd_per_hour",
        "num_devices",
        "seconds_per_step",
        "total_steps",
        "epochs",
        "params",
        "tokens_per_step",
        "worth_usd",
        "evaluation_seconds",
    }
)


def _one_of(field: str, value: str | None, known: tuple[str, ...]) -> None:
    if value is not None and value not in known:
        close = ", ".join(nearest(value, known)) or ", ".join(known)
        raise PlannerError(field, value, f"known: {close}")
