"""Plans that rest on a profile of the machine at hand."""

from __future__ import annotations

import json
import math
import os
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import hardware_db
from planner.cli.main import main
from planner.errors import PlannerError
from planner.models import load_model
from planner.planning.advice import gains_of
from planner.planning.explain import explained
from planner.planning.outline import Outline
from planner.planning.plan import plan
from planner.planning.result import Plan
from planner.profile_device.device import profiled_device
from planner.profile_device.figures import figures_from
from planner.profile_device.reader import recorded_of
from planner.profile_device.transfer import transfer_sigma, transferred
from planner.run import Run
from planner.search.restrictions import Restrictions
from planner.search.space import space
from tests.planning.jobs import A100, H100, bones
from tests.profile_device.devices import gemm_row, profile

GPT2 = load_model("gpt2-124m")


@pytest.fixture
def unlisted(tmp_path: Path) -> Path:
    """A profile of a device that no table knows."""
    return written(tmp_path)


@pytest.fixture
def of_a100(tmp_path: Path) -> Path:
    return written(tmp_path, sku_id=A100, kind="cuda")


def written(folder: Path, results: list[dict[str, Any]] | None = None, **device: Any) -> Path:
    whole = profile()
    whole["device"] |= device
    whole["results"] = results or whole["results"]
    path = folder / "p.json"
    path.write_text(json.dumps(whole))
    return path


def run_on(path: Path, **changes: object) -> Run:
    base: dict[str, object] = {
        "data.tokens": 10**8,
        "data.seq_len": 512,
        "hardware.profile": str(path),
        "training.precision": "fp32",
        "training.micro_batch": 2,
        "training.global_batch": 8,
    }
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return Run(model="gpt2-124m").changed(base | given)


def planned(path: Path, **changes: object) -> Plan:
    return plan(run_on(path, **changes), model=GPT2)


def outlined(path: Path, **changes: object) -> Outline:
    return bones(run_on(path, **changes))


def test_a_profile_alone_is_device_enough(unlisted: Path) -> None:
    found = planned(unlisted)
    assert found.chosen["sku"] == "made up"
    assert found.chosen["count"] == 1
    assert found.memory.capacity_bytes == 2**34
    assert found.evidence.grade == "measured"


def test_the_parts_of_a_measured_step_add_up(unlisted: Path) -> None:
    step = planned(unlisted).step
    assert step.seconds == pytest.approx(sum(step.parts.values()))
    assert step.low < step.seconds < step.high


def test_the_shares_that_the_step_rests_on_are_the_whole(unlisted: Path) -> None:
    made = outlined(unlisted).measured
    assert made is not None
    assert made.measured + made.curves + made.by_formulas == pytest.approx(made.total)


def test_nobody_rents_out_a_device_that_no_table_knows(unlisted: Path) -> None:
    found = planned(unlisted)
    assert found.cost.usd is None
    assert "profile alone" in (found.cost.reason or "")
    assert found.energy.kwh is None


def test_a_known_accelerator_needs_no_second_naming_and_has_its_price(of_a100: Path) -> None:
    found = planned(of_a100, training__precision="bf16")
    assert found.chosen["sku"] == A100
    assert found.cost.usd


def test_power_makes_its_energy_known(unlisted: Path) -> None:
    assert planned(unlisted, hardware__power_limit=100).energy.kwh


def test_a_measured_shape_answers_itself_in_a_plan(tmp_path: Path) -> None:
    rows = profile()["results"]
    plain = outlined(written(tmp_path, rows)).measured
    qkv = gemm_row(1024, 2304, 768)
    qkv["median_s"] *= 3
    slow = outlined(written(tmp_path, [*rows, qkv])).measured
    assert plain is not None
    assert slow is not None
    assert plain.measured == 0
    steps, layers = 4, 12
    assert slow.measured == pytest.approx(steps * layers * qkv["median_s"])


def test_what_the_profile_lacks_is_named_and_comes_from_formulas(tmp_path: Path) -> None:
    rows = [each for each in profile()["results"] if each["kernel"] != "embedding_backward"]
    rows = [each for each in rows if each["kernel"] != "gelu_backward"]
    found = planned(written(tmp_path, rows))
    assert "elementwise: the profile did not time gelu_backward in fp32" in found.evidence.reasons
    assert found.step.parts["elementwise"] > 0


