"""`forerun scaling`: the contract's fields, readable tables, one-line refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

Forerun = Callable[..., Any]


@pytest.fixture
def runs_file(tmp_path: Path) -> Path:
    """Runs of five sizes and four ratios under E 1.9, alpha .32, beta .36."""
    generator = np.random.default_rng(0)
    lines = ["params,tokens,loss"]
    for params in np.geomspace(5e7, 2e9, 5):
        for ratio in (5, 20, 60, 200):
            tokens = params * ratio
            loss = 1.9 + 300 * params**-0.32 + 1500 * tokens**-0.36
            lines.append(f"{params},{tokens},{loss * np.exp(generator.normal(0, 0.003))}")
    path = tmp_path / "runs.csv"
    path.write_text("\n".join(lines))
    return path


def test_fit_answers_as_the_contract_says(forerun: Forerun, runs_file: Path) -> None:
    answer = forerun("scaling", "fit", runs_file, "--json", "--bootstrap", 40).json
    assert answer["law"] == "sum-of-powers"
    assert set(answer["constants"]) == {"E", "A", "B", "alpha", "beta"} == set(answer["ci80"])
    assert answer["n"] == 20
    assert answer["dropped"] == 0
    low, high = answer["ci80"]["E"]
    assert low < 1.9 < high
    assert {form["form"] for form in answer["held_out"]} == {"sum-of-powers", "power-of-sum"}


def test_fit_of_epochs_runs_through_the_command(
    forerun: Forerun, shared: Path, tmp_path: Path
) -> None:
    source = shared / "data" / "scaling" / "epoch_chinchilla_svg_extracted.csv"
    answer = forerun(
        "scaling", "fit", source, "--drop-largest", 5, "--json", "--bootstrap", 20
    ).json
    assert answer["n"] == 240
    assert answer["dropped"] == 5
    assert answer["constants"]["E"] == pytest.approx(1.8172, abs=0.005)
    assert answer["constants"]["alpha"] == pytest.approx(0.3473, abs=0.003)
    assert answer["constants"]["beta"] == pytest.approx(0.3672, abs=0.006)


def test_fit_forecasts_a_larger_run(forerun: Forerun, runs_file: Path) -> None:
    words = ("scaling", "fit", runs_file, "--params", "10B", "--tokens", "200B", "--bootstrap", 40)
    forecast = forerun(*words, "--json").json["forecast"]
    truth = 1.9 + 300 * 1e10**-0.32 + 1500 * 2e11**-0.36
    assert forecast["low"] < truth < forecast["high"]
    assert "10 B on 200 B tokens" in forerun(*words).out


def test_outliers_are_named_with_the_constants_without_them(
    forerun: Forerun, runs_file: Path
) -> None:
    runs_file.write_text(runs_file.read_text() + "\n1e9,2e10,9.9")
    answer = forerun("scaling", "fit", runs_file, "--json", "--bootstrap", 20).json
    assert [outlier["position"] for outlier in answer["outliers"]] == [20]
    assert answer["without_outliers"]["E"] == pytest.approx(1.9, rel=0.05)
    shown = forerun("scaling", "fit", runs_file, "--bootstrap", 20)
    assert "cannot explain" in shown.out
    assert "1 of 21 runs" in shown.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "params,tokens,loss"),
        ("params,tokens,loss\n1e9,2e10,nan", "line 2, loss"),
        ("params,tokens,loss\n1e9,2e10,3\n1e9,4e10,2.9", "three sizes"),
        ("\x00\x01binary", "params,tokens,loss"),
    ],
)
def test_unusable_runs_are_refused_in_one_line(
    forerun: Forerun, tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "runs.csv"
    path.write_text(text)
    answer = forerun("scaling", "fit", path)
    assert answer.status == 2
    assert answer.out == ""
    assert words in answer.err
    assert answer.err.count("\n") == 1


def test_a_missing_file_is_refused(forerun: Forerun) -> None:
    answer = forerun("scaling", "fit", "nowhere.csv")
    assert answer.status == 2
    assert "nowhere.csv" in answer.err


def test_loss_answers_as_the_contract_says(forerun: Forerun) -> None:
    answer = forerun("scaling", "loss", "--params", "70B", "--tokens", "1.4T", "--json").json
    assert answer["loss"] == pytest.approx(1.97388, abs=1e-5)
    assert answer["low"] < answer["loss"] < answer["high"]
    assert answer["law"] == "besiroglu2024"
    assert answer["gain_last_doubling"] > answer["gain_next_doubling"] > 0


def test_loss_of_a_law_without_a_loss_is_refused(forerun: Forerun) -> None:
    words = ("scaling", "loss", "--params", "1B", "--tokens", "20B", "--law", "hoffmann2022-a1")
    answer = forerun(*words)
    assert answer.status == 2
    assert "scaling optimum" in answer.err


def test_loss_converts_a_total_count_for_a_law_without_embeddings(forerun: Forerun) -> None:
    words = ("scaling", "loss", "--law", "kaplan2020", "--params", "124M", "--tokens", "10B")
    plain = forerun(*words, "--json").json
    converted = forerun(*words, "--embedding-params", "39.4M", "--json").json
    assert plain["params"] == 124e6
    assert converted["params"] == pytest.approx(84.6e6)
    assert converted["loss"] > plain["loss"]


def test_loss_under_a_fit_of_ones_own_runs_is_sharper(forerun: Forerun, runs_file: Path) -> None:
    words = ("scaling", "loss", "--params", "5B", "--tokens", "100B", "--json")
    own, foreign = forerun(*words, "--runs", runs_file).json, forerun(*words).json
    assert own["high"] - own["low"] < foreign["high"] - foreign["low"]
    assert own["law"] == "runs.csv"


def test_optimum_answers_as_the_contract_says(forerun: Forerun) -> None:
    answer = forerun("scaling", "optimum", "--flops", "5.76e23", "--json").json
    assert answer["params"] == pytest.approx(7.2249e10, rel=1e-3)
    assert answer["tokens_per_param"] == pytest.approx(18.39, rel=1e-3)
    assert answer["params_low"] < answer["params"] < answer["params_high"]
    assert answer["loss_low"] < answer["loss"] < answer["loss_high"]
    assert answer["band"][0] < answer["params"] < answer["band"][1]


def test_optimum_states_what_a_fixed_plan_wastes_and_leaves(forerun: Forerun) -> None:
    answer = forerun(
        "scaling", "optimum", "--flops", "1e22", "--params", "1B", "--tokens", "1T", "--json"
    ).json
    fixed = answer["fixed"]
    assert fixed["budget_left"] == pytest.approx(4e21)
    assert fixed["loss"] > answer["loss"]
    assert 0 < fixed["wasted_share"] < 1


def test_optimum_with_serving_trains_a_smaller_model_longer(forerun: Forerun) -> None:
    answer = forerun(
        "scaling", "optimum", "--flops", "1e22", "--inference-tokens", "1T", "--json"
    ).json
    assert answer["serving"]["params"] < answer["params"]
    assert answer["serving"]["tokens"] > answer["tokens"]
    assert answer["serving"]["training_budget_missing"] > 0


def test_optimum_reports_the_budget_that_a_loss_leaves(forerun: Forerun) -> None:
    answer = forerun("scaling", "optimum", "--flops", "1e22", "--target-loss", "2.3", "--json").json
    assert answer["target"]["budget_left"] == pytest.approx(1e22 - answer["target"]["flops_needed"])


@pytest.mark.parametrize("flops", ["0", "-1", "many", "1e999", "5 apples"])
def test_an_unusable_budget_is_refused(forerun: Forerun, flops: str) -> None:
    answer = forerun("scaling", "optimum", f"--flops={flops}")
    assert answer.status == 2
    assert "--flops" in answer.err


def test_an_unknown_law_is_refused_with_the_nearest(forerun: Forerun) -> None:
    answer = forerun("scaling", "optimum", "--flops", "1e22", "--law", "chinchila2022")
    assert answer.status == 2
    assert "known:" in answer.err


def test_frontier_draws_both_curves(forerun: Forerun) -> None:
    sizes = forerun("scaling", "frontier", "--flops", "1e21", "--points", 9, "--json").json
    assert len(sizes["curve"]) == 9
    assert any(point["in_band"] for point in sizes["curve"])
    budgets = forerun(
        "scaling", "frontier", "--flops", "1e20", "--to", "1e23", "--points", 4, "--json"
    ).json
    losses = [point["loss"] for point in budgets["curve"]]
    assert losses == sorted(losses, reverse=True)
    assert (
        "Best loss against compute"
        in forerun("scaling", "frontier", "--flops", "1e20", "--to", "1e23").out
    )


def test_ladder_lists_runs_within_its_budget(forerun: Forerun) -> None:
    words = ("scaling", "ladder", "--flops", "1e20", "--params", "7B", "--tokens", "140B")
    answer = forerun(*words, "--json").json
    assert answer["flops"] <= 1e20
    assert answer["high"] - answer["low"] < answer["high_before"] - answer["low_before"]
    assert "expected after the ladder" in forerun(*words).out


def test_laws_lists_every_name_of_the_contract(forerun: Forerun) -> None:
    names = {entry["name"] for entry in forerun("scaling", "laws", "--json").json["laws"]}
    assert names >= {
        "hoffmann2022-a1",
        "hoffmann2022-a3",
        "besiroglu2024",
        "kaplan2020",
        "muennighoff2023",
        "gadre2024-c4",
        "joint-moe2025",
        "kumar2024",
    }
    assert "non-embedding" in forerun("scaling", "laws", "kaplan2020").out
    assert forerun("scaling", "laws", "nobody").status == 2


def test_a_law_whose_runs_were_tested_tells_the_error_on_tasks(forerun: Forerun) -> None:
    words = ("scaling", "loss", "--params", "1.4B", "--tokens", "28B", "--law", "gadre2024-rpj")
    answer = forerun(*words, "--json").json
    error = answer["task_error"]
    assert error["value"] == pytest.approx(0.857 - 2.2065 * np.exp(-0.7146 * answer["loss"]))
    assert error["low"] < error["value"] < error["high"]
    assert "17 tasks" in forerun(*words).out
    plain = forerun("scaling", "loss", "--params", "1.4B", "--tokens", "28B", "--json").json
    assert plain["task_error"] is None


def test_a_published_table_is_fitted_by_naming_its_columns(
    forerun: Forerun, tmp_path: Path
) -> None:
    lines = ["family,size,data,c4,u"]
    for params in (1e8, 3e8, 1e9):
        for ratio in (5, 20, 80):
            tokens = params * ratio
            loss = 1.8 + 480 * params**-0.35 + 2085 * tokens**-0.366
            lines.append(f"web,{params},{tokens},{loss},{tokens}")
    lines += ["web,1e9,4e11,2.9,1e11", "books,1e9,2e10,broken,1e9"]
    table = tmp_path / "table.csv"
    table.write_text("\n".join(lines))
    words = ("scaling", "fit", table, "--where", "family=web", "--bootstrap", 20, "--json")
    named = ("--columns", "params=size,tokens=data,loss=c4")
    whole = forerun(*words, *named).json
    assert whole["n"] == 10
    assert any("1 of 10 runs repeat their data" in text for text in whole["warnings"])
    single = forerun(*words, *named, "--single-epoch").json
    assert single["n"] == 9
    assert single["constants"]["alpha"] == pytest.approx(0.35, abs=0.01)
    refused = forerun("scaling", "fit", table, "--columns", "loss")
    assert refused.status == 2
    assert "write NAME=COLUMN" in refused.err
