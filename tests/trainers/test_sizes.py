"""Whatever plan a search can propose, the exported numbers multiply to its devices and batch."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.trainers import TARGETS, Job, export
from tests.trainers.jobs import job, jobs
from tests.trainers.read_back import sizes

FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def _agrees(target: str, plan: Job) -> None:
    """Every file's numbers are the plan's, as the trainer multiplies them."""
    made = export(target, plan)
    for file in made.files:
        said = sizes(made, file, plan.made.num_devices)
        assert said.devices in (None, plan.made.num_devices)
        assert said.mesh in (None, plan.made.num_devices)
        assert said.micro_batch in (None, plan.made.micro_batch)
        assert said.accumulation in (None, plan.made.accumulation)
        assert said.global_batch in (None, plan.made.global_batch)


@given(plan=jobs(), target=st.sampled_from(sorted(TARGETS)))
@FEW
def test_exported_numbers_multiply_to_the_devices_and_the_global_batch(
    plan: Job, target: str
) -> None:
    try:
        _agrees(target, plan)
    except PlannerError as refused:
        assert refused.field.startswith(("training.", "hardware.", "model"))
        assert "take " in refused.remedy or "export to" in refused.remedy


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target_writes_a_fully_sharded_plan(target: str) -> None:
    _agrees(target, job())


@given(plan=jobs())
@FEW
def test_launchers_hold_every_plan(plan: Job) -> None:
    for target in ("slurm", "skypilot"):
        _agrees(target, plan)