@pytest.mark.parametrize(
    ("changes", "part"),
    [
        ({"training__attention": "sdpa-math"}, "attention"),
        ({"training__optimizer": "muon"}, "optimizer"),
    ],
)
def test_what_no_profile_times_follows_the_engine(
    unlisted: Path, changes: dict[str, object], part: str
) -> None:
    found = outlined(unlisted, **changes)
    assert found.measured is not None
    assert part in found.measured.lacking


def test_recomputation_repeats_measured_work(unlisted: Path) -> None:
    plain, again = (outlined(unlisted, training__recompute=word) for word in ("none", "full"))
    work = sum(plain.step.parts[name] for name in ("matmul", "attention", "elementwise"))
    assert 0.25 * work < again.step.parts["recompute"] < 0.45 * work
    assert again.step.parts["matmul"] == pytest.approx(plain.step.parts["matmul"])


def test_compiled_layers_pass_over_memory_less_often(unlisted: Path) -> None:
    plain, compiled = (outlined(unlisted, training__compile=word) for word in ("none", "regional"))
    assert compiled.step.parts["elementwise"] < plain.step.parts["elementwise"]


def test_frozen_weights_need_no_products_for_their_gradients(unlisted: Path) -> None:
    whole = outlined(unlisted, training__task="full-ft")
    part = outlined(unlisted, training__task="lora")
    ratio = part.step.parts["matmul"] / whole.step.parts["matmul"]
    assert 0.55 < ratio < 0.75


def test_the_planner_still_chooses_the_micro_batch(unlisted: Path) -> None:
    found = planned(unlisted, training__micro_batch=None)
    assert "micro_batch" in found.chosen["by_planner"]
    assert found.chosen["compared"] > 1


def test_the_left_out_error_is_part_of_the_plan(unlisted: Path) -> None:
    assert any("left out of its fit" in each for each in planned(unlisted).evidence.reasons)


def test_a_format_that_was_not_measured_is_refused_by_name(unlisted: Path) -> None:
    with pytest.raises(PlannerError, match="not in fp16"):
        planned(unlisted, training__precision="fp16")


def test_several_of_a_device_that_no_table_knows_are_refused(unlisted: Path) -> None:
    with pytest.raises(PlannerError, match="count 1") as caught:
        planned(unlisted, hardware__count=2)
    assert caught.value.field == "hardware.count"


def test_an_unlisted_device_scales_to_nothing(unlisted: Path) -> None:
    with pytest.raises(PlannerError, match=r"leave hardware\.sku out") as caught:
        planned(unlisted, hardware__sku=A100)
    assert caught.value.field == "hardware.profile"


def test_several_devices_take_the_measured_rates(of_a100: Path) -> None:
    changes = {"training__global_batch": 64, "hardware__sku": A100, "hardware__count": 8}
    measured = planned(of_a100, **changes)
    published = plan(run_on(of_a100, **changes, hardware__profile=None), model=GPT2)
    assert measured.evidence.grade == "measured"
    slower = measured.step.parts["matmul"] / published.step.parts["matmul"]
    assert slower > 10  # the made-up device reaches 0.1 TFLOP/s


def test_a_profile_carried_over_says_what_was_scaled_by_what(of_a100: Path) -> None:
    found = planned(of_a100, hardware__sku=H100, training__precision="bf16")
    assert found.evidence.grade == "extrapolated"
    said = found.evidence.reasons[0]
    assert said.startswith("measured on")
    assert A100 in said
    assert "bf16 x2.93" in said
    assert "memory bandwidth (x1.64)" in said


def test_a_profile_carried_over_is_less_sure(of_a100: Path) -> None:
    own = planned(of_a100, hardware__sku=A100, training__precision="bf16").step
    other = planned(of_a100, hardware__sku=H100, training__precision="bf16").step
    assert other.high / other.seconds > 1.1 * own.high / own.seconds
    assert other.seconds < own.seconds


def test_a_profile_carried_over_counts_no_shape_as_measured(of_a100: Path) -> None:
    made = outlined(of_a100, hardware__sku=H100, training__precision="bf16").measured
    assert made is not None
    assert made.measured == 0


