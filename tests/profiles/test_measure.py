"""Measuring a whole profile for real: limits, resuming, kill -9, what is skipped and why."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profiles.device import Device, open_device
from profiles.errors import ProfileError
from profiles.file import read_profile, samples_path, write_profile
from profiles.findings import findings
from profiles.gauge import Gauge, State
from profiles.kernels.gemm import gemm
from profiles.kernels.kernel import Kernel, Ready
from profiles.measure import Job, measure
from profiles.pace import Pace
from profiles.run_kernel import Runner
from profiles.timing import Limits
from tests.conftest import PROJECT
from tests.profiles.test_profile_file import result


@pytest.fixture(scope="module")
def device() -> Device:
    return open_device("cpu")


def job(device: Device, path: Path, **changes: object) -> Job:
    return dataclasses.replace(
        Job(device=device, preset="quick", path=path, seconds=1.0), **changes
    )  # type: ignore[arg-type]


def runner(device: Device, gauge: Gauge | None = None) -> Runner:
    return Runner(
        device=device,
        gauge=gauge or Gauge(""),
        limits=Limits(seconds=0.02, warmup_most_seconds=0.03),
        pace=Pace(),
        slowest_seconds=0.5,
    )


def test_a_limit_leaves_a_readable_profile_that_says_what_is_missing(
    device: Device, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    found = measure(job(device, path))
    assert not found.complete
    assert any("left out" in each for each in found.warnings)
    assert read_profile(path) == found
    assert samples_path(path).read_text().count("\n") == sum(r.measured for r in found.results)


def test_resume_measures_only_what_is_missing(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    first = measure(job(device, path))
    second = measure(job(device, path, resume=True))
    assert second.results[: len(first.results)] == first.results
    assert len(second.results) > len(first.results)
    assert len({each.key for each in second.results}) == len(second.results)


def test_a_file_that_is_there_is_not_overwritten_unasked(device: Device, tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    measure(job(device, path))
    with pytest.raises(ProfileError, match="--resume continues it"):
        measure(job(device, path))


def test_resume_refuses_what_was_measured_under_other_conditions(
    device: Device, tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    found = measure(job(device, path))
    other = dict(found.environment) | {"num_threads": 63}
    write_profile(path, dataclasses.replace(found, environment=other))
    with pytest.raises(ProfileError, match="num_threads 63"):
        measure(job(device, path, resume=True))


def test_kill_9_loses_at_most_the_kernel_under_way(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    command = [sys.executable, "-m", "profiles", "--device", "cpu", "--out", str(path)]
    running = subprocess.Popen(
        [*command, "--threads", "1"],
        cwd=PROJECT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not _lines(samples_path(path)) > 3:
        time.sleep(0.02)
    os.kill(running.pid, signal.SIGKILL)
    running.wait()
    found = read_profile(path)
    assert not found.complete
    assert 0 <= _lines(samples_path(path)) - sum(r.measured for r in found.results) <= 1
    done = subprocess.run(
        [*command, "--threads", "1", "--resume", "--limit", "1"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(read_profile(path).results) > len(found.results)


def _lines(path: Path) -> int:
    return path.read_text().count("\n") if path.exists() else 0


def test_a_format_that_gets_too_slow_is_noticed_at_a_small_size_and_not_waited_for(
    device: Device,
) -> None:
    """FP16 without native support: minutes at the largest size, known from the smallest."""

    def crawling(side: int) -> Kernel:
        def make(_: Device) -> Ready:
            return Ready(lambda: time.sleep((side / 64) ** 3 * 0.01), lambda: None)

        return dataclasses.replace(gemm(side, side, side, "fp16"), make=make)

    run = runner(device)
    started = time.monotonic()
    outcomes = [run.run(crawling(side)).result for side in (64, 128, 512, 2048)]
    assert time.monotonic() - started < 5.0
    assert [each.measured for each in outcomes] == [True, True, False, False]
    assert outcomes[-1].flags == ("skipped-slow",)
    assert outcomes[-1].estimate_s == pytest.approx(0.01 * 32**3, rel=0.3)


def test_a_kernel_larger_than_memory_is_not_tried(device: Device) -> None:
    huge = dataclasses.replace(gemm(64, 64, 64, "fp32"), held=1e18)
    assert runner(device).run(huge).result.flags == ("skipped-memory",)


@pytest.mark.parametrize(
    ("error", "flag"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2 GiB"), "out-of-memory"),
        (MemoryError(), "out-of-memory"),
        (NotImplementedError("'addmm' for Float8"), "not-supported"),
        (RuntimeError("\"mm\" not implemented for 'Char'"), "not-supported"),
        (RuntimeError("something\nelse"), "failed"),
    ],
)
def test_what_a_kernel_dies_of_is_a_result(device: Device, error: Exception, flag: str) -> None:
    def make(_: Device) -> Ready:
        raise error

    found = runner(device).run(dataclasses.replace(gemm(8, 8, 8, "fp32"), make=make)).result
    assert found.flags == (flag,)
    assert found.median_s is None
    assert found.reason is not None
    assert "\n" not in found.reason


def test_a_format_that_the_device_lacks_is_a_result(device: Device) -> None:
    found = runner(device).run(gemm(64, 64, 64, "tf32")).result
    assert found.flags == ("not-supported",)


class BusyGauge(Gauge):
    """A device that throttles beside somebody else's process."""

    def state(self) -> State:
        return State(throttle=("software power cap",), other_processes=1, temperature_celsius=88.0)


def test_throttling_and_company_are_flagged_and_kept(device: Device) -> None:
    found = runner(device, BusyGauge("")).run(gemm(64, 64, 64, "fp32")).result
    assert {"throttled", "device-shared"} <= set(found.flags)
    assert found.median_s is not None
    assert found.state["temperature_celsius"] == 88.0


def test_a_slow_format_becomes_a_finding() -> None:
    cube = {"m": 512, "n": 512, "k": 512}
    flops = 2.0 * 512**3
    fast = result(format="fp32", shape=cube, median_s=0.002, flops=flops)
    slow = result(format="fp16", shape=cube, median_s=1.0, flops=flops, flags=("emulated",))
    told = findings([fast, slow])
    assert any("FP16" in each and "500 times slower than FP32" in each for each in told)


def test_misalignment_becomes_a_finding() -> None:
    cube = result(shape={"m": 512, "n": 512, "k": 512}, median_s=0.001, flops=2.0 * 512**3)
    odd = result(shape={"m": 512, "n": 513, "k": 512}, median_s=0.004, flops=2.0 * 512**2 * 513)
    assert any("512×513×512" in each for each in findings([cube, odd]))
