"""Which link carries the collectives of a node."""

from __future__ import annotations

import pytest

import hardware_db
from planner.engine.machine import Machine, machines
from tests.engine.runs import configuration, first


def machine(sku: str, per_node: int) -> Machine:
    each = configuration(sku=sku, num_devices=per_node, devices_per_node=per_node, dp=per_node)
    return machines([each], [hardware_db.accelerator(sku)])


@pytest.mark.parametrize("sku", ["a100-pcie-40gb", "rtx-3090", "h100-pcie-80gb"])
def test_a_bridge_of_two_does_not_carry_a_node_of_eight(sku: str) -> None:
    part = hardware_db.accelerator(sku)
    whole, pair = machine(sku, 8), machine(sku, 2)
    assert first(whole.link) == part.pcie_bytes_per_second
    assert first(whole.domain) == 8
    assert part.link is not None
    assert first(pair.link) == part.link.bytes_per_second


def test_a_switch_carries_its_node_and_reaches_beyond_it() -> None:
    part = hardware_db.accelerator("gb200-nvl72-186gb")
    found = machine("gb200-nvl72-186gb", 4)
    assert part.link is not None
    assert (first(found.link), first(found.domain)) == (part.link.bytes_per_second, 72)
