"""Other global batches than the run's, and the tokens that each costs to reach the same loss."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from planner.errors import PlannerError
from planner.planning.length import amount_of
from planner.planning.scenario import Scenario
from planner.run import Run
from planner.search.restrictions import KEEP, Restrictions

SMALLEST = 8  # times smaller than the run's own, the least batch that is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Penalty:
    """Tokens of a batch against the run's own, at equal final loss. `low`, `high` bound 80 %."""

    factor: float
    low: float
    high: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengthened:
    """Global batches to try, sequences, and what each does to the length of the run."""

    base: int
    tried: tuple[int, ...]
    tokens: int  # of the run at its own batch
    penalties: Mapping[int, Penalty]
    steps: Mapping[int, int]  # optimizer steps of the whole run, by batch
    critical_batch: float | None  # tokens; None where no law says
    warnings: tuple[str, ...]

    def run(self, run: Run, changes: Mapping[str, object], batch: int) -> Run:
        """The run changed, at a batch, with the tokens that reach the same loss."""
        wanted: dict[str, object] = {**OPEN, **changes, "training.global_batch": batch}
        if self.penalties[batch].factor != 1.0:
            wanted["data.tokens"] = round(self.tokens * self.penalties[batch].factor)
        return run.changed(wanted)


OPEN = {"training.layout": "auto", "training.micro_batch": "auto", "training.accumulation": "auto"}
NEUTRAL = Penalty(factor=1.0, low=1.0, high=1.0)


def batches_of(each: Scenario, base: int, limits: Restrictions) -> Lengthened:
    """The run's own batch, or those that `--try`, `--fix` and `--bound` name.

    A batch B in place of B0 takes (1 + B/Bc)/(1 + B0/Bc) times the tokens for the same loss
    (McCandlish et al. 2018, arXiv:1812.06162), Bc from the forecast loss (arXiv:2001.08361).
    """
    tokens = amount_of(each, base).tokens
    if not limits.says("global_batch") or limits.fixed.get("global_batch") == KEEP:
        return Lengthened(
            base=base,
            tried=(base,),
            tokens=tokens,
            penalties={base: NEUTRAL},
            steps={base: amount_of(each, base).steps},
            critical_batch=None,
            warnings=(),
        )
    critical = _critical(each, tokens)
    usual = _usual(base, None if critical is None else critical[0] / each.seq_len)
    tried = tuple(sorted(int(value) for value in limits.kept("global_batch", list(usual))))
    return _lengthened(each, base, tried, tokens, critical)


def lengthened(
    base: int, batch: int, seq_len: int, critical: tuple[float, float, float]
) -> Penalty:
    """What a batch costs in tokens against `base`, sequences; `critical` is (value, low, high).

    >>> round(lengthened(256, 512, 1024, (524288.0, 262144.0, 1048576.0)).factor, 3)
    1.333
    """

    def factor(bound: float) -> float:
        return (1 + batch * seq_len / bound) / (1 + base * seq_len / bound)

    bounds = sorted(factor(bound) for bound in critical)
    return Penalty(factor=factor(critical[0]), low=bounds[0], high=bounds[-1])


def _lengthened(
    each: Scenario,
    base: int,
    tried: tuple[int, ...],
    tokens: int,
    critical: tuple[float, float, float] | None,
) -> Lengthened:
    if critical is None:
        if tried != (base,):
            remedy = f"no law says what another batch than {base} costs this task: keep it"
            raise PlannerError("global_batch", ", ".join(map(str, tried)), remedy)
        penalties = {base: NEUTRAL}
    else:
        penalties = {
            batch: NEUTRAL if batch == base else lengthened(base, batch, each.seq_len, critical)
            for batch in tried
        }
    made = Lengthened(
        base=base if base in tried else tried[0],
        tried=tried,
        tokens=tokens,
        penalties=penalties,
        steps={},
        critical_batch=None if critical is None else critical[0],
        warnings=_warnings(critical, each, tried),
    )
    steps = {}
    for batch in tried:
        run = made.run(each.run, {}, batch)
        steps[batch] = amount_of(replace(each, run=run), batch).steps
    return replace(made, steps=steps)


def _usual(base: int, critical: float | None) -> list[int]:
    """Halvings and doublings of the run's batch, up to the critical one (in sequences)."""
    powers = range(SMALLEST.bit_length())
    found = [base >> power for power in powers if base % (1 << power) == 0]
    larger = base * 2
    while critical is not None and larger <= critical:
        found.append(larger)
        larger *= 2
    return sorted(found)


def _critical(each: Scenario, tokens: int) -> tuple[float, float, float] | None:
    """Critical batch in tokens at the forecast loss and at its bounds; None for other tasks."""
    if each.run.training.task != "pretrain" or each.model.kind != "decoder":
        return None
    from planner.scaling.critical_batch import critical_batch_of_loss
    from planner.scaling.forecast import predict_loss

    forecast = predict_loss(params=float(each.model.params_active), tokens=float(tokens))
    if forecast.value is None or forecast.low is None or forecast.high is None:
        return None
    value, other, another = (
        critical_batch_of_loss(loss) for loss in (forecast.value, forecast.low, forecast.high)
    )
    return value, min(other, another), max(other, another)


def _warnings(
    critical: tuple[float, float, float] | None, each: Scenario, tried: tuple[int, ...]
) -> tuple[str, ...]:
    if critical is None or len(tried) == 1:
        return ()
    value, low, high = (bound / each.seq_len for bound in critical)
    return (
        f"batches are compared at equal loss by a critical batch of {value:,.0f} sequences "
        f"({low:,.0f} to {high:,.0f}, from the forecast loss): measure yours to be surer",
    )