def test_an_unpublished_peak_carries_nothing_over(of_a100: Path) -> None:
    with pytest.raises(PlannerError, match="not in bf16"):
        planned(of_a100, hardware__sku="v100-sxm2-32gb", training__precision="bf16")


SOURCE = figures_from(recorded_of(profile(), "made up"))
TARGET = hardware_db.accelerator(H100)
SCALED, _ = transferred(SOURCE, hardware_db.accelerator(A100), TARGET)
SIZES = st.integers(1, 30_000)


@given(SIZES, SIZES, SIZES)
def test_no_product_carried_over_is_faster_than_the_other_roofline(m: int, n: int, k: int) -> None:
    curve = SCALED.product("bf16")
    seconds = float(curve.seconds(m, n, k))
    assert 2.0 * m * n * k / seconds <= curve.peak * (1 + 1e-9)
    assert curve.peak <= (TARGET.peak("bf16") or 0.0)


def test_carrying_over_to_the_same_accelerator_changes_nothing() -> None:
    part = hardware_db.accelerator(A100)
    same, transfer = transferred(SOURCE, part, part)
    assert transfer.peaks == {"fp32": 1.0, "bf16": 1.0}
    mine, theirs = SOURCE.product("bf16"), same.product("bf16")
    assert float(theirs.seconds(700, 700, 700)) == pytest.approx(float(mine.seconds(700, 700, 700)))


def test_launches_are_the_hosts_and_stay(of_a100: Path) -> None:
    device = profiled_device(of_a100, hardware_db.accelerator(H100))
    assert device.figures.launch_seconds == SOURCE.launch_seconds


def test_efficiency_differs_more_between_vendors_than_within_one() -> None:
    assert 0.1 < transfer_sigma(True) < transfer_sigma(False) < 1.0


def test_advice_on_a_profiled_run_is_planned_from_the_profile(unlisted: Path) -> None:
    made = outlined(unlisted, training__recompute="full")
    gains = gains_of(made)
    assert gains
    assert all(each.outline.measured is not None for each in gains)


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    first = planned(written(tmp_path)).step.seconds
    rows = profile()["results"]
    for each in rows:
        each["median_s"] *= 2
    assert planned(written(tmp_path, [*rows, gemm_row(8, 8, 8)])).step.seconds > 1.5 * first


def test_a_search_refuses_a_profile_by_name(of_a100: Path) -> None:
    with pytest.raises(PlannerError, match="rank by published data") as caught:
        space(run_on(of_a100, hardware__sku=A100), Restrictions(), model=GPT2)
    assert caught.value.field == "hardware.profile"


@pytest.mark.parametrize("cut", [1, 1000, 20_000])
def test_a_truncated_profile_is_one_line_and_exit_2(
    unlisted: Path, cut: int, capsys: pytest.CaptureFixture[str]
) -> None:
    unlisted.write_text(unlisted.read_text()[:cut])
    words = ["plan", "--model", "gpt2-124m", "--tokens", "1M", "--seq-len", "512", "--profile"]
    assert main([*words, str(unlisted)]) == 2
    said = capsys.readouterr().err.strip()
    assert "hardware.profile" in said
    assert "\n" not in said


HUGE = 10**400


@pytest.mark.parametrize(
    "damage",
    [
        {"flops": HUGE},
        {"median_s": HUGE},
        {"median_s": 1e-300},
        {"shape": {"m": HUGE, "n": 1, "k": 1}},
        {"shape": {"m": -5, "n": 1, "k": 1}},
        {"bytes": 1e300},
        {"median_s": 1e9},
        {"shape": {"m": 2**50, "n": 2**50, "k": 2**50}},
        {"flops": 7.0},
    ],
)
def test_numbers_of_no_device_are_refused(tmp_path: Path, damage: dict[str, Any]) -> None:
    rows = profile()["results"]
    rows[0] |= damage
    with pytest.raises(PlannerError, match=r"results\[0\]"):
        planned(written(tmp_path, rows))


@pytest.mark.parametrize("memory", [0, -1, 7, 1e300, "80GiB", True])
def test_a_memory_that_no_device_has_is_refused(tmp_path: Path, memory: object) -> None:
    with pytest.raises(PlannerError, match=r"device\.memory_bytes"):
        planned(written(tmp_path, memory_bytes=memory))


