"""Whose grid a run draws on."""

from __future__ import annotations

import pytest

from planner.planning.places import grid_of
from planner.run import Price


@pytest.mark.parametrize(
    ("provider", "region", "name"),
    [
        (None, None, "no region said"),
        (None, "France", "France"),
        ("aws", "France", "France"),
        ("nebius", "FIN-01", "the grid of FIN-01 is not known"),
    ],
)
def test_the_grid_is_named(provider: str | None, region: str | None, name: str) -> None:
    assert name in grid_of(Price(provider=provider, region=region))[0]


def test_a_provider_tells_its_region_from_others() -> None:
    there, grams = grid_of(Price(provider="gcp", region="us-central1"))
    assert there == grid_of(Price(region="gcp/us-central1"))[0]
    assert grams != grid_of(Price())[1]
