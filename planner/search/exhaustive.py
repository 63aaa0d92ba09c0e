"""Search every valid candidate of a run: the exact best and the exact Pareto front."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from planner.engine.constants import constants
from planner.search.answer import Answer, answer
from planner.search.points import Aim, Point, best, points
from planner.search.restrictions import Restrictions
from planner.search.scan import Keepers, scan
from planner.search.space import Space, space

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.run import Run


def search(
    run: Run,
    *,
    restrictions: Restrictions | None = None,
    by: str = "time",
    weights: dict[str, float] | None = None,
    model: Model | None = None,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
) -> Answer:
    """The best configuration of `run` by `by`: time, cost, energy or value.

    The run says the model, the data, the machine, the global batch and the limits; precision,
    micro-batch, accumulation, layout, sharding, recomputation, compilation and loss are searched,
    as `restrictions` allow. `progress` is called with numbers of finished candidates. Raises
    PlannerError for an empty space.
    """
    return searched(
        space(run, restrictions or Restrictions(), model=model),
        _aim(by, weights),
        threads=threads,
        progress=progress,
    )


def _aim(by: str, weights: dict[str, float] | None) -> Aim:
    return Aim(by=by) if weights is None else Aim(by=by, weights=weights)


def searched(
    found: Space,
    aim: Aim,
    *,
    threads: int | None = None,
    progress: Callable[[int], None] | None = None,
    watch: Callable[[Callable[[], Point | None]], None] | None = None,
) -> Answer:
    """The answer over a space that is built.

    `watch` is called now and then with a function that works out the best so far.
    """
    c = constants()

    def look(keepers: Keepers) -> None:
        assert watch is not None
        watch(lambda: best(points(found, keepers), aim, found.run.budget))

    done = scan(found.groups, c, threads=threads, progress=progress, watch=look if watch else None)
    return answer(found, done, aim, c)
