"""Cases of kind C: time, throughput and utilisation of runs that people reported."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import hardware_db
from planner.models import flops_per_token, load_model
from planner.models.flops import matmul_weights_per_token
from planner.planning.check import check_mfu, mfu_of
from planner.planning.plan import plan
from planner.planning.result import Plan
from planner.run import Run

DAY = 86_400.0


def gpt2() -> Plan:
    return plan(
        Run(
            model="gpt2-124m",
            data={"tokens": 600_000 * 491_520, "seq_len": 1024},
            hardware={"sku": "a100-sxm4-40gb", "count": 8},
            training={"micro_batch": 12, "accumulation": 5, "stack": "nanogpt"},
        )
    )


def test_u31_gpt2_takes_four_days_at_29_percent() -> None:
    made = gpt2()
    assert made.run.tokens == 294_912_000_000
    assert made.run.steps == 600_000
    assert made.chosen["tokens_per_step"] == 491_520
    assert made.run.seconds / DAY == pytest.approx(4.0, rel=0.30)
    assert made.throughput.mfu == pytest.approx(0.292, rel=0.30)


def test_u31_the_interval_of_the_loss_covers_what_was_reached() -> None:
    loss = gpt2().loss
    assert loss.low is not None
    assert loss.high is not None
    assert loss.low < 2.85 < loss.high


@pytest.mark.xfail(
    strict=True, reason="2.69 by besiroglu2024 against 2.85 on OpenWebText: 0.16 off"
)
def test_u31_loss_within_a_tenth() -> None:
    assert gpt2().loss.value == pytest.approx(2.85, abs=0.1)


def alpaca_lengths(folder: Path) -> str:
    """Lengths about the reported median of 110 tokens, cut at 512.

    Only the median is published: a log-normal spread of 0.5 stands in for the rest.
    """
    file = folder / "alpaca.csv"
    rows = [
        f"{length},{1e6 * math.exp(-((math.log(length / 110)) ** 2) / (2 * 0.5**2)) / length:.3f}"
        for length in range(30, 513, 4)
    ]
    file.write_text("\n".join(["length,count", *rows]), encoding="utf-8")
    return str(file)


def alpaca(lengths: str | None, **changes: Any) -> Plan:
    run = Run(
        model="llama-7b",
        data={"samples": 3 * 52_002, "seq_len": 512, "lengths": lengths},
        hardware={"sku": "a100-sxm4-80gb", "count": 4},
        training={
            "task": "full-ft",
            "micro_batch": 4,
            "global_batch": 128,
            "layout": "sharding=fsdp",
            "attention": "sdpa-math",
            "stack": "hf-trainer-4",
        },
    )
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return plan(run.changed(given))


def test_u33_padding_to_512_overstates_the_work_about_threefold(tmp_path: Path) -> None:
    real = alpaca(alpaca_lengths(tmp_path))
    padded = alpaca(None)
    assert real.chosen["lengths"]["mean_tokens"] == pytest.approx(512 / 4, rel=0.15)
    assert 1.6 < padded.run.parts["training"] / real.run.parts["training"] < 4
    assert real.run.steps == 1219


@pytest.mark.xfail(
    strict=True, reason="2,667 s against 4,745 s: eager kernels of 1,000 tokens run slower"
)
def test_u33_four_devices(tmp_path: Path) -> None:
    made = alpaca(alpaca_lengths(tmp_path))
    assert made.run.parts["training"] == pytest.approx(4745, rel=0.30)


@pytest.mark.xfail(
    strict=True, reason="1,493 s against about 2,400 s: eager kernels of 1,000 tokens run slower"
)
def test_u33_eight_devices(tmp_path: Path) -> None:
    made = alpaca(alpaca_lengths(tmp_path), hardware__count=8)
    assert made.run.parts["training"] == pytest.approx(2400, rel=0.30)


@pytest.mark.xfail(
    strict=True, reason="3.7 h against about 58 h: offloading FSDP adds gradients up on the host"
)
def test_u33_offload_on_40_gb_within_twice(tmp_path: Path) -> None:
    made = alpaca(
        alpaca_lengths(tmp_path),
        hardware__sku="a100-sxm4-40gb",
        training__micro_batch=2,
        training__offload="params+optimizer",
    )
    assert 29 < made.run.seconds / 3600 < 116


@pytest.mark.parametrize(
    ("sku", "rate", "mfu"), [("a100-sxm4-80gb", 3700, 0.556), ("h100-sxm5-80gb", 9600, 0.455)]
)
def test_u34_reported_rates_of_7b_pretraining(sku: str, rate: float, mfu: float) -> None:
    peak = hardware_db.accelerator(sku).peak("bf16")
    assert peak is not None
    flops = flops_per_token(load_model("llama-2-7b"), 4096)
    assert mfu_of(rate, flops_per_token=flops, peak=peak) == pytest.approx(mfu, abs=0.02)


@pytest.mark.parametrize(("sku", "rate"), [("a100-sxm4-80gb", 3700), ("h100-sxm5-80gb", 9600)])
def test_u34_we_predict_the_reported_rates_within_a_quarter(sku: str, rate: float) -> None:
    made = plan(
        Run(
            model="llama-2-7b",
            data={"tokens": "2T", "seq_len": 4096},
            hardware={"sku": sku, "count": 128},
            training={
                "layout": "sharding=fsdp",
                "stack": "pytorch-fsdp",
                "micro_batch": 2,
                "global_batch": 1024,
            },
        )
    )
    assert made.throughput.tokens_per_second_per_device == pytest.approx(rate, rel=0.25)


@pytest.mark.parametrize(
    ("sku", "tflops"),
    [
        ("rtx-3090", 71),
        ("rtx-4090", 165.2),
        ("rtx-5090", 209.5),
        ("rtx-a6000", 154.8),
        ("rtx-6000-ada", 364),
        ("a100-sxm4-80gb", 312),
        ("h100-sxm5-80gb", 989),
        ("h100-nvl-94gb", 835.5),
        ("h200-sxm5-141gb", 989),
        ("rtx-3070-ti", 43.5),
    ],
)
def test_u35_peaks_are_dense_with_fp32_accumulation(sku: str, tflops: float) -> None:
    peak = hardware_db.accelerator(sku).peak("bf16")
    assert peak == pytest.approx(tflops * 1e12, rel=0.02)


def test_u36_an_mfu_above_one_is_refused_and_explained() -> None:
    found = check_mfu(3.3759, devices=8)
    assert not found.possible
    assert "42.2 % of each" in found.says


def test_u38_forward_products_are_parameters_times_tokens() -> None:
    model = load_model("llama-2-7b")
    forward = matmul_weights_per_token(model, 128) * 128
    assert forward == pytest.approx(8.5e11, rel=0.03)
    attention_free = 6 * matmul_weights_per_token(model, 128)
    assert flops_per_token(model, 128) == pytest.approx(attention_free, rel=0.03)


@pytest.mark.parametrize(("rate", "hours", "bottleneck"), [(300, 106.8, "input"), (3000, 0, "gpu")])
def test_u41_images_are_bound_by_the_slower_of_loader_and_device(
    rate: float, hours: float, bottleneck: str
) -> None:
    """The mechanism, with a vision transformer: ResNet-50 itself needs a traced module."""
    made = plan(
        Run(
            model="vit-base",
            data={"samples": 90 * 1_281_167, "loader_rate": rate},
            hardware={"sku": "rtx-3090", "count": 1},
            training={"global_batch": 512, "precision": "fp16"},
        )
    )
    assert made.step.bottleneck == bottleneck
    if hours:
        assert made.run.seconds / 3600 == pytest.approx(hours, rel=0.15)
        assert made.throughput.samples_per_second == pytest.approx(rate)
    else:
        assert 300 < made.throughput.samples_per_second < rate
