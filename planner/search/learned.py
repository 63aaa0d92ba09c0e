"""A search by trials: Optuna over predictions, compared with the exact answer."""

from __future__ import annotations

import contextlib
import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from planner.search.answer import Answer
from planner.search.encoding import Encoding
from planner.search.hypervolume import hypervolume
from planner.search.points import Aim, Point, points
from planner.search.rows import short_row
from planner.search.space import Space
from planner.search.starts import starts
from planner.search.studies import Setup, open_study, shown, work
from planner.search.trials import Predicted, constraints, objectives, point_of

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

MARGIN = 1.1  # the reference of the hypervolume, times the worst of the exact front


@dataclass(frozen=True, slots=True, kw_only=True)
class Trials:
    """How to search by trials."""

    number: int
    seed: int = 0
    storage: str | None = None  # URL; None = in memory
    name: str | None = None  # of the study; None = by what is searched
    several: bool = False  # time, cost and energy apart instead of the aim alone


def setup_of(space: Space, aim: Aim | None, name: str | None) -> Setup:
    """The study of a space: the same for every worker that reads the same run and restrictions."""
    encoding = Encoding(space)
    about = {
        "run": space.run.to_mapping(),
        "coordinates": [[each.name, *map(str, each.values)] for each in encoding.coordinates],
        "candidates": space.size,
        "weights": None if aim is None else dict(aim.weights),
    }
    made = Setup(
        name=name or "",
        about=about,
        objectives=objectives(space, aim),
        starts=starts(encoding),
    )
    return made if name else replace(made, name=f"forerun-{made.fingerprint}")


@contextlib.contextmanager
def learning(
    space: Space,
    aim: Aim,
    wanted: Trials,
    progress: Callable[[int], None] | None = None,
    watch: Callable[[Study], None] | None = None,
) -> Iterator[tuple[Study, int, float]]:
    """The study after its trials, how many of them this process ran, and in how many seconds.

    An interrupt ends it early; what is finished is stored and a later call goes on. `watch` is
    shown the study after every trial.
    """
    from planner.search.sampler import NeighbourSampler
    from planner.store.studies import opened

    alone = None if wanted.several else aim
    encoding = Encoding(space)
    sampler = NeighbourSampler(encoding, wanted.seed)
    started = time.perf_counter()
    with opened(wanted.storage) as storage:
        study = open_study(setup_of(space, alone, wanted.name), storage, sampler)
        ran = Counted(progress, None if watch is None else partial(watch, study))
        with contextlib.suppress(KeyboardInterrupt):
            work(study, Predicted(encoding, alone), wanted.number, progress=ran)
        yield study, ran.number, time.perf_counter() - started


def labour(
    space: Space, aim: Aim, wanted: Trials, progress: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Run trials beside other workers until the study has enough."""
    with learning(space, aim, wanted, progress) as (study, done, seconds):
        return {"study": study.study_name, "of_this_worker": done, "seconds": seconds}


class Counted:
    """Passes progress on and remembers it; `look` is called first."""

    def __init__(
        self, progress: Callable[[int], None] | None, look: Callable[[], None] | None = None
    ) -> None:
        self.number = 0
        self._progress, self._look = progress, look

    def __call__(self, more: int) -> None:
        self.number += more
        if self._look:
            self._look()
        if self._progress:
            self._progress(more)


def learned(
    exact: Answer,
    wanted: Trials,
    progress: Callable[[int], None] | None = None,
    watch: Callable[[Study], None] | None = None,
) -> dict[str, Any]:
    """What the trials found, against the exact answer of the same space."""
    with learning(exact.space, exact.aim, wanted, progress, watch) as (study, done, seconds):
        return {
            "name": study.study_name,
            "storage": shown(wanted.storage),
            "objectives": list(objectives(exact.space, None if wanted.several else exact.aim)),
            "of_this_worker": done,
            "seconds": seconds,
            **_found(exact, study, wanted.number),
        }


def _found(exact: Answer, study: Study, number: int) -> dict[str, Any]:
    """The trials against the exact answer."""
    space, trials = exact.space, study.get_trials(deepcopy=False)
    finished = [trial for trial in trials if trial.values]
    feasible = [trial for trial in finished if _keeps(trial)]
    found = [point_of(space, _candidate(trial), exact.constants) for trial in feasible]
    best = min(found, key=exact.aim.score, default=None)
    return {
        "trials": len(finished),
        "complete": len(finished) >= number,
        "infeasible": len(finished) - len(feasible),
        "failed": sum(trial.state.name == "FAIL" for trial in trials),
        "best": None if best is None else short_row(space, best),
        "regret": _regret(exact, best),
        "hypervolume": _share(exact, found),
        "importance": importance(study),
        "history": history(study),
    }


def history(study: Study) -> list[dict[str, Any]]:
    """Every finished trial in order: the first objective, whether it keeps the limits, and the
    best that kept them so far (None before the first). The unit is
    the objective's: s, USD, kWh."""
    rows: list[dict[str, Any]] = []
    least: float | None = None
    for trial in study.get_trials(deepcopy=False):
        if not trial.values:
            continue
        value, keeps = float(trial.values[0]), _keeps(trial)
        if keeps and math.isfinite(value):
            least = value if least is None else min(least, value)
        rows.append({"trial": trial.number, "value": value, "keeps": keeps, "best": least})
    return rows


def _keeps(trial: FrozenTrial) -> bool:
    return all(value <= 0 for value in trial.constraints.values())


def _candidate(trial: FrozenTrial) -> tuple[int, int]:
    number, index = trial.user_attrs["candidate"]
    return int(number), int(index)


def _regret(exact: Answer, best: Point | None) -> float | None:
    """How much worse the trials' best is than the exact one, as a share of the aim."""
    if best is None or exact.best is None:
        return None
    mine, other = exact.aim.score(best), exact.aim.score(exact.best)
    if exact.aim.by == "value":
        return math.exp(mine - other) - 1
    return mine / other - 1 if math.isfinite(other) else None


def _share(exact: Answer, found: list[Point]) -> float | None:
    """Hypervolume of the trials' points as a share of that of all pools' best, in logarithms."""
    names = objectives(exact.space, None)
    pools = points(exact.space, exact.scan.keepers)
    kept = [each for each in pools if each.sure and _within(exact.space, each)]
    if not kept:
        return None
    best, mine = ([_vector(each, names) for each in some] for some in (kept, found))
    reference = tuple(max(column) + math.log(MARGIN) for column in zip(*best, strict=True))
    whole = hypervolume(best, reference)
    return hypervolume(mine, reference) / whole if whole else None


def _within(space: Space, point: Point) -> bool:
    return all(value <= 0 for value in constraints(space, point).values())


def _vector(point: Point, names: tuple[str, ...]) -> tuple[float, ...]:
    values = {"time": point.seconds, "cost": point.usd, "energy": point.kwh}
    return tuple(math.log(float(values[name] or 1.0)) for name in names)


def importance(study: Study) -> dict[str, float] | None:
    """Which parameters decide the first objective (PED-ANOVA, Watanabe et al. 2023)."""
    import optuna

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = optuna.importance.get_param_importances(
                study,
                evaluator=optuna.importance.PedAnovaImportanceEvaluator(),
                target=lambda trial: trial.values[0],
            )
    except (ValueError, RuntimeError):  # too few trials, or all alike
        return None
    return {name: float(value) for name, value in found.items()}
