"""The law joined to the planner: budgets of money and days at predicted speeds."""

from __future__ import annotations

from functools import cache

import pytest

from planner.errors import PlannerError
from planner.planning.joined.answer import joined_answer
from planner.planning.joined.best import Best, best_of, cheapest_for, served, size_for_tokens
from planner.planning.joined.frontier import joined_frontier
from planner.planning.joined.paces import DAY, Budget, Paces, paces
from planner.planning.joined.wishes import Wishes
from planner.planning.plan import plan
from planner.run import Run
from planner.scaling.allocation import optimum
from tests.planning.jobs import H100, job

USD = 50_000.0
RUN = job()


@cache
def table(run: Run = RUN, law: str | None = None) -> Paces:
    return paces(run, Budget(usd=USD), law=law)


@cache
def best(run: Run = RUN, law: str | None = None) -> Best:
    return best_of(table(run, law), Budget(usd=USD))


def test_the_best_size_is_better_than_every_planned_size() -> None:
    losses = [row.loss for row in best().sizes if row.loss is not None]
    assert best().loss <= min(losses) + 1e-9
    assert len(losses) >= 8


def test_the_curve_has_its_minimum_inside() -> None:
    losses = [row.loss for row in best().sizes if row.loss is not None]
    assert losses[0] > best().loss
    assert losses[-1] > best().loss


def test_the_plan_of_the_own_model_on_its_tokens_costs_the_budget() -> None:
    tokens = best().own.tokens
    assert tokens is not None
    answer = plan(RUN.changed({"data.tokens": int(tokens)}))
    assert answer.cost.usd == pytest.approx(USD, rel=0.01)
    assert answer.loss.value == pytest.approx(best().own.loss)


def test_each_size_has_a_layout_at_least_as_fast_as_the_stated_one() -> None:
    own = next(row for row in best().sizes if row.pace.own)
    assert own.pace.tokens_per_second >= best().own.pace.tokens_per_second


def test_the_joined_optimum_is_that_of_its_own_flop_where_speed_hardly_changes() -> None:
    ideal = optimum(flops=6 * best().params * best().tokens)
    assert ideal.band_low is not None
    assert ideal.band_high is not None
    assert ideal.band_low < best().params < ideal.band_high


def test_days_and_dollars_are_the_same_budget_at_the_machines_price() -> None:
    by_days = best_of(table(), Budget(seconds=best().seconds))
    assert by_days.loss == pytest.approx(best().loss)
    assert by_days.usd == pytest.approx(USD)


def test_more_money_never_raises_the_loss_and_gains_fall() -> None:
    wide = paces(RUN, Budget(usd=5e3), Budget(usd=5e5))
    points = joined_frontier(wide, [Budget(usd=usd) for usd in (5e3, 5e4, 5e5)])
    losses = [point.loss for point in points]
    assert losses == sorted(losses, reverse=True)
    gains = [point.gain_next_doubling for point in points]
    assert gains == sorted(gains, reverse=True)
    assert points[1].loss == pytest.approx(best().loss, rel=2e-3)


def test_intervals_hold_the_value_and_carry_the_doubt_of_the_speed() -> None:
    assert best().loss_low < best().loss < best().loss_high
    assert best().tokens_low < best().tokens < best().tokens_high
    spread = best().tokens_high / best().tokens
    step = plan(RUN).step
    assert spread == pytest.approx(step.high / step.seconds, rel=0.25)


def test_a_slower_machine_affords_a_smaller_model_for_the_same_days() -> None:
    few = RUN.changed({"hardware.count": 8, "training.global_batch": 128})
    small = best_of(paces(few, Budget(seconds=DAY)), Budget(seconds=DAY))
    large = best_of(paces(RUN, Budget(seconds=DAY)), Budget(seconds=DAY))
    assert small.params < large.params
    assert small.loss > large.loss


def test_sizes_that_do_not_fit_are_shown_and_never_chosen() -> None:
    alone = job(hardware__count=1, hardware__sku="rtx-4090", training__global_batch=32)
    budget = Budget(seconds=2000 * DAY)
    found = best_of(paces(alone, budget), budget)
    misfits = [row for row in found.sizes if row.loss is None]
    assert misfits
    assert all(found.params < row.pace.params for row in misfits)
    assert found.limit == "the largest size that fits 1 x rtx-4090"


