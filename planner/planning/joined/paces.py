"""The speeds of all sizes that may be best for a budget, and what the machine costs."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.planning.joined.family import Family
from planner.planning.joined.pace import Pace, best_outline, pace_of, with_tokens
from planner.planning.law import conditions_of, no_law
from planner.planning.money import dated
from planner.planning.outline import Outline, outline
from planner.planning.scenario import Scenario, scenario
from planner.run import Run
from planner.scaling.allocation import best_split
from planner.scaling.allocations import allocation_names
from planner.scaling.conventions import count_for
from planner.scaling.laws import Law, choose_law
from planner.scaling.laws import law as law_named

HOUR, DAY = 3600.0, 86_400.0  # s
REACH = 12.0  # sizes are planned from the ideal optimum over this to the same times this
SMALLEST = 1e7  # parameters: below, nothing is trained that a law describes
FEWEST = 5  # sizes that fit: fewer show no curve
MOST_SECONDS = 100 * 365 * DAY  # nobody waits longer
_NOMINAL_TOKENS = 10**12  # of runs that are only asked for their speed


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Money or wall time for the whole training run; exactly one of the two."""

    usd: float | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if (self.usd is None) == (self.seconds is None):
            raise PlannerError("budget", self.usd, "give either dollars or days")
        for name, value in (("usd", self.usd), ("days", self.seconds)):
            if value is not None and not 0 < value < math.inf:
                raise PlannerError(name, value, "must be a positive number")


@dataclass(frozen=True, slots=True, kw_only=True)
class Paces:
    """A family's speeds on one machine under one law."""

    law: Law
    conditions: Mapping[str, float]  # of the law
    table: tuple[Pace, ...]  # by rising size, each under the best settings for it
    stated: Pace  # the run's own model under the run's own settings
    usd_per_hour: float | None  # of the whole job; None where no price is known
    price: str  # whose price and of when, or why there is none
    machine: str  # as in: 64 x h100-sxm5-80gb
    warnings: tuple[str, ...]

    @property
    def startup_seconds(self) -> float:
        return self.stated.startup_seconds

    def seconds_of(self, budget: Budget) -> float:
        """Wall time that a budget pays for. Raises PlannerError where no price is known, and for a
        budget that does not outlast the start-up."""
        return _seconds(budget, self.usd_per_hour, self.price, self.startup_seconds)

    def usd_of(self, seconds: float) -> float | None:
        """What so much wall time costs; None where no price is known."""
        return None if self.usd_per_hour is None else seconds / HOUR * self.usd_per_hour


def paces(
    run: Run,
    least: Budget,
    most: Budget | None = None,
    *,
    law: str | Law | None = None,
    conditions: Mapping[str, float] | None = None,
    model: Model | None = None,
) -> Paces:
    """Plan every size that may be best for budgets from `least` to `most`.

    Without a `law`: that of repeated data where the run says how many tokens are distinct, that of
    experts for a mixture, else the default. Raises PlannerError for a run that no law describes,
    for an architecture whose other sizes cannot be built, and for a budget that buys nothing.
    """
    each = scenario(with_tokens(run, _NOMINAL_TOKENS), model=model)
    reason = no_law(each)
    if reason:
        raise PlannerError("model", each.model.name, reason)
    chosen, given = _law(each, law, dict(conditions or {}))
    family, bones = Family(base=each.model), outline(each)
    usd_per_hour, price = _price(bones)
    startup = bones.run.parts["startup"]
    ends = [_seconds(end, usd_per_hour, price, startup) for end in (least, most or least)]
    typical = math.sqrt(ends[0] * ends[1])
    stated = pace_of(bones, params=_count(chosen, each.model), seconds=typical, own=True)
    low, high = (_ideal(stated, end, chosen, given, each.model) for end in ends)
    table = _table(_opened(each, bones), family, chosen, (low / REACH, high * REACH), typical)
    return Paces(
        law=chosen,
        conditions=given,
        table=table,
        stated=stated,
        usd_per_hour=usd_per_hour,
        price=price,
        machine=f"{each.num_devices:,} x {each.accelerator.sku_id}",
        warnings=count_for(chosen, each.model).warnings,
    )


