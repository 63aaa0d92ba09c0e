"""Cases of kind H: the loss that another recipe saw, and early stops that are not safe."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Answer

PRINTED = 2.237666982866588  # huggingface/datablations#9, said to be the output of the code below
OBSERVED = 2.38  # nats per token, the curve that the same reader looked at


@pytest.fixture
def answer(forerun: Callable[..., Answer]) -> Any:
    words = ("--params", "8.7e9", "--tokens", "178e9", "--unique-tokens", "25.4e9")
    found = forerun("scaling", "loss", *words, "--law", "muennighoff2023", "--json")
    assert found.status == 0
    return found.json


def loss_of_the_thread(unique_tokens: float) -> float:
    """The data-constrained law as the thread's code writes it (arXiv:2305.16264, eq. 5 and 6)."""
    alpha = beta = 0.3526596
    A, B, E = math.exp(6.255414), math.exp(7.3049974), math.exp(0.6254804)
    N, D, R_N, R_D = 8.7e9, 178e9, 5.309743, 15.387756
    G = (alpha * A / (beta * B)) ** (1 / (alpha + beta))
    U_N = min((unique_tokens * G) ** (beta / alpha) * G, N)
    excess, repeats = max(N / U_N - 1, 0), D / unique_tokens - 1
    params = U_N + R_N * U_N * (1 - math.exp(-excess / R_N))
    tokens = unique_tokens + R_D * unique_tokens * (1 - math.exp(-repeats / R_D))
    return E + A / params**alpha + B / tokens**beta


def test_u70_the_law_gives_what_the_code_of_the_thread_gives(answer: Any) -> None:
    assert answer["loss"] == pytest.approx(loss_of_the_thread(25.4e9), rel=1e-9)
    assert answer["loss"] == pytest.approx(loss_of_the_thread(178e9 / 7), rel=1e-4)


@pytest.mark.xfail(
    strict=True,
    raises=AssertionError,
    reason="the thread's code gives 2.22608: the figure printed below it is not its",
)
def test_u70_the_law_gives_the_figure_printed_in_the_thread(answer: Any) -> None:
    assert answer["loss"] == pytest.approx(PRINTED, rel=1e-6)


def test_u70_the_interval_covers_what_the_other_recipe_saw(answer: Any) -> None:
    assert answer["low"] < OBSERVED < answer["high"]
    assert answer["high"] - answer["loss"] >= 0.15
    assert answer["loss"] - answer["low"] >= 0.15
    assert "data and tokenizers" in answer["reason"]


def test_u72_a_small_fine_tune_is_stopped_by_validation(
    forerun: Callable[..., Answer], tmp_path: Path
) -> None:
    log = tmp_path / "sft.csv"  # best after the first of 15 epochs
    losses = [1.10, 1.14, 1.21, 1.33, 1.47, 1.58, 1.66]
    rows = "\n".join(f"{1625 * (epoch + 1)},{loss}" for epoch, loss in enumerate(losses))
    log.write_text(f"step,eval_loss\n{rows}\n")
    found = forerun("stop", log, "--task", "full-ft", "--epochs", 15, "--json").json
    assert found["verdict"] == "stop"
    assert found["stop_at"]["step"] == 1625
    assert any("stop by validation, expect 1-3 epochs" in text for text in found["advice"])


def test_u72_half_a_cosine_is_not_a_shorter_run(
    forerun: Callable[..., Answer], tmp_path: Path
) -> None:
    log = tmp_path / "pretrain.csv"
    rows = [
        f"{step},{3.0 + 0.002 * (300_000 / step) ** 0.5}" for step in range(3000, 300_001, 3000)
    ]
    log.write_text("step,val_loss\n" + "\n".join(rows))
    told = ("--schedule", "cosine", "--total-steps", 600_000, "--json")
    found = forerun("stop", log, *told).json
    assert found["verdict"] == "stop"
    text = " ".join(found["advice"])
    assert "replan the schedule to the shorter horizon" in text
    assert "do not report the mid-cosine loss" in text
