"""Carbon of places, figures of facilities, and money in other currencies."""

from __future__ import annotations

import pytest

from hardware_db import (
    AmbiguousName,
    HardwareError,
    MissingRate,
    UnknownName,
    convert,
    figures,
    grid,
    grids,
    pue,
)


def test_grids_are_sourced_dated_and_in_kilograms():
    for each in grids():
        assert each.source
        assert 2015 <= each.year <= 2026
        assert 0.002 <= each.kg_per_kwh <= 1.0, each.place
        assert each.gas in ("CO2e", "CO2")


def test_no_place_appears_twice():
    places = [each.place for each in grids()]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("USA", "USA"),
        ("united states", "USA"),
        ("France", "FRA"),
        ("US-TX", "US-TX"),
        ("texas", "US-TX"),
        ("gcp/us-central1", "gcp/us-central1"),
        ("US_CENTRAL1".lower().replace("_", "-"), "gcp/us-central1"),
        ("us-east-1", "aws/us-east-1"),
        ("eastus", "azure/eastus"),
        ("world", "WORLD"),
        ("Sichuan", "CN-SC"),
    ],
)
def test_places_by_code_name_or_cloud_region(name: str, place: str):
    assert grid(name).place == place


def test_every_place_is_found_by_its_code():
    for each in grids():
        assert grid(each.place) == each


def test_an_unknown_place_gives_the_nearest_and_a_shared_name_is_refused():
    with pytest.raises(UnknownName, match="FRA"):
        grid("Frnace")
    with pytest.raises(AmbiguousName, match=r"FIN.*FI-zone"):
        grid("Finland")


def test_power_usage_effectiveness_of_providers():
    assert pue("aws").value == 1.15
    assert pue("nowhere") is None
    for each in figures("pue"):
        assert 1.0 < each.value < 2.0


def test_facility_figures_have_units_and_sources():
    for each in figures():
        assert each.unit
        assert each.source
        assert each.value > 0
    with pytest.raises(UnknownName, match="kind"):
        figures("phlogiston")


def test_money_is_converted_with_rate_and_date():
    euros = convert(100, "usd", "EUR", rate=0.92, rate_date="user-supplied")
    assert euros.amount == pytest.approx(92.0)
    assert (euros.currency, euros.rate, euros.rate_date) == ("EUR", 0.92, "user-supplied")


def test_money_is_never_relabelled():
    with pytest.raises(MissingRate, match="EUR per USD"):
        convert(100, "USD", "EUR")
    with pytest.raises(MissingRate, match="rate_date"):
        convert(100, "USD", "EUR", rate=0.92)
    assert convert(100, "USD", "USD").amount == 100


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_a_rate_is_a_positive_number(rate: float):
    with pytest.raises(HardwareError, match="rate"):
        convert(1, "USD", "EUR", rate=rate, rate_date="2026-08-01")


def test_a_currency_is_a_three_letter_code():
    with pytest.raises(HardwareError, match="currency"):
        convert(1, "$", "EUR", rate=1.0, rate_date="2026-08-01")


def test_published_energy_and_carbon_of_llama_2_7b_follow_from_hours_and_watts():
    kwh = 184_320 * 400 / 1000
    assert kwh == 73_728
    implied = 31_220 / kwh
    assert implied == pytest.approx(0.4234, abs=1e-4)
    american = [each.kg_per_kwh for each in grids() if each.kind == "us-state"]
    assert min(american) < implied < max(american)
