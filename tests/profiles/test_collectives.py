"""Collectives under torchrun with Gloo, and the link fitted from them."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from profiles.at_once import COPY, PRODUCT, slowdowns_between
from profiles.collectives import main, sizes_up_to
from profiles.file import read_profile
from profiles.links import COLLECTIVES, bus_bytes, fit_link
from profiles.ranks import group_shape
from tests.conftest import PROJECT
from tests.profile_device.devices import profile


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


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--most", "0"), "--most: 0: 3 sizes show a bandwidth: at least 16384"),
        (("--most", "-1"), "at least 16384"),
        (("--most", "abc"), "'abc'"),
        (("--seconds", "0"), "above 0"),
        (("--seconds", "nan"), "above 0"),
        (("--seconds", "inf"), "above 0"),
        (("--sizes", "4"), "--sizes"),
    ],
)
def test_a_wrong_word_is_one_line_of_the_first_rank(
    words: tuple[str, str],
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    for rank in ("1", "0"):
        assert lone(rank, 2, words, monkeypatch) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == (rank == "0")
    assert says in said


def lone(rank: str, ranks: int, words: tuple[str, ...], patch: pytest.MonkeyPatch) -> object:
    """The status of one rank that never joins the others."""
    told = {"RANK": rank, "WORLD_SIZE": str(ranks), "MASTER_ADDR": "localhost", "MASTER_PORT": "0"}
    for name, value in told.items():
        patch.setenv(name, value)
    try:
        return main(words)
    except SystemExit as leaving:
        return leaving.code


def test_one_rank_has_no_collectives(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert lone("0", 1, (), monkeypatch) == 2
    assert "--nproc-per-node: 1: a collective needs 2 ranks or more" in capsys.readouterr().err


def test_many_ranks_start_at_a_word_for_each() -> None:
    assert sizes_up_to(2**28, 256)[0] == 1024
    assert sizes_up_to(2**28, 1000)[0] == 4096


@pytest.mark.parametrize("held", ["missing folder", "no profile", "another device"])
def test_a_file_that_takes_no_results_is_refused_before_the_measurement(
    held: str, tmp_path: Path
) -> None:
    path = tmp_path / "c.json"
    if held == "missing folder":
        path = tmp_path / "none" / "c.json"
    else:
        path.write_text('{"a": 1}' if held == "no profile" else json.dumps(profile()))
    before = path.read_text() if path.exists() else None
    done = torchrun(2, "--out", str(path), "--most", "65536", "--seconds", "0.2")
    said = [each for each in done.stderr.splitlines() if each.startswith("profiles.collectives: ")]
    assert len(said) == 1
    assert "[rank" not in done.stderr  # nobody's traceback
    assert "latency" not in done.stdout
    assert (path.read_text() if path.exists() else None) == before


@pytest.mark.parametrize(("launchers", "nodes"), [(None, 1), ("1", 1), ("2", 2)])
def test_nodes_are_counted_by_their_launchers(
    launchers: str | None, nodes: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by the ranks of the first: three may be two and one."""
    monkeypatch.delenv("GROUP_WORLD_SIZE", raising=False)
    monkeypatch.setenv("LOCAL_WORLD_SIZE", "2")
    if launchers is not None:
        monkeypatch.setenv("GROUP_WORLD_SIZE", launchers)
    three = SimpleNamespace(get_world_size=lambda: 3)
    assert group_shape(three, "gloo") == {"ranks": 3, "nodes": nodes, "backend": "gloo"}


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
    assert fit_link([(1e3, 1.0), (1e3, 1.1), (1e3, 0.9), (1e6, 9.0)]) is None  # of two sizes


@given(st.integers(2, 4096))
def test_an_all_reduce_carries_twice_what_a_gather_does(ranks: int) -> None:
    assert bus_bytes("all_reduce", 1024, ranks) == 2 * bus_bytes("all_gather", 1024, ranks)
    assert bus_bytes("all_reduce", 1024, ranks) < 2048
