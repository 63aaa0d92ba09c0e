"""What no plan can take into account is refused by field, value and remedy."""

from __future__ import annotations

import pytest

from planner.errors import PlannerError
from planner.planning.plan import plan
from tests.planning.jobs import fine_tune, job


@pytest.mark.parametrize(
    ("changes", "field", "remedy"),
    [
        ({"hardware.sku": "H100"}, "hardware.sku", "h100-pcie-80gb"),
        ({"hardware.sku": "h100x"}, "hardware.sku", "nearest known"),
        ({"hardware.profile": "mine.json"}, "hardware.profile", "cannot be read"),
        ({"data.input_shape": "3,224,224"}, "data.input_shape", "transformer"),
        ({"model": "net.py:make"}, "model", "no file net.py"),
        ({"model": "lama-3-8b"}, "model", "presets"),
        ({"hardware.interconnect": "warp"}, "hardware.interconnect", "nearest known"),
        ({"hardware.interconnect": "warp", "hardware.count": 8}, "hardware.interconnect", "known"),
        ({"hardware.sku": "gh200-96gb"}, "hardware.interconnect", "Gbit/s"),
        ({"hardware.power_limit": 3000}, "hardware.power_limit", "700 W"),
        ({"hardware.power_limit": 5}, "hardware.power_limit", "700 W"),
        ({"training.precision": "nvfp4"}, "training.precision", "no fp4 units"),
        ({"training.layout": "tp=64"}, "training.layout.tp", "32 heads"),
        ({"training.layout": "ep=4"}, "training.layout.ep", "no experts"),
        ({"training.layout": "cp=32", "data.seq_len": 100}, "training.layout.cp", "2·cp"),
        ({"training.layout": "pp=64"}, "training.layout.pp", "32 layers"),
        ({"price.provider": "corner shop"}, "price.provider", "known"),
        ({"price.region": "us-esat-1"}, "price.region", "us-east-1"),
        ({"price.region": "us-esat-1", "price.provider": "aws"}, "price.region", "us-east-1"),
        ({"training.stack": "megatronn"}, "training.stack", "megatron"),
        ({"data.seq_len": None}, "data.seq_len", "8192"),
        ({"hardware.per_node": 7}, "hardware.per_node", "must divide"),
        ({"training.global_batch": 100}, "training.global_batch", "64"),
    ],
)
def test_a_wrong_field_is_named(changes: dict[str, object], field: str, remedy: str) -> None:
    with pytest.raises(PlannerError, match=remedy) as caught:
        plan(job().changed(changes))
    assert caught.value.field == field


@pytest.mark.parametrize("sku", ["rtx-3090", "a100-sxm4-80gb"])
def test_fp8_is_refused_below_capability_8_9(sku: str) -> None:
    with pytest.raises(PlannerError, match=r"8\.9"):
        plan(fine_tune(hardware__sku=sku, training__precision="fp8"))


def test_a_processor_needs_its_memory_stated() -> None:
    run = fine_tune("gpt2-124m", hardware__sku="xeon-8480plus-amx")
    with pytest.raises(PlannerError, match="depends on the machine"):
        plan(run)
    made = plan(run.changed({"hardware.host_memory": "512GiB"}))
    assert made.memory.capacity_bytes == 512 * 2**30


def test_several_processors_need_a_known_link() -> None:
    run = fine_tune(hardware__sku="xeon-8480plus-amx", hardware__count=2)
    with pytest.raises(PlannerError, match="link between accelerators"):
        plan(run)
