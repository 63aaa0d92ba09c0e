"""`forerun hardware list|show`."""

from __future__ import annotations

import pytest


def test_list_prints_every_accelerator(forerun):
    answer = forerun("hardware", "list")
    assert answer.status == 0
    assert "h100-sxm5-80gb" in answer.out
    assert "122 accelerators" in answer.out


def test_list_narrows_by_maker_format_and_memory(forerun):
    found = forerun(
        "hardware",
        "list",
        "--vendor",
        "NVIDIA",
        "--format",
        "fp8",
        "--min-memory",
        "80GB",
        "--json",
    ).json["accelerators"]
    ids = {part["sku_id"] for part in found}
    assert {"h100-sxm5-80gb", "b200-sxm6-180gb"} <= ids
    assert not ids & {"a100-sxm4-80gb", "rtx-4090", "mi300x-192gb"}


@pytest.mark.parametrize("by", ["name", "memory", "bandwidth", "peak", "price", "power", "year"])
def test_list_sorts_with_unknown_values_last(forerun, by):
    found = forerun("hardware", "list", "--sort", by, "--json").json["accelerators"]
    assert len(found) == 122
    if by == "price":
        usd = [part["price"] and part["price"]["usd_per_device_hour"] for part in found]
        known = [each for each in usd if each is not None]
        assert usd == known + [None] * (len(usd) - len(known))
        assert known == sorted(known)


def test_show_prints_figures_prices_with_dates_and_what_rests_on_memory(forerun):
    answer = forerun("hardware", "show", "b300-sxm6-288gb")
    assert answer.status == 0
    rates = ("268 GiB", "2.25 PFLOP/s", "undocumented or derived")
    expected = (*rates, "aws", "2026-07-20", "sources")
    for words in expected:
        assert words in answer.out


def test_show_json_is_complete(forerun):
    shown = forerun("hardware", "show", "NVIDIA H100 80GB HBM3", "--json").json
    part = shown["accelerator"]
    assert part["sku_id"] == "h100-sxm5-80gb"
    assert part["peak_flops"]["bf16"] == pytest.approx(989.4e12)
    assert part["achievable"]["bf16"]["fraction"] == pytest.approx(0.803)
    assert shown["usual_network"]["device_bytes_per_second"] == 50e9
    assert {price["provider"] for price in shown["prices"]} >= {"aws", "azure", "gcp"}
    assert all(price["price_date"] for price in shown["prices"])


def test_show_states_what_it_assumed(forerun):
    assert forerun("hardware", "show", "a100-80gb", "--json").json["assumed"]
    assert "taken as a100-sxm4-80gb" in forerun("hardware", "show", "A100-80GB").out


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("show", "H100"), "h100-nvl-94gb"),
        (("show", "h200x"), "h200-sxm5-141gb"),
        (("show", ""), "sku"),
        (("list", "--vendor", "nvidea"), "nvidia"),
        (("list", "--format", "fp6"), "fp8"),
        (("list", "--min-memory", "-3GB"), "--min-memory"),
        (("list", "--min-memory", "big"), "--min-memory"),
        (("list", "--sort", "beauty"), "memory"),
    ],
)
def test_mistakes_are_one_line_with_a_remedy(forerun, words, says):
    answer = forerun("hardware", *words)
    assert answer.status == 2
    assert answer.out == ""
    assert len(answer.err.strip().splitlines()) == 1
    assert says in answer.err


def test_an_empty_selection_says_so(forerun):
    answer = forerun("hardware", "list", "--vendor", "apple", "--format", "fp8")
    assert answer.status == 0
    assert "no accelerator" in answer.out
