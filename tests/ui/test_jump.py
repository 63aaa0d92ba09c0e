"""From a configuration to the Plan page: the fields say the same run."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from planner.run import Run
from ui import jump, run_file, scenario
from ui.fields import DEFAULTS

SAID = Run(
    model="llama-3-8b",
    data={"tokens": "1T", "seq_len": 8192},
    hardware={"sku": "h100-sxm5-80gb", "count": 64},
)


def run_after(changes: Mapping[str, object]) -> Run:
    reading = scenario.read(run_file.changed(DEFAULTS, changes))
    assert reading.scenario is not None, reading.mistakes
    return reading.scenario.run


@pytest.mark.parametrize(
    "changes",
    [
        {"hardware.count": 32, "training.precision": "fp8"},
        {"training.layout": "tp=8,pp=2,interleave=2,sharding=zero1", "training.micro_batch": 2},
        {"hardware.power_limit": 500, "price.mode": "spot", "data.tokens": 1_100_000_000_000},
    ],
)
def test_the_fields_after_a_jump_say_the_wanted_run(changes: dict[str, object]) -> None:
    wanted = SAID.changed(changes)
    assert run_after(jump.changes_of_run(SAID, wanted)) == wanted


def test_a_row_on_another_accelerator_leaves_the_machine_of_the_scenario_behind() -> None:
    row = {"sku": "a100-sxm4-80gb", "count": 16, "chosen": {"precision": "bf16", "layout": {}}}
    said = DEFAULTS | {"per_node": "4", "interconnect": "400"}
    after = run_file.changed(said, jump.changes_of_row(row, "h100-sxm5-80gb"))
    assert (after["sku"], after["count"]) == ("a100-sxm4-80gb", "16")
    assert (after["per_node"], after["interconnect"]) == ("", "")
