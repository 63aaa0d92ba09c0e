"""Cases of kind E: steps, accumulation, and degrees that divide."""

from __future__ import annotations

import pytest

from planner.engine.layout import valid_tensor_degrees
from planner.errors import PlannerError
from planner.planning.candidates import candidates
from planner.planning.plan import plan
from planner.planning.scenario import scenario
from planner.run import Data, Run, run_length
from planner.scaling.accumulation import window_loss


def test_u49_a_step_is_the_whole_batch() -> None:
    length = run_length(Data(epochs=1, dataset_samples=240_000), seq_len=512, global_batch=32)
    assert length.steps == 7500
    assert length.micro_steps(accumulation=4) == 30_000


def test_u49_the_accumulation_follows() -> None:
    made = plan(
        Run(
            model="bert-base",
            data={"epochs": 1, "dataset_samples": 240_000, "seq_len": 512},
            hardware={"sku": "v100-sxm2-32gb", "count": 8},
            training={"micro_batch": 1, "global_batch": 32, "layout": "tp=1", "precision": "fp16"},
        )
    )
    assert made.chosen["accumulation"] == 4
    assert made.run.steps == 7500


def test_u51_the_loss_of_a_window_weighs_tokens() -> None:
    window = window_loss([10, 90], [4.0, 2.0], configured=4)
    assert window.loss == pytest.approx(2.2)
    assert window.mean_of_means == pytest.approx(3.0)
    assert window.sum_of_means == pytest.approx(6.0)
    assert window.divided_by_configured == pytest.approx(1.5)


def test_u51_a_plan_with_accumulation_says_so() -> None:
    made = plan(_on_eight("llama-3-70b", accumulation=4))
    assert any("weight the loss by tokens" in text for text in made.warnings)


DEGREES = {
    "qwen2.5-7b": (28, 4, [1, 2, 4]),
    "qwen2.5-1.5b": (12, 2, [1, 2, 4]),
    "llama-33b": (52, 52, [1, 2, 4]),
    "llama-3-70b": (64, 8, [1, 2, 4, 8]),
}


@pytest.mark.parametrize(("heads", "kv_heads", "valid"), DEGREES.values())
def test_u53_degrees_divide_heads_on_eight_devices(
    heads: int, kv_heads: int, valid: list[int]
) -> None:
    dividing = [tp for tp in valid_tensor_degrees(heads, kv_heads, most=8) if 8 % tp == 0]
    assert dividing == valid


@pytest.mark.parametrize("model", DEGREES)
def test_u53_the_planner_tries_only_valid_degrees(model: str) -> None:
    tried = {int(tp) for tp in candidates(scenario(_on_eight(model))).grid["tp"]}
    assert tried == set(DEGREES[model][2])


@pytest.mark.parametrize("model", ["qwen2.5-7b", "qwen2.5-1.5b", "llama-33b"])
def test_u53_tensor_parallel_8_is_refused_with_the_valid_degrees(model: str) -> None:
    with pytest.raises(PlannerError, match="allow 1, 2, 4"):
        plan(_on_eight(model, layout="tp=8"))


def test_u53_replicated_key_value_heads_are_warned_about() -> None:
    made = plan(_on_eight("qwen2.5-1.5b", layout="tp=4"))
    assert any("2 key-value heads" in text for text in made.warnings)


def _on_eight(model: str, **training: object) -> Run:
    return Run(
        model=model,
        data={"samples": 1000, "seq_len": 512},
        hardware={"sku": "a100-sxm4-80gb", "count": 8},
        training={"task": "full-ft", "micro_batch": 1, **training},
    )