def test_repeated_data_asks_for_a_smaller_model_than_fresh_data_of_the_same_law() -> None:
    few = best(job(data__unique_tokens=10**10))
    many = best(job(data__unique_tokens=10**13))
    assert table(job(data__unique_tokens=10**10)).law.name == "muennighoff2023"
    assert few.loss > many.loss


def test_a_mixture_of_experts_is_asked_of_its_own_law() -> None:
    run = job("mixtral-8x7b", training__layout="auto", training__stack="megatron")
    assert table(run).law.name == "joint-moe2025"
    assert table(run).conditions == {"experts": pytest.approx(4.0)}
    own = next(row.pace for row in best(run).sizes if row.pace.own)
    assert own.params < own.params_total


def test_a_law_that_is_named_is_taken_with_the_conditions_it_knows() -> None:
    run = job("mixtral-8x7b", training__layout="auto", training__stack="megatron")
    dense = table(run, "besiroglu2024")
    assert (dense.law.name, dense.conditions) == ("besiroglu2024", {})
    assert any("dense" in text for text in dense.warnings)


def test_fixed_data_takes_the_largest_size_that_the_budget_trains() -> None:
    found = size_for_tokens(table(), 2e11, best().seconds)
    assert found.seconds == pytest.approx(best().seconds, rel=0.01)
    assert found.seconds <= best().seconds
    with pytest.raises(PlannerError, match="even at the smallest"):
        size_for_tokens(table(), 1e15, best().seconds)


def test_the_cheapest_way_to_the_best_loss_costs_the_budget() -> None:
    found = cheapest_for(table(), best().loss)
    assert found.usd == pytest.approx(USD, rel=0.01)
    with pytest.raises(PlannerError, match="no size that fits"):
        cheapest_for(table(), 1.0)


def test_serving_makes_the_model_smaller_and_its_training_dearer() -> None:
    found = served(table(), best(), 1e12)
    assert found.params < best().params
    assert found.usd is not None
    assert found.usd > USD
    assert found.loss == pytest.approx(best().loss, rel=1e-6)


def test_the_answer_tells_what_a_fixed_plan_wastes_and_leaves() -> None:
    wishes = Wishes(params=8e9, tokens=1e11, target_loss=2.2, inference_tokens=1e12)
    answer = joined_answer(table(), best(), wishes)
    fixed = answer["fixed"]
    assert fixed["usd"] + fixed["left_usd"] == pytest.approx(USD)
    assert 0 < fixed["wasted_share"] < 1
    assert answer["target"]["left_usd"] > 0
    assert answer["serving"]["left_usd"] < 0
    assert answer["as_stated"]["own"]


@pytest.mark.parametrize(
    ("budget", "words"),
    [
        (lambda: Budget(usd=1.0), "needs 300 s to start"),
        (lambda: Budget(usd=1e12), "more than a century"),
        (lambda: Budget(usd=-5.0), "positive"),
        (lambda: Budget(), "either dollars or days"),
        (lambda: Budget(usd=1.0, seconds=1.0), "either dollars or days"),
    ],
)
def test_budgets_that_buy_nothing_are_refused(budget: object, words: str) -> None:
    with pytest.raises(PlannerError, match=words):
        paces(RUN, budget())  # type: ignore[operator]


def test_without_a_price_days_answer_and_dollars_are_refused() -> None:
    run = job(hardware__sku="h800-sxm5-80gb", hardware__interconnect=400)
    found = best_of(paces(run, Budget(seconds=DAY)), Budget(seconds=DAY))
    assert found.usd is None
    with pytest.raises(PlannerError, match="say days instead"):
        paces(run, Budget(usd=1e4))


@pytest.mark.parametrize(
    "changes", [{"training__task": "full-ft"}, {"model": "bert-base", "data__seq_len": 512}]
)
def test_runs_that_no_law_describes_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(PlannerError, match="no law"):
        paces(job(**changes), Budget(usd=USD))  # type: ignore[arg-type]


def test_the_machine_of_the_run_is_the_one_that_is_paid_for() -> None:
    assert table().machine == f"64 x {H100}"


@pytest.mark.parametrize("usd", [15.8, 16.0, 20.0, 100.0])
def test_a_budget_that_hardly_outlasts_the_start_up_is_answered(usd: float) -> None:
    budget = Budget(usd=usd)
    found = best_of(paces(RUN, budget), budget)
    assert found.tokens > 0
    assert found.params_low is not None
    assert found.params_high is not None
    assert found.params_low < found.params < found.params_high
