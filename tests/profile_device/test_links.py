"""Collectives of a profile as links that plans reckon with."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.profile_device.figures import Figures, figures_from
from planner.profile_device.links import ALL_REDUCE, GATHERS
from planner.profile_device.reader import MOST_LINK_RATE, MOST_RESULTS, recorded_of
from profiles.links import bus_bytes
from tests.profile_device.devices import collective_rows, profile, row


def figures_with(*rows: dict[str, object]) -> Figures:
    return figures_from(recorded_of(profile(results=list(rows)), "made up"))


@given(st.integers(2, 1024), st.floats(1e-6, 1e-3), st.floats(1e8, 1e12))
def test_the_links_own_bandwidth_and_start_are_found_again(
    ranks: int, start: float, rate: float
) -> None:
    (link,) = figures_with(*collective_rows(ranks, start=start, rate=rate)).links
    for used in (ALL_REDUCE, GATHERS, ()):
        assert link.bytes_per_second(*used) == pytest.approx(rate, rel=1e-3)
        assert link.start_seconds(*used) == pytest.approx(start / math.log2(ranks), rel=1e-3)


def test_each_operation_has_its_own_bandwidth() -> None:
    (link,) = figures_with(*collective_rows(4, rate=1e9, slow=4)).links
    assert link.bytes_per_second(*ALL_REDUCE) == pytest.approx(1e9, rel=1e-3)
    assert link.bytes_per_second(*GATHERS) == pytest.approx(0.5e9, rel=1e-3)


def test_the_group_as_large_as_the_job_answers_it() -> None:
    rows = [*collective_rows(2, rate=1e9), *collective_rows(8, rate=3e9)]
    rows += collective_rows(16, nodes=2, rate=5e9)
    found = figures_with(*rows)
    for devices, ranks in ((2, 2), (8, 8), (4, 8), (64, 8)):
        link = found.link(devices)
        assert link is not None
        assert (link.group.ranks, link.group.nodes) == (ranks, 1)
    assert found.network is not None
    assert found.network.ranks_per_node == 8


@pytest.mark.parametrize(
    "shape",
    [
        {"ranks": 1, "nodes": 1},
        {"ranks": 4, "nodes": 0},
        {"ranks": 4, "nodes": 8},
        {"ranks": "4", "nodes": 1},
        {"nodes": 1},
    ],
)
def test_what_names_no_group_of_several_makes_no_link(shape: dict[str, object]) -> None:
    rows = [each | {"shape": {"bytes": 1, **shape}} for each in collective_rows(4)]
    assert figures_with(*rows).links == ()


def test_times_that_show_no_bandwidth_make_no_link() -> None:
    shape = {"ranks": 2, "nodes": 1, "backend": "gloo"}
    rows = [
        row("all_reduce", shape | {"bytes": size}, 1e3 / size, bytes=float(size))
        for size in (10**3, 10**6, 10**8)
    ]
    assert figures_with(*rows).links == ()


def test_too_many_results_are_counted() -> None:
    rows = collective_rows(4)[:1] * (MOST_RESULTS + 1)
    with pytest.raises(PlannerError, match="holds 20001 results: at most 20000"):
        figures_with(*rows)


SECONDS, BYTES = st.floats(1e-10, 1e6), st.integers(0, 10**15)


@given(st.lists(st.tuples(SECONDS, BYTES), min_size=3, max_size=6), st.integers(2, 2**53))
def test_no_times_however_odd_make_a_link_of_no_rate(
    timed: list[tuple[float, int]], ranks: int
) -> None:
    shape = {"ranks": ranks, "nodes": 1, "backend": "gloo"}
    rows = [
        row("all_reduce", shape | {"bytes": size}, seconds, bytes=moved)
        for seconds, size in timed
        if (moved := bus_bytes("all_reduce", size, ranks)) / seconds <= MOST_LINK_RATE
    ]
    for link in figures_with(*rows).links:
        assert 1e-7 < link.bytes_per_second() < 1e21
        assert 0 <= link.start_seconds() < 1e7


GROUP = {"bytes": 2**28, "ranks": 4, "nodes": 1, "backend": "gloo"}


@pytest.mark.parametrize(
    "change",
    [
        {"bytes": 1e12},  # not the traffic of the shape
        {"bytes": 0.0},
        {"median_s": 1e-10},  # faster than any link
        {"shape": {name: each for name, each in GROUP.items() if name != "bytes"}},
        {"shape": GROUP | {"ranks": 3}},
        {"shape": GROUP | {"backend": "\x1b[31mgloo"}},
        {"shape": GROUP | {"backend": "\u202egloo"}},
        {"shape": GROUP | {"backend": "g" * 40}},
        {"shape": [list(each) for each in GROUP.items()]},
    ],
)
def test_a_collective_that_cannot_be_is_damaged(change: dict[str, object]) -> None:
    sound = collective_rows(4)[3]
    assert figures_with(sound).links == ()  # of one size
    with pytest.raises(PlannerError, match=r"damaged: results\[0\]: measure again"):
        figures_with(sound | change)
