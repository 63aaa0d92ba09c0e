"""Published training rates and memory of ResNet-50 against the plans of our traced module."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from planner.fidelity.convolutions import Array, Row, evaluated, log_errors, median_error, rows
from planner.planning.intervals import memory_spread, time_spread

GIB = 1024**3


@cache
def errors() -> tuple[list[Row], Array]:
    found = rows()
    return found, log_errors(found)


def of(source: str) -> Array:
    found, every = errors()
    return every[[row.source == source for row in found]]


@pytest.mark.parametrize(
    ("sku", "precision", "published"),
    [
        # NVIDIA/DeepLearningExamples@729963d, PyTorch/Classification/ConvNets/resnet50v1.5,
        # README "Training performance": images a second on one GPU
        ("a100-sxm4-80gb", "fp16", 2470),
        ("a100-sxm4-80gb", "tf32", 938),
        ("v100-sxm2-16gb", "fp16", 1200),
        ("v100-sxm2-16gb", "fp32", 367),
    ],
)
def test_one_gpu_trains_as_fast_as_nvidia_published(
    sku: str, precision: str, published: float
) -> None:
    row = next(
        row
        for row in rows()
        if (row.source, row.sku_id, row.num_devices) == ("nvidia-dle", sku, 1)
        and row.precision == precision
    )
    assert row.samples_per_second == published
    assert row.micro_batch / evaluated(row).seconds[0] == pytest.approx(published, rel=0.2)


@pytest.mark.parametrize(
    ("source", "most"), [("nvidia-dle", 0.15), ("lambda", 0.15), ("pytorch-gpu-benchmark", 0.3)]
)
def test_the_median_error_of_each_source_stays(source: str, most: float) -> None:
    assert median_error(of(source)) < most


def test_the_interval_holds_most_published_rates() -> None:
    _, every = errors()
    low, high = time_spread(("traced",)).bounds(1.0)
    inside = (np.exp(-every) > low) & (np.exp(-every) < high)
    assert inside.mean() > 0.8


def test_runs_that_were_tuned_to_fill_the_memory_are_predicted_to_fill_most_of_it() -> None:
    shares = np.array(
        [evaluated(row).peak[0] / GIB / row.peak_gib for row in rows() if row.peak_gib]
    )
    assert 0.75 < np.median(shares) < 1.0
    assert memory_spread(("traced",)).bounds(1.0)[1] > 1 / np.median(shares)


def test_every_row_says_where_it_is_published() -> None:
    for row in rows():
        assert "@" in row.origin
        assert row.samples_per_second > 0
