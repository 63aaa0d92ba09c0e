"""Run length, energy and carbon."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.engine.assumptions import assumptions
from planner.engine.energy import average_watts, carbon_kg, energy_kwh
from planner.engine.run_length import (
    Interruptions,
    Stops,
    best_interval,
    run_seconds,
    wall_parts,
)


def interruptions(**changes: float | None) -> Interruptions:
    values: dict[str, float | None] = {
        "checkpoint_bytes": 1e11,
        "checkpoint_interval": 3600.0,
        "evaluation_interval": None,
        "failures_per_device_day": 0.0,
        **changes,
    }
    return Interruptions(**values)  # type: ignore[arg-type]


def test_training_is_steps_times_step() -> None:
    run = run_seconds(
        steps=1000, step_seconds=2.0, devices=8, nodes=1, interruptions=interruptions()
    )
    assert run.training == 2000
    assert run.failures == 0
    assert run.total == pytest.approx(
        run.training + run.evaluation + run.checkpoints + run.startup + run.failures
    )
    assert 0 < run.goodput < 1


@given(
    st.lists(st.floats(1.0, 1e8), min_size=1, max_size=5),
    st.one_of(st.none(), st.floats(60.0, 1e6)),
    st.floats(0.0, 1e-2),
    st.booleans(),
)
def test_many_runs_at_once_take_what_each_takes_alone(
    training: list[float], interval: float | None, failures: float, evaluates: bool
) -> None:
    told = interruptions(
        checkpoint_interval=interval,
        failures_per_device_day=failures,
        evaluation_interval=3600.0 if evaluates else None,
    )
    stops = Stops.of(
        checkpoint_bytes=told.checkpoint_bytes,
        devices=64,
        nodes=8,
        failures_per_device_day=failures,
        evaluates=evaluates,
    )
    parts = wall_parts(np.array(training), np.full(1, interval or stops.best_interval), stops)
    together = np.broadcast_to(sum(parts.values()), len(training))
    for seconds, total in zip(training, together, strict=True):
        alone = run_seconds(steps=1, step_seconds=seconds, devices=64, nodes=8, interruptions=told)
        assert alone.total == total, "the same numbers, to the last bit"


def test_failures_grow_with_devices() -> None:
    few, many = (
        run_seconds(
            steps=1e5,
            step_seconds=5.0,
            devices=devices,
            nodes=devices // 8,
            interruptions=interruptions(failures_per_device_day=5e-4),
        )
        for devices in (8, 8192)
    )
    assert many.failures > 500 * few.failures


def test_without_failures_no_checkpoint_interval_is_best() -> None:
    assert best_interval(60.0, 0.0) == math.inf
    assert best_interval(60.0, 1e-4) < best_interval(60.0, 1e-6)


def test_llama_2_energy_follows_from_its_hours() -> None:
    """184,320 GPU-hours at 400 W are 73,728 kWh and 31.22 t (Llama 2 model card)."""
    kwh = energy_kwh(watts=400, device_seconds=184_320 * 3600, pue=1.0)
    assert kwh == pytest.approx(73_728)
    assert carbon_kg(kwh, 423.4) == pytest.approx(31_220, rel=0.01)


def test_a_server_draws_more_than_its_accelerators() -> None:
    assert 700 < average_watts(700) < 1100


def test_every_assumption_has_a_range_and_a_source() -> None:
    for name, row in assumptions().items():
        assert row.low <= row.value <= row.high, name
        assert row.source, name
        assert row.unit, name
