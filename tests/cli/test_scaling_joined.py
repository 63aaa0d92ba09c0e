"""`forerun scaling optimum|frontier RUN.yaml`: budgets of money and days on a machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Forerun = Callable[..., Any]
RUN = Path(__file__).parents[2] / "examples" / "llama-3-8b.yaml"


def test_optimum_for_money_answers_as_the_contract_says(forerun: Forerun) -> None:
    answer = forerun("scaling", "optimum", RUN, "--usd", "50k", "--json").json
    for name in ("params", "tokens", "tokens_per_param", "loss", "usd", "seconds", "law"):
        assert answer[name], name
    assert answer["usd"] == pytest.approx(50_000)
    assert answer["params_low"] < answer["params"] < answer["params_high"]
    assert answer["loss_low"] < answer["loss"] < answer["loss_high"]
    assert answer["band"][0] < answer["params"] < answer["band"][1]
    assert sum(row["own"] for row in answer["sizes"]) == 1


def test_optimum_for_days_agrees_with_the_plan_of_what_it_advises(forerun: Forerun) -> None:
    answer = forerun("scaling", "optimum", RUN, "--days", "7", "--json").json
    tokens = round(answer["as_stated"]["tokens"])
    planned = forerun("plan", RUN, "--tokens", tokens, "--json", "--no-advice").json
    assert planned["run"]["seconds"] == pytest.approx(7 * 86_400, rel=0.01)
    assert planned["loss"]["value"] == pytest.approx(answer["as_stated"]["loss"])


def test_a_table_for_people_shows_curve_and_what_was_fixed(forerun: Forerun) -> None:
    words = ("--params", "8B", "--target-loss", "2.2", "--inference-tokens", "1T")
    shown = forerun("scaling", "optimum", RUN, "--usd", "50k", *words)
    for title in ("Best use of $50,000", "as stated", "was fixed", "asked for", "will be served"):
        assert title in shown.out
    assert "price:" in shown.err


def test_a_fixed_model_that_takes_the_whole_budget_leaves_nothing(forerun: Forerun) -> None:
    fixed = forerun("scaling", "optimum", RUN, "--usd", "50k", "--params", "8B", "--json").json
    assert (fixed["fixed"]["left_seconds"], fixed["fixed"]["left_usd"]) == (0.0, 0.0)


def test_what_is_served_is_no_larger_than_what_fits(forerun: Forerun) -> None:
    words = ("--usd", "124M", "--inference-tokens", 100, "--json")
    found = forerun("scaling", "optimum", RUN, *words).json
    assert found["limit"].startswith("the largest size that fits")
    serving = found["serving"]
    assert serving["params"] == pytest.approx(found["params"])
    assert (serving["left_seconds"], serving["left_usd"]) == (0.0, 0.0)
    assert serving["saving_of_flops_share"] == 0.0


def test_frontier_draws_loss_against_money(forerun: Forerun) -> None:
    words = ("scaling", "frontier", RUN, "--usd-range", "5k", "500k", "--points", 4)
    curve = forerun(*words, "--json").json["curve"]
    assert [round(point["usd"]) for point in curve][::3] == [5_000, 500_000]
    losses = [point["loss"] for point in curve]
    assert losses == sorted(losses, reverse=True)
    assert "Best loss against money" in forerun(*words).out


def test_frontier_at_one_budget_draws_loss_against_size(forerun: Forerun) -> None:
    shown = forerun("scaling", "frontier", RUN, "--days", "3")
    assert "Loss against size for" in shown.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give one of --flops, --usd and --days"),
        (("--usd", "5k", "--days", "2"), "give one of"),
        (("--flops", "1e22"), "the same on every machine"),
        (("--usd", "10"), "to start"),
        (("--usd", "x"), "--usd"),
        (("--days", "1e9"), "not believable"),
        (("--usd", "5k", "--law", "porian2024"), "states a loss"),
        (("--usd", "5k", "--target-loss", "1.2"), "no size that fits"),
        (("--usd", "5k", "--params", "900B"), "sizes planned"),
        (("--usd", "5k", "--tokens", "900T"), "smallest size"),
    ],
)
def test_unusable_questions_are_refused_in_one_line(
    forerun: Forerun, words: tuple[str, ...], said: str
) -> None:
    answer = forerun("scaling", "optimum", RUN, *words)
    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_money_without_a_run_is_refused(forerun: Forerun) -> None:
    answer = forerun("scaling", "optimum", "--usd", "5k")
    assert answer.status == 2
    assert "name the run" in answer.err


@pytest.mark.parametrize("ends", [("500k", "5k"), ("x", "5k"), ("0", "5k")])
def test_an_unusable_range_is_refused(forerun: Forerun, ends: tuple[str, str]) -> None:
    answer = forerun("scaling", "frontier", RUN, "--usd-range", *ends)
    assert answer.status == 2
    assert "--usd-range" in answer.err
