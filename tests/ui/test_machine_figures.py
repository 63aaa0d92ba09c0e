"""Roofline, ratios, findings and tables of a profile: they hold the profile's own numbers."""

from __future__ import annotations

import csv
import dataclasses
import io
import re

import pytest

from profiles.at_once import COPY, PRODUCT
from profiles.result import Result
from tests.conftest import PROJECT
from tests.profiles.test_profile_file import profile, result
from ui import machine_findings
from ui import machine_tables as tables
from ui.charts.profile_ratio import ratio_figure
from ui.charts.roofline import roofline_figure
from ui.profile_compare import conditions, groups_of, pairs_of
from ui.roofline import roofline_of
from ui.table import to_csv
from ui.text import LANGUAGES, Words, table

WORDS = Words(language="en")


def cube(side: int, number_format: str, rate: float, *flags: str) -> Result:
    """A product of a cube at a rate in FLOP/s."""
    size = {"fp32": 4, "fp16": 2, "bf16": 2}[number_format]
    return result(
        format=number_format,
        shape={"m": side, "n": side, "k": side},
        flops=2.0 * side**3,
        bytes=3.0 * size * side**2,
        median_s=2.0 * side**3 / rate,
        flags=flags,
    )


def copied(size: int, rate: float, mode: str = "steady") -> Result:
    return result(
        kernel="copy",
        format="fp32",
        shape={"bytes": size},
        flops=0.0,
        bytes=2.0 * size,
        median_s=2.0 * size / rate,
        mode=mode,
    )


MEASURED = profile(
    copied(2**18, 80e9),
    copied(2**27, 20e9),
    copied(2**27, 15e9, "cold"),
    cube(256, "fp32", 90e9),
    cube(512, "fp32", 100e9, "throttled"),
    cube(512, "bf16", 200e9, "throttled", "device-shared"),
    cube(512, "fp16", 10e9, "emulated"),
    cube(256, "bf16", 900e9, "wrong-result"),
    result(kernel="gelu", format="fp32", shape={"rows": 64, "width": 64}, flops=0.0, bytes=1e5),
    result(format="tf32", median_s=None, iqr_s=None, n=0, flags=("not-supported",), reason="none"),
)


def test_roofs_are_the_best_rates_and_the_largest_copy() -> None:
    found = roofline_of(MEASURED)
    assert found.memory == pytest.approx(20e9)
    assert found.cache == pytest.approx(80e9)
    assert {name: roof.rate for name, roof in found.roofs.items()} == pytest.approx(
        {"fp32": 100e9, "fp16": 10e9, "bf16": 200e9}
    )
    assert found.ridge("bf16") == pytest.approx(10.0)
    assert found.ridge("fp8") is None


def test_a_wrong_result_makes_neither_a_roof_nor_a_point() -> None:
    found = roofline_of(MEASURED)
    assert all("wrong-result" not in point.result.flags for point in found.points)
    assert len(found.points) == 4


def test_the_figure_draws_the_points_and_roofs_of_the_chosen_formats() -> None:
    found = roofline_of(MEASURED)
    figure = roofline_figure(found, WORDS, formats=["fp32", "bf16"])
    assert figure is not None
    drawn = [trace for trace in figure.data if trace.customdata is not None]
    assert sorted(y for trace in drawn for y in trace.y) == pytest.approx([90e9, 100e9, 200e9])
    assert drawn[0].x[0] == pytest.approx(2 * 256**3 / (3 * 4 * 256**2))
    roofs = {trace.name.split()[0]: trace.y[0] for trace in figure.data if trace.name}
    assert roofs["BF16"] == pytest.approx(200e9)
    assert "FP16" not in roofs
    assert roofline_figure(found, WORDS, formats=["fp8"]) is None


def test_the_slope_ends_where_it_meets_the_highest_roof() -> None:
    found = roofline_of(MEASURED)
    figure = roofline_figure(found, WORDS, formats=["fp32", "bf16"])
    assert figure is not None
    slope = next(trace for trace in figure.data if (trace.name or "").startswith("Memory"))
    assert (slope.x[1], slope.y[1]) == pytest.approx((10.0, 200e9))


def test_a_profile_without_products_has_no_roofline() -> None:
    found = roofline_of(profile(copied(2**20, 5e9)))
    assert found.roofs == {}
    assert found.cache is None
    assert roofline_figure(found, WORDS, formats=[]) is None


def test_slow_formats_throttling_and_other_processes_are_said_in_words() -> None:
    said = " ".join(machine_findings.findings(MEASURED, WORDS))
    assert (
        "FP16 products of 512³ run at 10 GFLOP/s, 10 times slower than FP32 because the device"
        in said
    )
    assert "BF16 products of 512³ run at 200 GFLOP/s, 2 times faster than FP32" in said
    assert "TF32 was not measured: not supported" in said
    doubts = machine_findings.doubts(MEASURED, WORDS)
    assert doubts[0].startswith("2 of 9 kernels are flagged “throttled”")
    assert "Another process used the device" in doubts[1]


