"""Whatever plan a search can propose, the exported numbers multiply to its devices and batch."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from planner.trainers import TARGETS, Export, Job, export
from tests.trainers.jobs import job, jobs
from tests.trainers.read_back import sizes

FEW = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


@pytest.mark.parametrize("target", sorted(TARGETS))
@given(data=st.data())
@FEW
def test_whatever_a_search_proposes_is_written_with_numbers_that_multiply(
    target: str, data: st.DataObject
) -> None:
    plan = data.draw(jobs(target))
    _agrees(export(target, plan), plan)


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_every_target_writes_a_fully_sharded_plan(target: str) -> None:
    plan = job()
    _agrees(export(target, plan), plan)


def _agrees(made: Export, plan: Job) -> None:
    """Every file's numbers are the plan's, as the trainer multiplies them."""
    for file in made.files:
        said = sizes(made, file, plan.made.num_devices)
        assert said.devices in (None, plan.made.num_devices)
        assert said.mesh in (None, plan.made.num_devices)
        assert said.micro_batch in (None, plan.made.micro_batch)
        assert said.accumulation in (None, plan.made.accumulation)
        assert said.global_batch in (None, plan.made.global_batch)
