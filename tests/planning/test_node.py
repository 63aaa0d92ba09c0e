"""How many accelerators share a node, and what is said about it when the run does not."""

from __future__ import annotations

import pytest

from planner.planning.scenario import scenario
from tests.planning.jobs import job


@pytest.mark.parametrize(
    ("sku", "count", "per_node", "says"),
    [
        ("h100-sxm5-80gb", 64, 8, "as that machine is usually built"),
        ("h100-sxm5-80gb", 4, 4, "all 4 in one node"),
        ("h100-sxm5-80gb", 12, 6, "8 do not divide 12"),
        ("rtx-3090", 8, 8, "assumed"),
        ("gh200-96gb", 2, 1, "its link joins no others"),
    ],
)
def test_an_assumed_node_says_why(sku: str, count: int, per_node: int, says: str) -> None:
    found = scenario(
        job(
            hardware__sku=sku,
            hardware__count=count,
            hardware__interconnect=400,
            training__global_batch=count * 16,
        )
    )
    assert found.devices_per_node == per_node
    assert says in found.stated["per_node"]


def test_a_node_that_the_run_states_is_not_assumed() -> None:
    assert "per_node" not in scenario(job().changed({"hardware.per_node": 4})).stated
