"""The size-scaling study: the same numbers in both libraries, both timings, the figure."""

from __future__ import annotations

from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from profiles.device import open_device
from profiles.diffusion import ALPHA, Row, Study, diffusion_study, numpy_step, torch_step
from profiles.diffusion_figure import write_figure
from profiles.errors import ProfileError
from profiles.report import study_lines


def row(side: int, torch_s: float, unsynchronised_s: float | None = None) -> Row:
    return Row(
        side=side,
        numpy_s=1e-8 * side**2,
        torch_s=torch_s,
        unsynchronised_s=torch_s if unsynchronised_s is None else unsynchronised_s,
        difference=0.0,
    )


def study(*rows: Row) -> Study:
    return Study(device="a device", threads=1, rows=rows, left_out=())


def test_both_libraries_compute_the_same_step() -> None:
    grid = np.random.default_rng(0).standard_normal((33, 40)).astype(np.float32)
    here, there = grid.copy(), torch.from_numpy(grid.copy())
    numpy_step(grid, here)
    torch_step(torch.from_numpy(grid), there)
    assert np.abs(here - there.numpy()).max() < 1e-6


def test_heat_spreads_from_the_middle_and_none_is_lost() -> None:
    grid = np.zeros((7, 7))
    grid[3, 3] = 1.0
    after = grid.copy()
    numpy_step(grid, after)
    assert after[3, 3] == pytest.approx(1 - 4 * ALPHA)
    assert after[2, 3] == after[4, 3] == after[3, 2] == after[3, 4] == pytest.approx(ALPHA)
    assert after.sum() == pytest.approx(1.0)


def test_a_study_measures_small_grids_and_says_what_it_left_out() -> None:
    found = diffusion_study(open_device("cpu"), sides=(64, 96, 128, 10**6), seconds=3.0)
    assert [each.side for each in found.rows] == [64, 96, 128]
    assert [side for side, _ in found.left_out] == [10**6]
    assert all(each.difference < 1e-5 for each in found.rows)
    assert all(each.torch_s > 0 and each.numpy_s > 0 for each in found.rows)


def test_saturation_is_where_the_rate_stops_growing() -> None:
    launch_bound = [row(side, 5e-5 + side**2 * 1e-11) for side in (512, 1024, 2048, 4096, 8192)]
    assert (
        study(*launch_bound).saturated_side == 8192 or study(*launch_bound).saturated_side is None
    )
    flat = [row(512, 1e-4), row(1024, 1.05e-4), row(2048, 4.2e-4), row(4096, 1.68e-3)]
    assert study(*flat).saturated_side == 1024
    growing = [row(512, 1e-4), row(1024, 1e-4), row(2048, 1e-4)]
    assert study(*growing).saturated_side is None


def test_the_wrong_timing_stands_beside_the_right_one() -> None:
    lines = study_lines(study(row(4096, 1.36e-3, 0.03e-3)))
    assert "unsynchronised" in "\n".join(lines)
    assert "1.36 ms" in "\n".join(lines)
    assert "30 µs" in "\n".join(lines)


def test_the_figure_is_svg_with_a_line_for_each_way(tmp_path: Path) -> None:
    path = tmp_path / "d.svg"
    write_figure(study(row(512, 1e-4), row(1024, 2e-4), row(2048, 8e-4)), path)
    text = path.read_text()
    assert ElementTree.fromstring(text).tag.endswith("svg")
    for name in ("NumPy, one thread", "torch, unsynchronised"):
        assert name in text


def test_a_figure_that_cannot_be_written_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ProfileError, match="--figure"):
        write_figure(study(row(512, 1e-4), row(1024, 2e-4)), tmp_path / "none" / "d.svg")
