"""Trials that really train a torch module on this machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.errors import PlannerError
from planner.run import Run
from planner.search.learned import Trials
from planner.search.measuring import measured_search
from planner.search.module_file import subject
from planner.search.restrictions import restrictions

pytest.importorskip("torch")

FILE = Path(__file__).parent / "small_model.py"
EAGER = ["compile=none"]


def searched(function: str = "tiny", trials: int = 20, **flags: list[str]) -> dict[str, Any]:
    run = Run(model=f"{FILE}:{function}").changed({"training.global_batch": 4})
    limits = restrictions(fix=EAGER, **flags)
    return measured_search(run, limits, Trials(number=trials), device="cpu")


def test_every_setting_is_trained_once_and_the_fastest_wins() -> None:
    answer = searched(forbid=["precision=fp16"])
    settings = {(row["precision"], row["micro_batch"]) for row in answer["measured"]}
    assert settings <= {(word, size) for word in ("fp32", "bf16") for size in (1, 2, 4)}
    assert len(settings) == len(answer["measured"])
    feasible = [row["seconds"] for row in answer["measured"] if row["feasible"]]
    assert answer["best"]["seconds"] == min(feasible) > 0
    assert answer["samples_per_second"] == pytest.approx(4 / min(feasible))
    assert all(row["micro_batch"] * row["accumulation"] == 4 for row in answer["measured"])


def test_accumulation_does_not_change_what_is_computed() -> None:
    answer = searched(trials=3, forbid=["precision=bf16,fp16"])
    assert all(row["error"] < 1e-4 for row in answer["measured"])


def test_running_out_of_memory_is_an_infeasible_trial() -> None:
    answer = searched("greedy", forbid=["precision=bf16,fp16"])
    by_size = {row["micro_batch"]: row for row in answer["measured"]}
    assert by_size[1]["feasible"]
    assert not by_size[4]["feasible"]
    assert by_size[4]["seconds"] is None
    assert "out of memory" in by_size[4]["failure"]
    assert answer["best"]["micro_batch"] in (1, 2)


def test_numerics_that_leave_fp32_are_infeasible() -> None:
    answer = searched("rough", forbid=["precision=fp16"], bound=["micro_batch=4..4"])
    by_format = {row["precision"]: row for row in answer["measured"]}
    assert not by_format["bf16"]["feasible"]
    assert by_format["bf16"]["error"] > 0.05
    assert by_format["fp32"]["feasible"]
    assert answer["best"]["precision"] == "fp32"


def test_the_command_trains(forerun: Callable[..., Any]) -> None:
    words = ["--model", f"{FILE}:tiny", "--global-batch", 2, "--fix", "precision=fp32"]
    answer = forerun("search", "--measure", *words, "--fix", "compile=none", "--json").json
    assert {row["micro_batch"] for row in answer["measured"]} == {1, 2}
    shown = forerun("search", "--measure", *words, "--fix", "compile=none", "--trials", 1)
    assert "a step" in shown.out


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("llama-3-8b", "need file.py:function"),
        ("no_such.py:f", "there is no file"),
        (f"{FILE}:tin", "it has tiny"),
    ],
)
def test_what_cannot_be_trained_is_refused(model: str, says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        subject(model)


def test_a_function_that_returns_no_module_is_refused() -> None:
    with pytest.raises(PlannerError, match="not a torch module"):
        searched("not_a_module")
