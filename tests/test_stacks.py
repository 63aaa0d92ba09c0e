"""Training stacks as data."""

from __future__ import annotations

import pytest

from planner.engine import choices
from planner.errors import PlannerError
from planner.stacks import stack, stacks


def test_every_stack_names_its_source_and_its_date() -> None:
    for row in stacks().values():
        assert len(row.source) > 20, row.name
        assert 2021 <= int(row.since[:4]) <= row.year, row.name


def test_the_stacks_that_the_contract_and_the_engine_name_exist() -> None:
    for name in ("megatron", "fsdp", "deepspeed", "hf-trainer", "maxtext", "pytorch-fsdp"):
        assert stack(name).optimizer in choices.OPTIMIZERS


def test_names_are_read_as_people_write_them() -> None:
    assert stack("Megatron_LM") is stack("megatron")
    assert stack("FMS-FSDP").name == "pytorch-fsdp"


def test_no_alias_hides_another_stack() -> None:
    words = [word for row in stacks().values() for word in (row.name, *row.aliases)]
    assert len(words) == len(set(words))


def test_an_unknown_stack_is_refused_with_the_nearest_names() -> None:
    with pytest.raises(PlannerError, match=r"training\.stack: 'torchtitanic'.*torchtitan"):
        stack("torchtitanic")


@pytest.mark.parametrize(
    ("name", "total"),
    [
        ("megatron", 18),  # distributed-optimizer guide: bf16 with FP32 gradients
        ("megatron-2021", 20),  # FP16 with FP32 master and FP32 copy of the gradients
        ("megatron-bridge", 16),  # performance recipes reduce and keep BF16 gradients
        ("composer", 16),
        ("torchtitan", 16),
        ("torchtune", 8),  # BF16 everything
        ("llm.c", 16),
    ],
)
def test_bytes_per_parameter_are_what_the_stack_documents(name: str, total: float) -> None:
    assert stack(name).bytes_per_parameter == total


def test_megatron_keeps_its_gradients_whole_under_a_distributed_optimizer() -> None:
    row = stack("megatron")
    assert row.sharding == "zero1"
    assert (row.state_shard_from, row.grad_shard_from) == ("zero1", "zero2")


def test_eras_differ_where_the_software_changed() -> None:
    assert stack("megatron-2021").attention == "sdpa-math"
    assert stack("megatron").attention == "flash"
    assert stack("torchtitan").loss == "eager"
    assert stack("torchtitan-2026").loss == "chunked"
    assert stack("composer-2023-02").flash == "fa1"
