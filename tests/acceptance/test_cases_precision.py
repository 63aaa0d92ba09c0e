"""Cases of kind D: which formats a part computes in, and which a model survives."""

from __future__ import annotations

import pytest

import hardware_db
from planner.planning.plan import plan
from planner.planning.precision import advised_precision
from planner.run import Run


@pytest.mark.parametrize(
    ("sku", "words"),
    [
        ("t4", "fp16 with loss scaling"),
        ("v100-sxm2-32gb", "fp16 with loss scaling"),
        ("rtx-2080-ti", "fp16 with loss scaling"),
        ("p100-pcie-16gb", "fp32 or fp16 with loss scaling (no tensor cores)"),
        ("a100-sxm4-80gb", "bf16"),
        ("rtx-3090", "bf16"),
    ],
)
def test_u44_bf16_is_advised_from_capability_8_on(sku: str, words: str) -> None:
    assert advised_precision(hardware_db.accelerator(sku)).words == words


@pytest.mark.parametrize("sku", ["t4", "v100-sxm2-32gb", "rtx-2080-ti", "p100-pcie-16gb"])
def test_u44_tf32_and_bf16_are_not_native_before_it(sku: str) -> None:
    part = hardware_db.accelerator(sku)
    assert part.supports("bf16") == "emulated"
    assert part.supports("tf32") == "unsupported"


@pytest.mark.parametrize("sku", ["t4", "v100-sxm2-16gb", "rtx-2080-ti", "p100-pcie-16gb"])
def test_u44_a_plan_warns_and_says_what_to_use(sku: str) -> None:
    made = plan(_run("gpt2-124m", sku, "bf16"))
    (warning,) = [text for text in made.warnings if "bf16 is emulated" in text]
    assert "capability 8.0" in warning
    assert advised_precision(hardware_db.accelerator(sku)).words in warning


@pytest.mark.parametrize("model", ["t5-large", "flan-t5-xl"])
def test_u45_a_bf16_model_in_fp16_is_warned_about_with_the_way_out(model: str) -> None:
    made = plan(_run(model, "v100-sxm2-32gb", "fp16"))
    (warning,) = [text for text in made.warnings if "trained in bf16" in text]
    assert "fp32 on v100-sxm2-32gb (twice the memory, no tensor cores)" in warning
    assert "accelerator with bf16" in warning


def test_u45_on_ampere_the_way_out_is_bf16() -> None:
    made = plan(_run("t5-large", "a100-sxm4-80gb", "fp16"))
    assert any("NaN; use bf16" in text for text in made.warnings)


def _run(model: str, sku: str, precision: str) -> Run:
    return Run(
        model=model,
        data={"samples": 10_000, "seq_len": 128},
        hardware={"sku": sku, "count": 1},
        training={"task": "full-ft", "precision": precision},
    )