def _law(
    each: Scenario, named: str | Law | None, given: dict[str, float]
) -> tuple[Law, dict[str, float]]:
    """The law with what it must know: stated conditions first, then what the run says."""
    if isinstance(named, str) and named in allocation_names():
        raise PlannerError("law", named, "splits FLOP only; choose a law that states a loss")
    data = each.run.data
    unique = given.get("unique_tokens") or data.unique_tokens or data.dataset_tokens
    implied = conditions_of(each.model, None if unique is None else float(unique))
    if named is None:
        return choose_law(None, given or implied), given or implied
    chosen = law_named(named) if isinstance(named, str) else named
    known = {name: value for name, value in implied.items() if name in chosen.conditions}
    return chosen, known | given


def _count(law: Law, model: Model) -> float:
    return count_for(law, model).params


def _price(bones: Outline) -> tuple[float | None, str]:
    """USD an hour of the whole job with its source, or None with the reason."""
    cost = bones.cost
    if cost.per_device_hour is None:
        return None, cost.reason or "no price is known"
    return (
        cost.per_device_hour * bones.scenario.num_devices,
        f"{cost.provider}, {dated(cost)}",
    )


def _seconds(budget: Budget, usd_per_hour: float | None, price: str, startup: float) -> float:
    seconds = budget.seconds
    field, said = ("days", seconds and seconds / DAY) if seconds else ("usd", budget.usd)
    if seconds is None:
        if usd_per_hour is None:
            raise PlannerError("usd", budget.usd, f"{price}: say days instead")
        seconds = (budget.usd or 0.0) / usd_per_hour * HOUR
    if seconds <= startup:
        remedy = f"buys {seconds:.3g} s of this machine, which needs {startup:.3g} s to start"
        raise PlannerError(field, said, remedy)
    if seconds > MOST_SECONDS:
        raise PlannerError(field, said, "buys more than a century: add accelerators")
    return seconds


def _ideal(
    stated: Pace, seconds: float, law: Law, conditions: dict[str, float], model: Model
) -> float:
    """Active parameters of the best size if every size reached the own model's FLOP/s."""
    flops = 6 * stated.params * stated.tokens_in(seconds)
    params, _ = best_split(flops=max(flops, 1.0), law=law, conditions=conditions)
    return params / stated.params * model.params_active


def _opened(each: Scenario, bones: Outline) -> Run:
    """The run with everything open that depends on the size; a stated batch stays."""
    training = each.run.training
    batch_said = training.global_batch or (training.micro_batch and training.accumulation)
    return each.run.changed(
        {
            "training.layout": "auto",
            "training.micro_batch": "auto",
            "training.accumulation": "auto",
            "training.global_batch": bones.configuration.global_batch if batch_said else "auto",
        }
    )


def _table(
    run: Run, family: Family, law: Law, ends: tuple[float, float], seconds: float
) -> tuple[Pace, ...]:
    """Every size between the ends; smaller ones too where memory holds few of these."""
    rows = _rows(run, family, law, ends, seconds)
    low = ends[0]
    while sum(row.fits for row in rows) < FEWEST and low > SMALLEST:
        low, high = low / REACH, low
        smaller = _rows(run, family, law, (low, high), seconds)
        known = {row.params for row in rows}
        rows = [*(row for row in smaller if row.params not in known), *rows]
    if sum(row.fits for row in rows) < 2:
        raise PlannerError("hardware.count", run.hardware.count, "no size of this model fits")
    return tuple(sorted(rows, key=lambda row: row.params))


def _rows(
    run: Run, family: Family, law: Law, ends: tuple[float, float], seconds: float
) -> list[Pace]:
    rows: list[Pace] = []
    for model in family.members(*ends):
        bones = best_outline(run, model)
        if bones is not None:
            own = model is family.base
            rows.append(pace_of(bones, params=_count(law, model), seconds=seconds, own=own))
        if _hopeless(rows):
            break
    return rows


def _hopeless(rows: list[Pace]) -> bool:
    """Whether larger sizes need not be tried: two in a row do not fit."""
    return len(rows) > 1 and not rows[-1].fits and not rows[-2].fits


def settings_words(settings: Mapping[str, Any]) -> str:
    """As in: tp 8, pp 2, dp 4, zero1, micro-batch 2, recompute selective.

    >>> settings_words({"tp": 8, "sharding": "none", "micro_batch": 2, "recompute": "none"})
    'tp 8, micro-batch 2'
    """
    degrees = [
        f"{name} {settings[name]}" for name in ("tp", "pp", "cp", "ep", "dp") if name in settings
    ]
    if settings["sharding"] != "none":
        degrees.append(str(settings["sharding"]))
    degrees.append(f"micro-batch {settings['micro_batch']}")
    if settings["recompute"] != "none":
        degrees.append(f"recompute {settings['recompute']}")
    return ", ".join(degrees)
