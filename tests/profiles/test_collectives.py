"""Collectives under torchrun with Gloo, and the link fitted from them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.at_once import COPY, PRODUCT, slowdowns_between
from profiles.file import read_profile
from profiles.links import COLLECTIVES, bus_bytes, fit_link
from tests.conftest import PROJECT


def torchrun(ranks: int, *words: str) -> subprocess.CompletedProcess[str]:
    launcher = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", str(ranks)]
    return subprocess.run(
        [*launcher, "-m", "profiles.collectives", *words],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=180,
        check=False,
    )


@pytest.mark.parametrize("ranks", [2, 4])
def test_every_collective_is_measured_by_size(ranks: int, tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    done = torchrun(ranks, "--out", str(path), "--most", "65536", "--seconds", "0.2")
    assert done.returncode == 0, done.stderr[-2000:]
    found = read_profile(path)
    assert {each.kernel for each in found.results if each.measured} == {*COLLECTIVES, PRODUCT, COPY}
    (ratios,) = slowdowns_between(found.results).values()
    assert set(ratios) == {PRODUCT, COPY}
    assert all(1 <= each < 50 for each in ratios.values())
    assert {each.shape["ranks"] for each in found.results} == {ranks}
    assert all("all_reduce" not in each.kernel or each.median_s for each in found.results)
    assert "latency" in done.stdout


def test_alone_it_says_how_to_start_it() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "profiles.collectives"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "torchrun" in done.stderr


@given(st.floats(1e-6, 1e-3), st.floats(1e8, 1e12))
def test_a_link_that_follows_the_law_is_found_again(latency: float, rate: float) -> None:
    sizes = [2.0**power for power in range(10, 31, 2)]
    found = fit_link([(size, latency + size / rate) for size in sizes])
    assert found is not None
    assert found.bytes_per_second == pytest.approx(rate, rel=1e-3)
    assert found.latency_s == pytest.approx(latency, rel=1e-3)


def test_times_without_a_trend_give_no_bandwidth() -> None:
    assert fit_link([(1e3, 1.0), (1e6, 0.5), (1e9, 0.1)]) is None
    assert fit_link([(1e3, 1.0), (1e6, 1.001), (1e9, 1.002)]) is None
    assert fit_link([(1e3, 1.0)]) is None


@given(st.integers(2, 4096))
def test_an_all_reduce_carries_twice_what_a_gather_does(ranks: int) -> None:
    assert bus_bytes("all_reduce", 1024, ranks) == 2 * bus_bytes("all_gather", 1024, ranks)
    assert bus_bytes("all_reduce", 1024, ranks) < 2048
