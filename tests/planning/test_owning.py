"""Buying against renting: break-even, what it rests on, what it refuses."""

from __future__ import annotations

from dataclasses import replace

import pytest

from planner.errors import PlannerError
from planner.planning.owning import HOURS_A_YEAR, Owning, owning, usual_assumptions


def bought(rent: float = 3.0, has_server: bool = False, **changes: float) -> Owning:
    return owning(
        purchase_usd=30_000,
        has_server=has_server,
        kwh_per_hour=1.2,
        rent_per_hour=rent,
        given=replace(usual_assumptions(), **changes),
    )


def test_at_the_break_even_both_have_cost_the_same() -> None:
    found = bought()
    assert found.break_even_hours is not None
    own = found.usd + found.power_per_hour * found.break_even_hours
    assert own == pytest.approx(found.rent_per_hour * found.break_even_hours)


def test_buying_pays_exactly_where_its_hour_is_cheaper() -> None:
    for rent in (0.05, 0.5, 1.0, 2.0, 4.0):
        found = bought(rent=rent)
        assert found.pays is (found.own_per_hour < rent)


def test_half_the_use_takes_twice_the_months_and_the_same_hours() -> None:
    busy, idle = bought(utilisation=0.8), bought(utilisation=0.4)
    assert busy.break_even_hours == idle.break_even_hours
    assert busy.break_even_months is not None
    assert idle.break_even_months == pytest.approx(2 * busy.break_even_months)


def test_rent_below_the_electricity_is_never_overtaken() -> None:
    found = bought(rent=0.01)
    assert (found.break_even_hours, found.break_even_months, found.pays) == (None, None, False)


def test_a_share_of_a_whole_system_needs_no_other_server() -> None:
    assert bought(has_server=True).usd == 30_000
    assert bought().usd == pytest.approx(30_000 * usual_assumptions().server_factor)


def test_a_month_is_a_twelfth_of_a_year() -> None:
    found = bought(utilisation=1.0)
    assert found.break_even_hours is not None
    assert found.break_even_months is not None
    assert found.break_even_hours / found.break_even_months == pytest.approx(HOURS_A_YEAR / 12)


@pytest.mark.parametrize(
    "changes", [{"utilisation": 0.0}, {"utilisation": 1.2}, {"years": 0.0}, {"server_factor": 0.5}]
)
def test_impossible_assumptions_are_refused_by_name(changes: dict[str, float]) -> None:
    with pytest.raises(PlannerError, match="must lie between") as refused:
        bought(**changes)
    assert refused.value.field in changes
