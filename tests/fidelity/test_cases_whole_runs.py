"""Totals of whole runs with the configuration their makers document."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import PlannerError
from planner.fidelity.whole_runs import TOTALS, load_whole_runs


def test_every_total_of_the_table_can_be_planned(shared: Path) -> None:
    runs = load_whole_runs()
    assert len(runs) == 18
    assert TOTALS.read_bytes() == (shared / "data/fidelity/gpu_hours.csv").read_bytes()


def test_a_run_knows_its_steps_and_what_a_step_took() -> None:
    run = next(run for run in load_whole_runs() if run.id == "gh-020")
    # TinyLlama: 300 B tokens, 2 Mi tokens a step, 3,456 hours over 16 devices
    assert run.steps == pytest.approx(300e9 / (1024 * 2048))
    assert run.seconds_per_step == pytest.approx(3456 * 3600 / 16 / run.steps)
    assert run.seconds_per_step == pytest.approx(5.46, rel=0.01)  # the row of runs.csv


def test_models_have_the_size_that_the_table_states() -> None:
    stated = {"gh-003": 68.98, "gh-005": 70.55, "gh-017": 175, "gh-029": 6.66, "gh-038": 1.558}
    for run in load_whole_runs():
        if run.id in stated:
            size = run.case.configuration.model.params_total / 1e9
            assert size == pytest.approx(stated[run.id], rel=0.005), run.id


def test_a_total_without_settings_is_refused(tmp_path: Path) -> None:
    settings = tmp_path / "settings.csv"
    settings.write_text("id\ngh-999\n", encoding="utf-8")
    with pytest.raises(PlannerError, match="gh-001"):
        load_whole_runs(settings=settings)
