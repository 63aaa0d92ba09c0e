"""Fits of constants, what is left out of them, and the files that keep them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks import fit as command
from planner.engine import constants as constants_module
from planner.fidelity import leave_one_out
from planner.fidelity.case import Case
from planner.fidelity.fit import TimeRows, fit, predict, prior_constants, priors, time_rows
from planner.fidelity.leave_one_out import ACCELERATORS, SOURCES
from planner.planning import intervals
from tests.fidelity.synthetic import case

BATCHES = (16, 32, 64, 128, 256)


def truth(source: str, rate: float, sku: str = "a100-sxm4-80gb") -> list[Case]:
    """Runs of a machine that sustains that fraction of the best matmul rate."""
    plain = [
        replace(
            case(f"{source}-{size}-{length}", source, micro_batch=size, seq_len=length, sku=sku),
            actual_seconds=1.0,
        )
        for size in BATCHES
        for length in (512, 1024)
    ]
    seconds = predict(time_rows(plain), replace(prior_constants(), gemm_nvidia=rate))
    return [
        replace(each, actual_seconds=float(value))
        for each, value in zip(plain, seconds, strict=True)
    ]


def crowd(name: str, rate: float, sku: str = "a100-sxm4-80gb") -> list[Case]:
    """Twelve sources that agree: enough to move a constant from its prior."""
    return [each for number in range(12) for each in truth(f"{name}{number}", rate, sku)]


def rows_of(*sources: list[Case]) -> TimeRows:
    return time_rows([each for source in sources for each in source])


def test_a_fit_moves_towards_the_truth_that_made_the_rows() -> None:
    prior = priors()["gemm_nvidia"].value
    rows = rows_of(crowd("a", prior * 0.8))
    found = fit(rows)
    before = np.abs(predict(rows, prior_constants()) / rows.actual - 1)
    after = np.abs(predict(rows, found.constants) / rows.actual - 1)
    assert found.constants.gemm_nvidia < prior
    assert np.max(after) < 0.6 * np.max(before)
    assert (found.rows, found.sources) == (120, 12)


def test_few_rows_of_one_source_leave_the_prior_nearly_alone() -> None:
    prior = priors()["gemm_nvidia"].value
    found = fit(rows_of(truth("a", prior * 0.8)))
    assert found.constants.gemm_nvidia == pytest.approx(prior, rel=0.03)


def test_rows_left_out_do_not_move_a_fit() -> None:
    prior = priors()["gemm_nvidia"].value
    rows = rows_of(truth("good", prior), crowd("bad", prior * 0.5))
    bad = np.char.startswith(rows.groups, "bad")
    assert fit(rows, leave_out=bad).constants.gemm_nvidia == pytest.approx(prior, rel=1e-3)
    assert fit(rows).constants.gemm_nvidia < prior * 0.97


def test_a_fit_repeats_exactly() -> None:
    rows = rows_of(truth("a", 0.6), truth("b", 0.7))
    assert fit(rows).constants == fit(rows).constants


def test_a_fit_that_starts_near_its_solution_ends_there() -> None:
    rows = rows_of(truth("a", 0.6), truth("b", 0.7))
    whole = fit(rows).constants
    again = fit(rows, start=whole).constants
    assert again.gemm_nvidia == pytest.approx(whole.gemm_nvidia, rel=2e-3)


def test_refits_leave_each_source_and_each_accelerator_out() -> None:
    prior = priors()["gemm_nvidia"].value
    rows = rows_of(truth("a", prior), truth("b", prior * 0.5, sku="h100-sxm5-80gb"))
    by_source = leave_one_out.refit(rows, SOURCES)
    by_part = leave_one_out.refit(rows, ACCELERATORS)
    assert set(by_source) == {"a", "b"}
    assert set(by_part) == {"a100-sxm4-80gb", "h100-sxm5-80gb"}
    for saw_only_a in (by_source["b"], by_part["h100-sxm5-80gb"]):
        assert saw_only_a.gemm_nvidia == pytest.approx(prior, rel=1e-4)
    for saw_only_b in (by_source["a"], by_part["a100-sxm4-80gb"]):
        assert saw_only_b.gemm_nvidia < prior * 0.999


def test_stored_constants_are_read_back_for_the_same_rows_only(tmp_path: Path) -> None:
    path, rows = tmp_path / "stored.json", rows_of(truth("a", 0.7))
    found = {"a": replace(prior_constants(), gemm_nvidia=0.7)}
    leave_one_out.write(rows, {SOURCES: found, ACCELERATORS: {}}, path)
    stored = leave_one_out.read(rows, path)
    assert stored is not None
    assert stored[SOURCES]["a"].gemm_nvidia == 0.7
    assert leave_one_out.read(rows_of(truth("a", 0.8)), path) is None
    assert leave_one_out.read(rows, tmp_path / "absent.json") is None


def test_the_constants_file_keeps_memory_as_it_is_and_tells_where_each_value_is_from(
    tmp_path: Path,
) -> None:
    path = tmp_path / "constants.json"
    path.write_text(constants_module.FILE.read_text(encoding="utf-8"), encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))["constants"]
    rows = rows_of(truth("a", 0.6), truth("b", 0.7))
    fitted = fit(rows)
    left_out = {SOURCES: {"a": fitted.constants, "b": prior_constants()}, ACCELERATORS: {}}
    command.write_constants(command.Refit(fitted=fitted, left_out=left_out), "2026-01-31", path)
    written = json.loads(path.read_text(encoding="utf-8"))
    after = written["constants"]
    assert set(after) == set(before)
    assert {name: after[name] for name in after if name not in priors()} == {
        name: before[name] for name in before if name not in priors()
    }
    entry = after["gemm_nvidia"]
    assert entry["low"] < entry["value"] < entry["high"]
    assert entry["value"] == pytest.approx(fitted.constants.gemm_nvidia, rel=1e-4)
    assert entry["meaning"] == "sustained fraction of the measured best matmul rate"
    assert (written["fit"]["date"], written["fit"]["rows"]) == ("2026-01-31", 20)


def test_the_intervals_file_keeps_its_memory_section(tmp_path: Path) -> None:
    path = tmp_path / "intervals.json"
    path.write_text(intervals.FILE.read_text(encoding="utf-8"), encoding="utf-8")
    before = json.loads(path.read_text(encoding="utf-8"))
    command.write_intervals({"time": {"base": 0.5}}, path)
    after = json.loads(path.read_text(encoding="utf-8"))
    assert after["memory"] == before["memory"]
    assert after["time"] == {"base": 0.5}


def test_every_shipped_constant_says_what_it_means() -> None:
    meanings = command.meanings_of()
    assert set(priors()) <= set(meanings)
    assert all(meanings.values())
