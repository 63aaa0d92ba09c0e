"""`forerun batch`: each part appears when its options are given."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Forerun = Callable[..., Any]


def test_nothing_given_is_refused_with_what_to_give(forerun: Forerun) -> None:
    answer = forerun("batch")
    assert answer.status == 2
    assert "--global-batch" in answer.err


def test_a_run_gets_a_critical_batch_a_table_and_rates(forerun: Forerun) -> None:
    words = (
        "batch",
        "--params",
        "7B",
        "--tokens",
        "140B",
        "--seq-len",
        2048,
        "--global-batch",
        1024,
    )
    answer = forerun(*words, "--tokens-per-second", "100k", "--json").json
    assert answer["critical_batch"]["tokens"] == pytest.approx(4.96e6, rel=0.01)
    own = [point for point in answer["batches"] if point["batch_tokens"] == 2048 * 1024]
    assert own[0]["seconds"] == pytest.approx(own[0]["tokens"] / 1e5)
    assert {entry["name"] for entry in answer["learning_rate"]["published"]} >= {"steplaw2025"}
    assert "The same loss at other batches" in forerun(*words).out


def test_a_measured_noise_scale_comes_before_any_law(forerun: Forerun) -> None:
    answer = forerun(
        "batch", "--params", "7B", "--tokens", "140B", "--noise-scale", "2M", "--json"
    ).json
    assert answer["critical_batch"]["tokens"] == 2e6
    assert "measured" in answer["critical_batch"]["source"]


def test_a_measurement_on_a_short_run_is_carried_to_a_long_one(forerun: Forerun) -> None:
    answer = forerun(
        "batch", "--tokens", "100B", "--measured-batch", "500k", "--measured-tokens", "1B", "--json"
    ).json
    assert answer["critical_batch"]["tokens"] == pytest.approx(5e5 * 100**0.47)


def test_the_epoch_of_the_deepspeed_question(forerun: Forerun) -> None:
    answer = forerun(
        "batch",
        "--examples",
        240000,
        "--count",
        8,
        "--micro-batch",
        1,
        "--global-batch",
        32,
        "--json",
    ).json
    epoch = answer["accumulation"]
    assert (epoch["accumulation"], epoch["loader_iterations"], epoch["optimizer_steps"]) == (
        4,
        30000,
        7500,
    )
    assert answer["critical_batch"] is None


def test_a_window_is_weighted_by_tokens(forerun: Forerun) -> None:
    words = ("batch", "--window-tokens", "10,90", "--window-losses", "4,2", "--accumulation", 4)
    window = forerun(*words, "--json").json["window"]
    assert window["loss"] == pytest.approx(2.2)
    assert window["mean_of_means"] == 3.0
    assert window["sum_of_means"] == 6.0
    assert window["divided_by_configured"] == 1.5
    assert "token-weighted" in forerun(*words).err


def test_a_rate_is_carried_to_the_batch(forerun: Forerun) -> None:
    words = ("batch", "--learning-rate", "3e-4", "--from-batch", 256, "--global-batch", 1024)
    assert forerun(*words, "--json").json["learning_rate"]["carried"]["rate"] == pytest.approx(6e-4)
    sgd = forerun(*words, "--optimizer", "sgd", "--json").json
    assert sgd["learning_rate"]["carried"]["rate"] == pytest.approx(1.2e-3)
    assert forerun(*words, "--optimizer", "unknown").status == 2


def test_the_bound_of_noisy_gradients(forerun: Forerun) -> None:
    answer = forerun(
        "batch", "--rounding", 2**-10, "--smoothness", 1, "--gradient-variance", 0.5, "--json"
    ).json
    assert answer["rate_bound"] == pytest.approx(0.00390625)


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (
            ("--examples", 100, "--count", 8, "--micro-batch", 1, "--global-batch", 30),
            "global_batch",
        ),
        (("--window-tokens", "10,x", "--window-losses", "1,2"), "--window-tokens"),
        (("--window-tokens", "10,20"), "--window-losses"),
        (("--rounding", "0.001"), "--smoothness"),
        (("--params", "7 apples", "--tokens", "1T"), "--params"),
        (("--measured-batch", "1M"), "--measured-batch"),
    ],
)
def test_what_cannot_be_is_refused_by_name(
    forerun: Forerun, words: tuple[object, ...], named: str
) -> None:
    answer = forerun("batch", *words)
    assert answer.status == 2
    assert named in answer.err
