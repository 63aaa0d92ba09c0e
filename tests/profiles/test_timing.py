"""Timing: warm-up, repeats, cold and steady, flags."""

from __future__ import annotations

from itertools import chain, cycle, repeat

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.statistics import iqr, median
from profiles.timing import COLD_MOST, Limits, time_kernel
from tests.profiles.clocks import ToldClock


def nothing() -> None:
    return None


def test_a_slow_first_call_is_not_a_sample() -> None:
    timing = time_kernel(nothing, ToldClock(chain([79.0], repeat(0.01))))
    assert timing.median_s == pytest.approx(0.01)
    assert max(timing.samples_s) < 0.02


def test_steps_that_get_faster_are_warm_up_until_two_windows_agree() -> None:
    clock = ToldClock(chain([0.2, 0.1, 0.05, 0.025, 0.0126, 0.0125], repeat(0.0125)))
    assert time_kernel(nothing, clock).median_s == pytest.approx(0.0125)


def test_a_call_shorter_than_a_sample_is_repeated_within_it() -> None:
    timing = time_kernel(nothing, ToldClock(repeat(1e-6)), limits=Limits(sample_seconds=1e-3))
    assert timing.calls >= 1000
    assert timing.median_s == pytest.approx(1e-6)


def test_a_call_longer_than_the_limit_is_run_twice_and_no_more() -> None:
    clock = ToldClock(repeat(5.0))
    timing = time_kernel(nothing, clock, limits=Limits(seconds=1.0))
    assert clock.calls == 2
    assert timing.flags == ("single-sample",)


def test_cold_flushes_before_every_sample_and_never_batches() -> None:
    clock = ToldClock(repeat(1e-5))
    timing = time_kernel(nothing, clock, mode="cold")
    assert clock.flushes == timing.n
    assert timing.calls == 1


def test_a_cold_kernel_stops_after_few_samples_since_each_flush_takes_long() -> None:
    clock = ToldClock(cycle((1e-5, 3e-5)))
    limits = Limits(samples_most=10 * COLD_MOST, width=1e-9)
    assert time_kernel(nothing, clock, limits=limits, mode="cold").n == COLD_MOST
    assert time_kernel(nothing, clock, limits=limits).n == limits.samples_most


@pytest.mark.parametrize(("spread", "flag"), [(0.15, "noisy"), (0.6, "unreliable")])
def test_a_wide_spread_is_flagged(spread: float, flag: str) -> None:
    times = cycle([0.02, 0.02 * (1 + spread)])
    assert flag in time_kernel(nothing, ToldClock(times)).flags


def test_steady_samples_carry_no_flag() -> None:
    assert time_kernel(nothing, ToldClock(repeat(0.01))).flags == ()


def test_slowing_down_during_the_samples_is_flagged_as_drift() -> None:
    growing = (0.01 * 1.005**i for i in range(300))
    limits = Limits(seconds=3.0, width=1e-6)
    assert "drift" in time_kernel(nothing, ToldClock(growing), limits=limits).flags


def test_a_device_that_waits_for_the_host_is_launch_bound() -> None:
    assert "launch-bound" in time_kernel(nothing, ToldClock(repeat(1e-5), host_share=0.99)).flags
    assert "launch-bound" not in time_kernel(nothing, ToldClock(repeat(1e-5), host_share=0.1)).flags


def test_the_unsynchronised_time_is_kept_beside_the_true_one() -> None:
    timing = time_kernel(nothing, ToldClock(repeat(1.36e-3), host_share=0.022))
    assert timing.median_s == pytest.approx(1.36e-3)
    assert timing.unsynchronised_s == pytest.approx(0.03e-3, rel=0.01)


def test_time_limits_hold() -> None:
    clock = ToldClock(cycle([0.01, 0.03]))
    timing = time_kernel(nothing, clock, limits=Limits(seconds=0.5, width=1e-9))
    assert sum(timing.samples_s) <= 0.5


@given(st.lists(st.floats(1e-6, 1e3), min_size=1, max_size=30))
def test_the_median_lies_among_the_samples_and_the_spread_is_not_negative(
    values: list[float],
) -> None:
    assert min(values) <= median(values) <= max(values)
    assert iqr(values) >= 0


def test_the_real_clock_agrees_with_torchs_own_benchmark() -> None:
    """Paired, in processor time of one thread, since others may share the machine; the strict
    figure is that of benchmarks/profile_timer.py."""
    import time

    from torch.utils.benchmark import Timer

    from profiles.device import open_device

    device = open_device("cpu")
    device.torch.set_num_threads(1)
    device.clock = "cpu"
    a = device.torch.randn(256, 256)
    timer = Timer("a @ a", globals={"a": a}, timer=time.process_time)
    limits = Limits(seconds=0.05, width=1e-9)
    ratios = []
    for _ in range(7):
        theirs = timer.blocked_autorange(min_run_time=0.05).median
        ratios.append(time_kernel(lambda: a @ a, device, limits=limits).median_s / theirs)
    assert 0.7 < median(ratios) < 1.4