def test_an_unlisted_device_without_a_timed_copy_is_refused(tmp_path: Path) -> None:
    rows = [row for row in profile()["results"] if row["kernel"] != "copy"]
    with pytest.raises(PlannerError, match="timed no copy"):
        planned(written(tmp_path, rows))
    assert math.isfinite(planned(written(tmp_path, rows, sku_id=A100, kind="cuda")).step.seconds)


def test_a_pipe_that_nobody_writes_to_is_no_profile(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlannerError, match="is no JSON"):
        planned(tmp_path / "pipe")


def test_a_profile_in_the_home_folder_is_found(
    unlisted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(unlisted.parent))
    assert planned(Path("~/p.json")).fits is not None


def test_control_characters_in_a_device_name_reach_no_terminal(tmp_path: Path) -> None:
    found = planned(written(tmp_path, name="evil\x1b[2J\n" + "x" * 500))
    assert found.chosen["sku"].startswith("evil[2Jx")
    assert len(found.chosen["sku"]) <= 80


def test_flags_alone_plan_on_a_profile(unlisted: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [
        "plan",
        "--model",
        "gpt2-124m",
        "--tokens",
        "1M",
        "--seq-len",
        "512",
        "--precision",
        "fp32",
        "--profile",
    ]
    assert main([*words, str(unlisted), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["evidence"]["grade"] == "measured"
    assert answer["cost"]["usd"] is None


def test_the_explanation_tells_measured_products_from_the_curve(tmp_path: Path) -> None:
    rows = [*profile()["results"], gemm_row(1024, 2304, 768)]
    lines = "\n".join(explained(outlined(written(tmp_path, rows)))[1]["lines"])
    qkv, out = lines.splitlines()[1:3]
    assert qkv.endswith(", measured")
    assert out.endswith(", by the curve")


def test_a_deadline_or_budget_is_kept_or_not_on_a_profile_too(unlisted: Path) -> None:
    found = planned(unlisted, budget__days=1e-3, budget__usd=100)
    assert found.run.finish_by_deadline is False
    assert any("budget.usd is not checked" in each for each in found.warnings)


def of_resnet(path: Path, **changes: object) -> Outline:
    base: dict[str, object] = {"data.samples": 1000, "data.tokens": None, "data.seq_len": None}
    run = run_on(path).changed(base | {name.replace("__", "."): v for name, v in changes.items()})
    return bones(run.changed({"model": "resnet-50"}))


def test_a_traced_module_is_timed_by_the_profile(unlisted: Path) -> None:
    found = of_resnet(unlisted)
    assert found.measured is not None
    assert found.measured.curves > 0.9 * found.measured.total
    assert found.step.seconds == pytest.approx(sum(found.step.parts.values()))


def test_a_traced_modules_measured_convolution_counts(tmp_path: Path) -> None:
    rows = profile()["results"]
    shape = {"batch": 2, "channels": 64, "side": 56, "out_channels": 64, "kernel": 3}
    flops = 2.0 * 2 * 56**2 * 64 * 64 * 9
    slow = gemm_row(8, 8, 8) | {
        "kernel": "conv",
        "shape": shape | {"layout": "nchw"},
        "median_s": 1.0,
        "flops": flops,
    }
    plain = of_resnet(written(tmp_path, rows)).step.parts["matmul"]
    assert of_resnet(written(tmp_path, [*rows, slow])).step.parts["matmul"] > plain + 3


def test_a_compiler_leaves_less_between_the_products_of_a_module(unlisted: Path) -> None:
    plain, compiled = (of_resnet(unlisted, training__compile=word) for word in ("none", "full"))
    assert compiled.step.parts["elementwise"] < plain.step.parts["elementwise"]
    assert compiled.step.parts["matmul"] == pytest.approx(plain.step.parts["matmul"])


def test_a_profile_of_a_busy_machine_is_warned_of(tmp_path: Path, unlisted: Path) -> None:
    shaken, draw = profile()["results"], random.Random(1)
    for each in shaken:
        if each["kernel"] == "gemm":
            each["median_s"] *= draw.uniform(1, 6)
    (tmp_path / "busy").mkdir()
    busy = written(tmp_path / "busy", shaken)
    assert any("measure again" in text for text in planned(busy).warnings)
    assert not any("measure again" in text for text in planned(unlisted).warnings)
