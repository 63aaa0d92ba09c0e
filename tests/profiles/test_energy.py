"""Energy over a window: counter, polling, absence."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from profiles.energy import Energy, energy_of, measure_energy, total_joules
from profiles.errors import ProfileError
from profiles.gauge import Gauge
from profiles.gauges import RaplGauge


class SteadyGauge(Gauge):
    """50 W, by counter and by power."""

    def __init__(self, *, counter: bool = True) -> None:
        super().__init__("")
        self._start = time.perf_counter()
        self._counter = counter

    def power_watts(self) -> float | None:
        return 50.0

    def energy_joules(self) -> float | None:
        return 50.0 * (time.perf_counter() - self._start) + 1 if self._counter else None


def work() -> None:
    time.sleep(0.3)


def test_both_ways_agree_on_a_steady_draw() -> None:
    found = measure_energy(work, SteadyGauge(), lambda: None)
    assert found.source == "counter"
    assert found.joules == pytest.approx(50.0 * found.seconds, rel=0.1)
    assert found.polled_joules == pytest.approx(50.0 * found.seconds, rel=0.05)


def test_without_a_counter_the_integrated_power_stands_in() -> None:
    assert measure_energy(work, SteadyGauge(counter=False), lambda: None).source == "polled"


def test_without_a_gauge_energy_is_unknown() -> None:
    found = measure_energy(work, Gauge("none"), lambda: None)
    assert found.joules is None
    assert found.source == "unavailable"


def test_a_window_in_which_no_counter_ticks_is_refused() -> None:
    with pytest.raises(ProfileError, match=r"at least 0\.1 s"):
        energy_of(seconds=0.05, counter_joules=1.0, polled_joules=None)


def test_one_unknown_device_makes_the_sum_unknown() -> None:
    known = energy_of(seconds=5.0, counter_joules=10.0, polled_joules=None)
    unknown = Energy(seconds=5.0, counter_joules=None, polled_joules=None)
    assert total_joules([known, known]) == 20.0
    assert total_joules([known, unknown]) is None


def test_a_processor_counter_that_wraps_goes_on(tmp_path: Path) -> None:
    package = tmp_path / "intel-rapl:0"
    package.mkdir()
    (package / "max_energy_range_uj").write_text("1000000")
    gauge = RaplGauge([package])
    readings = []
    for value in (900_000, 100_000):
        (package / "energy_uj").write_text(str(value))
        readings.append(gauge.energy_joules())
    assert readings == [pytest.approx(0.9), pytest.approx(1.1)]
