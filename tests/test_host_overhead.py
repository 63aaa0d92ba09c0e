"""The committed measurement of host cost per layer."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest

from planner.stacks import stacks

FILE = Path(__file__).parents[1] / "planner" / "engine" / "data" / "host_overhead.json"
WITHOUT_PYTHON = ("graph", "xla", "native")  # launches that run no Python per layer


@pytest.fixture(scope="module")
def table() -> dict[str, Any]:
    result: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return result


def test_every_stack_has_a_measured_style_unless_it_runs_no_python(table: dict[str, Any]) -> None:
    assert set(table["stacks"]) == set(stacks())
    for name, row in stacks().items():
        style = table["stacks"][name]
        assert (style is None) == (row.launch in WITHOUT_PYTHON), name
        assert style is None or style in table["styles"], name


def test_a_stack_that_compiles_by_default_maps_to_a_compiled_style(table: dict[str, Any]) -> None:
    for name, row in stacks().items():
        style = table["stacks"][name] or ""
        assert style.startswith("torch-compiled") == (row.kernels == "compiled"), name


def test_costs_are_positive_and_agree_with_the_microseconds(table: dict[str, Any]) -> None:
    operation = table["operation_microseconds"]
    assert operation > 0
    for name, row in table["styles"].items():
        for each in ("forward", "backward"):
            assert row[f"{each}_ops"] > 0, name
            expected = pytest.approx(row[f"{each}_ops"] * operation, rel=0.02)
            assert row[f"{each}_microseconds"] == expected, name
        assert row["recompute_ops"] is None or row["recompute_ops"] > 0, name


def test_kernels_never_outnumber_the_operations_they_cost(table: dict[str, Any]) -> None:
    for name, row in table["styles"].items():
        if row["kernels_forward"] is not None:
            assert 0 < row["kernels_forward"] < 2 * row["forward_ops"], name


@pytest.mark.parametrize(
    ("style", "base"),
    [
        ("composer-fsdp1", "composer"),
        ("torch-native-fsdp2", "torch-native"),
        ("megatron-2021-tp", "megatron-2021"),
        ("hf-lora", "hf-reentrant"),
    ],
)
def test_more_work_in_a_layer_costs_the_host_more(
    table: dict[str, Any], style: str, base: str
) -> None:
    for each in ("forward_ops", "backward_ops"):
        assert table["styles"][style][each] > table["styles"][base][each]
        assert table["increments"][style][each] == pytest.approx(
            table["styles"][style][each] - table["styles"][base][each], abs=0.11
        )


def test_one_graph_costs_the_host_less_than_eager_layers(table: dict[str, Any]) -> None:
    whole, eager = table["styles"]["torch-compiled-whole"], table["styles"]["torch-native"]
    assert whole["backward_ops"] < eager["backward_ops"]


def test_the_repeated_measurement_is_stated_with_its_spread(table: dict[str, Any]) -> None:
    assert table["runs"] >= 3
    spreads = [row["forward_spread"] for row in table["styles"].values()]
    assert all(0 <= each < 1 and math.isfinite(each) for each in spreads)


def test_a_quick_measurement_here_gives_the_committed_ratio(table: dict[str, Any]) -> None:
    """Two styles' ratio, not their times: those belong to the machine."""
    torch = pytest.importorskip("torch")
    from benchmarks.host_overhead import megatron_2021, titan
    from benchmarks.host_overhead.style import Style
    from benchmarks.host_overhead.timing import SHORT, cost, run, towers

    assert SHORT >= 1
    builds = {
        "megatron-2021": lambda layers, again: megatron_2021.build(1, layers, again),
        "torch-native": titan.build,
    }
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        built = {
            name: towers(Style(name=name, title="", build=build, recomputes=False))
            for name, build in builds.items()
        }
        seconds = run(built, rounds=15)
    finally:
        torch.set_num_threads(threads)
    costs = {name: cost(seconds[name], 1.0) for name in builds}
    both = {name: each.forward + each.backward for name, each in costs.items()}
    rows = {name: table["styles"][name] for name in builds}
    committed = {name: row["forward_ops"] + row["backward_ops"] for name, row in rows.items()}
    here = both["megatron-2021"] / both["torch-native"]
    there = committed["megatron-2021"] / committed["torch-native"]
    assert 1 / 1.6 < here / there < 1.6
