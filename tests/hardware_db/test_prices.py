"""Rental and purchase prices: dated, sourced, possible, and chosen as documented."""

from __future__ import annotations

import re

import pytest

from hardware_db import (
    UnknownName,
    accelerator,
    accelerators,
    check_price,
    price_for,
    price_limits,
    prices,
    providers,
    purchase_price,
    purchase_prices,
)
from hardware_db._tables import rows

DATE = re.compile(r"20\d\d(-\d\d(-\d\d)?)?")


def test_every_price_is_dated_and_sourced():
    for price in prices():
        assert DATE.fullmatch(price.as_of), price
        assert price.source
        assert price.region
        assert price.confidence in ("high", "medium", "low")


def test_no_machine_has_two_prices_in_one_region_and_mode():
    keys = [(p.provider, p.instance_type, p.region, p.mode, p.sku_id) for p in prices()]
    assert len(set(keys)) == len(keys)


def test_there_is_one_provider_row_for_every_provider_with_prices():
    names = [provider.provider for provider in providers()]
    assert len(set(names)) == len(names)
    assert {price.provider for price in prices()} <= set(names)


def test_spot_is_never_dearer_than_on_demand():
    for row in rows("prices"):
        if row["on_demand_usd_per_hour"] and row["spot_usd_per_hour"]:
            assert float(row["spot_usd_per_hour"]) <= float(row["on_demand_usd_per_hour"]), row


def test_no_shipped_price_is_doubted_by_our_own_check():
    for price in prices():
        flags = check_price(
            price.sku_id,
            usd_per_device_hour=price.usd_per_device_hour,
            instance_type=price.instance_type,
            devices=price.devices,
        )
        assert price.includes_host is False or flags == (), (price, flags)


def test_no_placeholder_price_is_shipped():
    assert not [price for price in prices() if price.usd_per_hour in (0.0, 700.0)]


def test_machine_price_is_devices_times_the_price_of_one():
    for price in prices():
        assert price.usd_per_hour == pytest.approx(price.usd_per_device_hour * price.devices)


def test_a_named_provider_gives_its_own_price():
    price = price_for("h100-sxm5-80gb", "AWS", devices=8)
    assert price is not None
    assert (price.provider, price.instance_type) == ("aws", "p5.48xlarge")
    assert price.usd_per_device_hour == pytest.approx(6.88)
    assert price.as_of == "2026-07-20"


def test_without_a_provider_the_cheapest_major_one_is_taken_and_named():
    price = price_for("h100-sxm5-80gb")
    assert price is not None
    major = [p for p in prices("h100-sxm5-80gb", mode="on-demand") if p.tier == "major"]
    assert price.tier == "major"
    assert price.usd_per_device_hour == min(p.usd_per_device_hour for p in major)
    assert price.provider == "nebius"


def test_a_marketplace_is_taken_only_where_nobody_else_is_known():
    for part in accelerators():
        chosen = price_for(part.sku_id)
        if chosen is not None and chosen.tier == "marketplace":
            tiers = {p.tier for p in prices(part.sku_id, mode="on-demand") if p.confidence != "low"}
            assert tiers == {"marketplace"}, part.sku_id


def test_the_machine_is_large_enough_for_the_job():
    one, eight = price_for("a10g", "aws"), price_for("a10g", "aws", devices=8)
    assert one is not None
    assert eight is not None
    assert (one.devices, eight.devices) == (1, 8)
    assert one.usd_per_device_hour < eight.usd_per_device_hour


def test_spot_has_its_own_price():
    spot, listed = (
        price_for("a100-sxm4-80gb", "gcp", mode="spot"),
        price_for("a100-sxm4-80gb", "gcp"),
    )
    assert spot is not None
    assert listed is not None
    assert spot.usd_per_device_hour < listed.usd_per_device_hour


def test_an_unpriced_part_or_region_is_unknown_and_not_free():
    assert price_for("ascend-910c") is None
    assert price_for("h100-sxm5-80gb", "aws", "mars-north-1") is None
    assert price_for("t4", "azure", mode="spot") is None


def test_unknown_words_are_refused_with_the_known_ones():
    with pytest.raises(UnknownName, match=r"provider: 'awss': .*aws"):
        price_for("t4", "awss")
    with pytest.raises(UnknownName, match=r"mode: 'reserved': known: on-demand, spot"):
        price_for("t4", mode="reserved")
    with pytest.raises(UnknownName, match="sku"):
        prices("t5000")


def test_a_bid_floor_listed_as_a_price_is_rejected():
    flags = check_price("b200-sxm6-180gb", usd_per_device_hour=0.01)
    assert [(flag.kind, flag.reject) for flag in flags] == [("below-floor", True)]
    assert check_price("b200-sxm6-180gb", usd_per_device_hour=3.45) == ()


def test_spot_above_on_demand_is_flagged():
    flags = check_price("a40", usd_per_device_hour=0.44, spot_usd_per_device_hour=0.49)
    assert [(flag.kind, flag.reject) for flag in flags] == [("spot-above-on-demand", False)]
    assert check_price("a40", usd_per_device_hour=0.44, spot_usd_per_device_hour=0.28) == ()


def test_a_machine_with_the_wrong_number_of_accelerators_is_flagged():
    (flag,) = check_price("h100-sxm5-80gb", instance_type="ND96isr_H100_v5", devices=12)
    assert flag.kind == "wrong-count"
    assert "8 accelerators, not 12" in flag.message
    assert "1.5x" in flag.message
    assert check_price("h100-sxm5-80gb", instance_type="Standard_ND96isr_H100_v5", devices=8) == ()


def test_a_day_rate_listed_as_an_hour_is_rejected():
    flags = check_price("p100-sxm2-16gb", usd_per_device_hour=900.0)
    assert [flag.kind for flag in flags] == ["above-ceiling"]


@pytest.mark.parametrize("usd", [0.0, -1.0, float("nan"), float("inf")])
def test_what_is_no_amount_is_rejected(usd: float):
    flags = check_price("t4", usd_per_device_hour=usd)
    assert [(flag.kind, flag.reject) for flag in flags] == [("not-a-price", True)]


def test_a_part_without_prices_is_judged_by_price_per_rate():
    floor, ceiling = price_limits("mi355x-288gb")
    assert 0.05 < floor < 1.0
    assert 10.0 < ceiling < 1000.0
    assert [f.kind for f in check_price("mi355x-288gb", usd_per_device_hour=0.01)] == [
        "below-floor"
    ]


def test_purchase_offers_are_dated_sourced_and_believable():
    for offer in purchase_prices():
        assert DATE.fullmatch(offer.as_of), offer
        assert offer.source
        assert 50 <= offer.usd_per_device <= 60_000
        assert accelerator(offer.sku_id).sku_id == offer.sku_id


def test_the_newest_offer_is_taken_and_a_launch_price_only_without_one():
    h100 = purchase_price("h100-sxm5-80gb")
    assert h100 is not None
    assert h100.as_of == max(offer.as_of for offer in purchase_prices("h100-sxm5-80gb"))
    launch = purchase_price("rtx-4080")
    assert launch is not None
    assert launch.scope == "list price at launch"
    assert launch.from_memory is False
    assert purchase_price("ascend-910c") is None


def test_a_region_is_found_in_any_case() -> None:
    written = next(price for price in prices() if price.region != price.region.lower())
    found = price_for(written.sku_id, written.provider, written.region.lower(), written.mode)
    assert found is not None
    assert found.region == written.region
