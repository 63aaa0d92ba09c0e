"""Plans of several devices that rest on a profile, with and without measured collectives."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from planner.engine.constants import constants
from planner.errors import PlannerError
from planner.models import load_model
from planner.planning.outline import Outline
from planner.planning.plan import plan
from planner.run import Run
from profiles.at_once import COPY, PRODUCT
from tests.planning.jobs import A100, H100, bones
from tests.profile_device.devices import BANDWIDTH, busy_rows, collective_rows, moved_row, profile

GPT2 = load_model("gpt2-124m")
PARAMS = GPT2.params_total


def written(folder: Path, *rows: dict[str, Any], name: str = "p.json", **device: Any) -> Path:
    whole = profile()
    whole["device"] |= device
    whole["results"] += rows
    path = folder / name
    path.write_text(json.dumps(whole))
    return path


def run_on(path: Path, count: int, **changes: object) -> Run:
    given: dict[str, object] = {
        "data.tokens": 10**8,
        "data.seq_len": 512,
        "hardware.profile": str(path),
        "hardware.count": count,
        "training.precision": "fp32",
        "training.micro_batch": 2,
        "training.accumulation": 1,
        "training.layout": {"sharding": "none"},
    }
    return Run(model="gpt2-124m").changed(
        given | {k.replace("__", "."): v for k, v in changes.items()}
    )


def outlined(path: Path, count: int, **changes: object) -> Outline:
    return bones(run_on(path, count, **changes))


def test_each_device_does_what_the_measured_one_did(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(4))
    one, four = outlined(path, 1), outlined(path, 4)
    for name in ("matmul", "attention", "elementwise", "output_layer", "optimizer", "launch"):
        assert four.step.parts[name] == pytest.approx(one.step.parts[name]), name
    assert four.configuration.global_batch == 4 * one.configuration.global_batch


def test_gradients_take_what_the_measured_all_reduce_takes(tmp_path: Path) -> None:
    """Processors overlap nothing, so that all of it shows, the copies to and from buckets too."""
    start, rate = 1e-3, 1e9
    path = written(tmp_path, *collective_rows(4, start=start, rate=rate))
    wire = 2 * (3 / 4) * 4 * PARAMS / rate
    found = outlined(path, 4).step.parts["data_parallel"]
    found -= 4 * 4 * PARAMS / BANDWIDTH
    assert wire + 2 * start <= found * 1.001 <= wire + 4 * start


def test_sharded_weights_take_what_gathers_and_scatters_take(tmp_path: Path) -> None:
    sharded = {"training__layout": {"sharding": "zero3"}}
    even = outlined(written(tmp_path, *collective_rows(4)), 4, **sharded).step.parts
    slow = outlined(written(tmp_path, *collective_rows(4, slow=4)), 4, **sharded).step.parts
    assert even["sharding"] > 3 * (3 / 4) * 4 * PARAMS / 1e9
    wire = 3 * (3 / 4) * 4 * PARAMS / 1e9
    assert slow["sharding"] - even["sharding"] == pytest.approx(wire, rel=0.01)
    assert slow["matmul"] == even["matmul"]


def test_a_processor_maps_the_buffers_of_gathers_anew(tmp_path: Path) -> None:
    """Five times the weights a micro-step; an accelerator keeps its buffers."""
    sharded = {"training__layout": {"sharding": "zero3"}}
    rows = collective_rows(4)
    plain = outlined(written(tmp_path, *rows), 4, **sharded).step.parts
    mapped = moved_row("allocate", 1e8)
    path = written(tmp_path, *rows, mapped, name="mapped.json")
    per_byte = mapped["median_s"] / 1e8
    for steps in (1, 2):
        found = outlined(path, 4, **sharded, training__accumulation=steps).step.parts
        extra = found["sharding"] - steps * plain["sharding"]
        assert extra == pytest.approx(steps * 5 * 4 * PARAMS * per_byte, rel=0.01)


def test_of_two_groups_the_one_as_large_as_the_job_answers(tmp_path: Path) -> None:
    rows = [*collective_rows(2, rate=1e9), *collective_rows(4, rate=4e9)]
    path = written(tmp_path, *rows)
    wire, copied = 4 * PARAMS, 4 * 4 * PARAMS / BANDWIDTH
    for count, seconds in ((2, wire / 1e9), (4, 1.5 * wire / 4e9)):
        found = outlined(path, count).step.parts["data_parallel"]
        assert found == pytest.approx(seconds + copied, rel=0.01)


def test_ranks_share_a_processors_memory(tmp_path: Path) -> None:
    found = plan(run_on(written(tmp_path, *collective_rows(4)), 4), model=GPT2)
    assert found.memory.capacity_bytes == 2**34 / 4
    (said,) = [each for each in found.warnings if "processes of a machine" in each]
    assert "bandwidth to itself" in said


def test_what_all_ranks_at_once_slow_down_is_slower_in_the_plan(tmp_path: Path) -> None:
    rows = collective_rows(4)
    plain = outlined(written(tmp_path, *rows), 4).step.parts
    crowd = [*busy_rows(4, PRODUCT, 1.25), *busy_rows(4, COPY, 1.5), *busy_rows(2, COPY, 3.0)]
    path = written(tmp_path, *rows, *crowd, name="crowd.json")
    slower = outlined(path, 4).step.parts
    for name in ("matmul", "attention", "output_layer"):
        assert slower[name] == pytest.approx(1.25 * plain[name])
    for name in ("elementwise", "embedding", "optimizer"):
        assert slower[name] == pytest.approx(1.5 * plain[name])
    for name in ("launch", "data_parallel"):
        assert slower[name] == pytest.approx(plain[name])
    assert outlined(path, 1).step.parts["matmul"] == pytest.approx(plain["matmul"])
    made = plan(run_on(path, 4), model=GPT2)
    assert any(
        "a product takes 1.25, a copy takes 1.50 times" in each for each in made.evidence.reasons
    )
    assert not any("to itself" in each for each in made.warnings)


def test_without_collectives_several_are_refused_with_the_way_to_measure_them(
    tmp_path: Path,
) -> None:
    with pytest.raises(PlannerError, match=r"count 1.*profiles\.collectives") as caught:
        plan(run_on(written(tmp_path), 2), model=GPT2)
    assert caught.value.field == "hardware.count"


def test_more_nodes_than_were_measured_need_a_network(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(2))
    with pytest.raises(PlannerError, match="between nodes") as caught:
        plan(run_on(path, 8), model=GPT2)
    assert caught.value.field == "hardware.interconnect"
    assert plan(run_on(path, 8, hardware__interconnect="10"), model=GPT2).chosen["per_node"] == 2


def test_a_network_of_a_name_is_known_of_no_unlisted_device(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(2))
    with pytest.raises(PlannerError, match="profile alone") as caught:
        plan(run_on(path, 2, hardware__interconnect="aws"), model=GPT2)
    assert caught.value.field == "hardware.interconnect"


def test_collectives_between_nodes_are_the_network(tmp_path: Path) -> None:
    rows = [*collective_rows(2, rate=8e9), *collective_rows(4, nodes=2, rate=1e9, start=0.0)]
    found = outlined(written(tmp_path, *rows), 4)
    wire = 2 * (3 / 4) * 4 * PARAMS / 1e9
    copied = 4 * 4 * PARAMS / BANDWIDTH
    assert found.step.parts["data_parallel"] == pytest.approx(wire + copied, rel=0.01)
    assert "measured between nodes" in found.scenario.network_name


def test_a_listed_accelerator_takes_its_measured_link_and_says_so(tmp_path: Path) -> None:
    changes = {"training__precision": "bf16"}
    slow = written(tmp_path, *collective_rows(8, rate=1e9), sku_id=A100, kind="cuda")
    measured = outlined(slow, 8, **changes)
    without = written(tmp_path, name="without.json", sku_id=A100, kind="cuda")
    published = outlined(without, 8, **changes)
    ratio = measured.step.parts["data_parallel"] / published.step.parts["data_parallel"]
    assert ratio > 20
    made = plan(run_on(slow, 8, **changes), model=GPT2)
    said = " ".join(made.evidence.reasons)
    assert "collectives measured among 8 ranks (gloo)" in said
    assert made.evidence.grade == "measured"


def test_a_split_model_takes_the_link_too_and_formulas_for_the_rest(tmp_path: Path) -> None:
    rows = collective_rows(4, rate=1e9)
    found = outlined(
        written(tmp_path, *rows, sku_id=A100, kind="cuda"), 4, training__layout={"tp": 4}
    )
    made = found.measured
    assert made is not None
    assert not made.kernels
    assert made.link is not None
    tensors = 2 * 2 * 12 * 2 * 512 * 768 * 4  # two all-reduces a pass, both passes, FP32
    shown = 1 - constants().tensor_hidden
    assert found.step.parts["tensor_parallel"] > shown * 2 * (3 / 4) * tensors / 1e9


def test_links_stay_behind_when_a_profile_is_carried_over(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(8, rate=1e6), sku_id=A100, kind="cuda")
    found = outlined(path, 8, hardware__sku=H100, training__precision="bf16")
    assert found.measured is not None
    assert found.measured.link is None
    assert found.step.parts["data_parallel"] < 1.0


def test_the_shares_are_the_whole_with_several_devices(tmp_path: Path) -> None:
    made = outlined(written(tmp_path, *collective_rows(4)), 4).measured
    assert made is not None
    assert made.measured + made.curves + made.by_formulas == pytest.approx(made.total)
    assert made.by_formulas > 0


@pytest.mark.parametrize("layout", [{"tp": 4}, {"pp": 4}, {"cp": 4}])
def test_a_split_model_is_slowed_down_by_all_ranks_at_once_too(
    layout: dict[str, object], tmp_path: Path
) -> None:
    """Or a layout would look faster for being reckoned by formulas."""
    rows = collective_rows(4)
    change: dict[str, object] = {"training__layout": layout, "training__accumulation": 4}
    plain = outlined(written(tmp_path, *rows), 4, **change).step.parts
    crowd = [*busy_rows(4, PRODUCT, 2.0), *busy_rows(4, COPY, 2.0)]
    path = written(tmp_path, *rows, *crowd, name="crowd.json")
    slower = outlined(path, 4, **change).step.parts
    for name in ("matmul", "attention", "elementwise", "output_layer", "optimizer"):
        assert slower[name] == pytest.approx(2 * plain[name]), name
    assert slower["tensor_parallel"] == pytest.approx(plain["tensor_parallel"])
    said = " ".join(plan(run_on(path, 4, **change), model=GPT2).evidence.reasons)
    assert "a product takes 2.00, a copy takes 2.00 times" in said


def test_what_was_not_timed_at_once_is_not_told(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(4), *busy_rows(4, COPY, 1.5))
    said = " ".join(plan(run_on(path, 4), model=GPT2).evidence.reasons)
    assert "a copy takes 1.50 times" in said
    assert "a product takes" not in said


def test_a_device_alone_in_its_node_shares_its_machine_with_none(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(4), *busy_rows(4, PRODUCT, 4.0))
    given: dict[str, object] = {"hardware__interconnect": "10", "hardware__per_node": 1}
    alone, apart = outlined(path, 1), outlined(path, 3, **given)
    assert apart.step.parts["matmul"] == pytest.approx(alone.step.parts["matmul"])
    assert apart.measured is not None
    assert apart.measured.link is None


def test_one_device_a_node_needs_no_link_inside_it(tmp_path: Path) -> None:
    """Collectives of two machines of one device each."""
    path = written(tmp_path, *collective_rows(2, nodes=2, rate=1e9, start=0.0))
    found = outlined(path, 2)
    assert found.scenario.devices_per_node == 1
    wire, copied = 4 * PARAMS / 1e9, 4 * 4 * PARAMS / BANDWIDTH
    assert found.step.parts["data_parallel"] == pytest.approx(wire + copied, rel=0.01)
    said = " ".join(plan(run_on(path, 2), model=GPT2).evidence.reasons)
    assert "collectives measured between nodes" in said


def test_more_devices_in_a_node_than_were_measured_are_warned_of(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(2))
    (said,) = [
        each
        for each in plan(run_on(path, 4, hardware__per_node=4), model=GPT2).warnings
        if "measured among 2" in each
    ]
    assert "--nproc-per-node 4" in said
    assert not any("measured among" in each for each in plan(run_on(path, 2), model=GPT2).warnings)


def test_the_bandwidth_that_is_told_is_that_of_the_collectives_used(tmp_path: Path) -> None:
    path = written(tmp_path, *collective_rows(4, rate=1e9, slow=4))
    for sharding, rate in (("none", "1 GB/s"), ("zero3", "500 MB/s")):
        run = run_on(path, 4, training__layout={"sharding": sharding})
        said = " ".join(plan(run, model=GPT2).evidence.reasons)
        assert f"{rate} of bus bandwidth" in said
