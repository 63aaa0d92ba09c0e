"""Plans of a traced module: the preset resnet-50, whose table ships."""

from __future__ import annotations

import json

import pytest

from planner.cli.main import main
from planner.errors import PlannerError
from planner.planning.plan import plan, planned
from planner.run import Run

IMAGENET = 1_281_167


def run_of(**changes: object) -> Run:
    base = Run(
        model="resnet-50",
        data={"epochs": 90, "dataset_samples": IMAGENET},
        hardware={"sku": "a100-sxm4-80gb", "count": 8},
        training={"precision": "bf16", "global_batch": 2048, "optimizer": "sgd-momentum"},
    )
    return base.changed(changes)


def test_resnet_50_has_the_parameters_and_products_that_others_count() -> None:
    made = plan(run_of())
    # torchvision's documentation of resnet50: 25,557,032 parameters, 4.09 GFLOPS (multiply-adds)
    assert made.model.params_total == 25_557_032
    table = planned(run_of()).scenario.model.table
    assert table is not None
    forward = [row for row in table.work("bf16").rows if row.direction == "forward"]
    multiply_adds = sum(row.flops[1] * row.count for row in forward) / 2
    assert multiply_adds == pytest.approx(4.09e9, rel=0.002)


def test_a_plan_counts_samples_where_others_count_tokens() -> None:
    made = plan(run_of())
    assert made.run.samples == 90 * IMAGENET
    assert made.run.epochs == pytest.approx(90)
    assert made.run.tokens is made.throughput.tokens_per_second is made.model.flops_per_token
    assert made.run.tokens is None
    assert made.throughput.samples_per_second == pytest.approx(2048 / made.step.seconds)
    assert made.loss.value is None
    assert "traced module" in (made.loss.reason or "")


def test_parts_of_step_and_memory_add_up() -> None:
    made = plan(run_of())
    assert sum(made.step.parts.values()) == pytest.approx(made.step.seconds)
    assert sum(made.memory.parts.values()) == pytest.approx(made.memory.peak_bytes)


def test_evidence_says_that_it_is_a_traced_module() -> None:
    assert any("traced module" in reason for reason in plan(run_of()).evidence.reasons)


@pytest.mark.parametrize("sku", ["h100-sxm5-80gb", "t4", "rtx-4090", "mi300x-192gb", "gaudi2-96gb"])
def test_it_plans_on_other_accelerators(sku: str) -> None:
    made = plan(run_of(**{"hardware.sku": sku, "hardware.interconnect": 200}))
    assert made.step.seconds > 0


def test_one_device_communicates_nothing() -> None:
    made = plan(run_of(**{"hardware.count": 1}))
    assert made.step.parts["data_parallel"] == 0


def test_recomputation_costs_time_and_saves_memory() -> None:
    fixed = {"training.micro_batch": 256}
    plain, full = plan(run_of(**fixed)), plan(run_of(**fixed, **{"training.recompute": "full"}))
    assert full.memory.peak_bytes < 0.6 * plain.memory.peak_bytes
    assert full.step.parts["recompute"] > 0
    assert full.throughput.hfu > full.throughput.mfu


def test_sharding_divides_the_states() -> None:
    fixed = {"training.micro_batch": 1, "training.global_batch": 8, "training.optimizer": "adamw"}
    sizes = [
        plan(run_of(**fixed, **{"training.layout": f"sharding={word}"})).memory.peak_bytes
        for word in ("none", "zero1", "zero3")
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert len(set(sizes)) == 3


def test_memory_grows_with_the_micro_batch_by_what_a_sample_keeps() -> None:
    small, large = (
        plan(run_of(**{"training.micro_batch": size})).memory.parts["activations"]
        for size in (128, 256)
    )
    table = planned(run_of()).scenario.model.table
    assert table is not None
    assert (large - small) / 128 == pytest.approx(table.work("bf16").saved[1])


@pytest.mark.parametrize(
    ("changes", "field", "remedy"),
    [
        ({"data.tokens": "1B"}, "data.tokens", "samples"),
        ({"data.seq_len": 128}, "data.seq_len", "input_shape"),
        ({"data.input_shape": "3,32,32"}, "data.input_shape", "3,224,224"),
        ({"training.layout": "tp=2"}, "training.layout.tp", "tensor"),
        ({"training.layout": "pp=2"}, "training.layout.pp", "pipeline"),
        ({"training.layout": "sharding=hsdp"}, "training.layout.sharding", "zero3"),
        ({"training.precision": "fp8", "hardware.sku": "h100-sxm5-80gb"}, "precision", "bf16"),
        ({"training.task": "lora"}, "training.task", "pretrain"),
        ({"training.recompute": "selective"}, "training.recompute", "full"),
        ({"training.optimizer": "muon"}, "training.optimizer", "adamw"),
        ({"training.stack": "megatron"}, "training.stack", "pytorch"),
    ],
)
def test_what_a_trace_does_not_tell_is_refused(
    changes: dict[str, object], field: str, remedy: str
) -> None:
    with pytest.raises(PlannerError, match=remedy) as caught:
        plan(run_of(**changes))
    assert field in caught.value.field


def test_the_command_answers_in_samples(capsys: pytest.CaptureFixture[str]) -> None:
    words = "plan --model resnet-50 --samples 1M --sku t4 --count 1 --precision fp16"
    assert main(words.split()) == 0
    shown = capsys.readouterr().out
    assert "samples/s" in shown
    assert "token" not in shown.replace("nats/token", "")
    assert main([*words.split(), "--json", "--explain"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["throughput"]["tokens_per_second"] is None
    assert any("convolution" in line for each in answer["explain"] for line in each["lines"])


def test_accelerators_are_compared_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    words = "compare --model resnet-50 --samples 1M --count 1 --skus t4,a100-sxm4-80gb --json"
    assert main(words.split()) == 0
    ranking = json.loads(capsys.readouterr().out)["ranking"]
    assert [row["sku"] for row in ranking] == ["a100-sxm4-80gb", "t4"]


def test_the_model_command_shows_its_operations(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["model", "resnet-50", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["params_total"] == 25_557_032
    assert answer["flops_per_token"] is None
    assert any(row["shapes"] == "[b,3,224,224] [64,3,7,7]" for row in answer["operations"])
