"""Cases of kind G: money, prices, energy and names of parts."""

from __future__ import annotations

import pytest

import hardware_db
from planner.engine.energy import carbon_kg, energy_kwh
from planner.errors import PlannerError
from planner.planning.limits import highest_price
from planner.planning.money import price_within, usd_of
from planner.planning.outline import Outline, outline
from planner.planning.plan import plan
from planner.planning.scenario import scenario
from planner.run import Run


def run(**changes: object) -> Run:
    base: dict[str, object] = {
        "data.tokens": "1T",
        "data.seq_len": 4096,
        "hardware.sku": "a100-sxm4-80gb",
        "hardware.count": 8,
        "overhead.failures": 0,
    }
    given = {name.replace("__", "."): value for name, value in changes.items()}
    return Run(model="llama-2-7b").changed(base | given)


def bones(**changes: object) -> Outline:
    return outline(scenario(run(**changes)))


def test_u62_cost_is_device_hours_times_the_hourly_price() -> None:
    made = bones()
    assert made.cost.usd is not None
    assert made.cost.per_device_hour is not None
    hours = made.cost.usd / made.cost.per_device_hour
    assert hours == pytest.approx(made.run.device_hours, rel=0.01)
    assert usd_of(1845 + 3310, 0.5) == pytest.approx(2577.5, rel=0.01)
    assert price_within(49_392, 31_360) == pytest.approx(1.575, rel=0.01)


@pytest.mark.parametrize(("tokens", "usd"), [(110e9, 18_110), (500e9, 82_320)])
def test_u62_cost_scales_with_the_tokens(tokens: float, usd: float) -> None:
    known, scaled = bones(data__tokens=300e9).cost.usd, bones(data__tokens=tokens).cost.usd
    assert known is not None
    assert scaled is not None
    assert scaled / known * 49_392 == pytest.approx(usd, rel=0.01)


def test_u62_a_budget_says_the_highest_price_it_bears() -> None:
    made = bones(budget__usd=1000)
    price = highest_price(made)
    assert price is not None
    assert price * made.run.device_hours == pytest.approx(1000)
    assert price_within(1000, 85 * 8) == pytest.approx(1.47, rel=0.01)


def test_u64_impossible_prices_are_caught() -> None:
    floor = hardware_db.check_price("b200-sxm6-180gb", usd_per_device_hour=0.01)
    assert [flag.kind for flag in floor if flag.reject] == ["below-floor"]
    spot = hardware_db.check_price("a40", usd_per_device_hour=0.44, spot_usd_per_device_hour=0.49)
    assert [flag.kind for flag in spot] == ["spot-above-on-demand"]
    machine = hardware_db.check_price(
        "h100-sxm5-80gb", instance_type="Standard_ND96isr_H100_v5", devices=12
    )
    assert [flag.kind for flag in machine] == ["wrong-count"]
    assert "1.5x" in machine[0].message


def test_u66_currencies_are_converted_by_a_dated_rate() -> None:
    amount = hardware_db.convert(100, "USD", "EUR", rate=0.92, rate_date="2026-01-02")
    assert (amount.amount, amount.rate, amount.rate_date) == (92.0, 0.92, "2026-01-02")
    with pytest.raises(hardware_db.MissingRate):
        hardware_db.convert(100, "USD", "EUR")


def test_u67_energy_and_carbon_of_a_published_run() -> None:
    kwh = energy_kwh(watts=400, device_seconds=184_320 * 3600, pue=1.0)
    assert kwh == pytest.approx(73_728, rel=0.01)
    assert carbon_kg(kwh, 423.4) / 1000 == pytest.approx(31.22, rel=0.01)


def test_u69_a_family_name_asks_which_variant() -> None:
    with pytest.raises(PlannerError, match="say which one") as caught:
        plan(run(hardware__sku="H100"))
    for part in ("h100-sxm5-80gb", "h100-sxm5-96gb", "h100-pcie-80gb", "h100-nvl-94gb"):
        assert part in str(caught.value.remedy)


@pytest.mark.parametrize(
    ("name", "sku"), [("H100 PCIe", "h100-pcie-80gb"), ("H100 NVL", "h100-nvl-94gb")]
)
def test_u69_a_variant_by_name_is_taken(name: str, sku: str) -> None:
    assert plan(run(hardware__sku=name)).chosen["sku"] == sku


def test_u69_energy_follows_the_power_limit() -> None:
    full = plan(run(hardware__sku="h100-sxm5-80gb")).energy
    limited = plan(run(hardware__sku="h100-sxm5-80gb", hardware__power_limit=500)).energy
    assert full.watts_per_device is not None
    assert limited.watts_per_device is not None
    assert limited.watts_per_device / full.watts_per_device == pytest.approx(500 / 700)