def test_every_flag_of_the_profiler_has_words_in_both_languages() -> None:
    known = set(table("en"))
    source = (PROJECT / "docs" / "profiling.md").read_text()
    section = source.partition("| flag | meaning |")[2].partition("\n\n")[0]
    rows = re.findall(r"^\| ([a-z, -]+) \|", section, re.MULTILINE)
    flags = {flag for row in rows for flag in row.split(", ")}
    assert len(flags) >= 12
    for group in ("machine_flag", "machine_meaning"):
        assert {f"{group}.{flag}" for flag in flags} <= known


def test_a_profile_against_itself_is_as_fast_and_half_the_time_is_twice() -> None:
    assert {pair.speed for pair in pairs_of(MEASURED, MEASURED)} == {1.0}
    slow = dataclasses.replace(
        MEASURED,
        results=tuple(
            dataclasses.replace(each, median_s=each.median_s and 2 * each.median_s)
            for each in MEASURED.results
        ),
        environment={"torch": "2.13.0", "num_threads": 2},
    )
    pairs = pairs_of(MEASURED, slow)
    assert [pair.speed for pair in pairs] == pytest.approx([2.0] * 9)
    assert [group.median for group in groups_of(pairs)] == pytest.approx([2.0] * 5)
    assert conditions(MEASURED, slow) == [("num_threads", 1, 2)]


def test_the_ratio_figure_has_a_dot_for_every_shape() -> None:
    groups = groups_of(pairs_of(MEASURED, MEASURED))
    figure = ratio_figure(groups, WORDS)
    assert figure is not None
    dots = [trace for trace in figure.data if trace.customdata is not None]
    assert sum(len(trace.x) for trace in dots) == 9
    assert ratio_figure([], WORDS) is None


@pytest.mark.parametrize("language", LANGUAGES)
def test_tables_hold_the_numbers_of_the_profile(language: str) -> None:
    words = Words(language=language)
    found = roofline_of(MEASURED)
    formats = read(to_csv(tables.formats(MEASURED, found, words)))
    assert [row[0] for row in formats[1:]] == ["fp32", "tf32", "fp16", "bf16"]
    assert float(formats[1][1]) == pytest.approx(100e9)
    assert formats[2][1] == ""
    traffic = read(to_csv(tables.traffic(MEASURED, words)))
    assert float(traffic[2][2]) == pytest.approx(20e9)
    counts = {row[0]: row[1] for row in read(to_csv(tables.flags(MEASURED, words)))[1:]}
    assert counts["throttled"] == "2"
    everything = read(to_csv(tables.everything(MEASURED)))
    assert len(everything) == 1 + len(MEASURED.results)


def read(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("language", LANGUAGES)
def test_collectives_become_a_table_of_links(language: str) -> None:
    words = Words(language=language)
    assert tables.links(MEASURED, words).rows == ()
    shape = {"ranks": 4, "nodes": 2, "backend": "nccl"}
    timed = tuple(
        Result(
            kernel="all_gather",
            format="fp32",
            shape={"bytes": size, **shape},
            mode="steady",
            median_s=2e-5 + size / 1e10,
            iqr_s=0.0,
            n=3,
            flops=0.0,
            bytes=float(size),
        )
        for size in (2**10, 2**20, 2**28)
    )
    whole = dataclasses.replace(MEASURED, results=(*MEASURED.results, *timed))
    ((name, ranks, start, rate),) = read(to_csv(tables.links(whole, words)))[1:]
    assert name == "all_gather"
    assert "4" in ranks
    assert "nccl" in ranks
    assert float(start) == pytest.approx(2e-5)
    assert float(rate) == pytest.approx(1e10)
    assert len(roofline_of(whole).points) == len(roofline_of(MEASURED).points)


def test_what_ranks_slow_each_other_down_by_is_a_sentence() -> None:
    assert tables.at_once(MEASURED, WORDS) == []
    shape = {"ranks": 4, "nodes": 1, "backend": "gloo"}
    timed = tuple(
        dataclasses.replace(
            MEASURED.results[0], kernel=kernel, shape={**shape, "busy": busy}, median_s=seconds
        )
        for kernel, slower in ((PRODUCT, 1.25), (COPY, 1.5))
        for busy, seconds in ((1, 1.0), (4, slower))
    )
    whole = dataclasses.replace(MEASURED, results=(*MEASURED.results, *timed))
    (said,) = tables.at_once(whole, WORDS)
    assert "all of 4 ranks, gloo" in said
    assert "a product takes 1.25 and a copy 1.5 times" in said
