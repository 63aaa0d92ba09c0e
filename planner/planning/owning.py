"""Buying an accelerator against renting it: after how long buying is cheaper."""

from __future__ import annotations

from dataclasses import dataclass

import hardware_db
from planner.errors import PlannerError

HOURS_A_YEAR = 8766.0
MONTHS_A_YEAR = 12
WHOLE_SYSTEM = "share of a system"  # scope of a purchase price that holds the server


@dataclass(frozen=True, slots=True, kw_only=True)
class Assumptions:
    """What the comparison takes for granted; none of it is known of your house."""

    usd_per_kwh: float
    utilisation: float  # share of all hours in which the accelerator trains, above 0 to 1
    years: float  # until it is written off
    server_factor: float  # price of a server over that of its accelerators, 1 and more

    def __post_init__(self) -> None:
        for name, value, low, high in (
            ("usd_per_kwh", self.usd_per_kwh, 0.0, 10.0),
            ("utilisation", self.utilisation, 0.001, 1.0),
            ("years", self.years, 0.1, 50.0),
            ("server_factor", self.server_factor, 1.0, 10.0),
        ):
            if not low <= value <= high:
                raise PlannerError(name, f"{value:g}", f"must lie between {low:g} and {high:g}")


UTILISATION = 0.7  # a guess, shown and changeable: nobody publishes how busy bought machines are


def usual_assumptions() -> Assumptions:
    """Industrial electricity in the USA, the accounting life of a new server, the usual server.

    >>> usual_assumptions()
    Assumptions(usd_per_kwh=0.0826, utilisation=0.7, years=5.0, server_factor=1.64)
    """
    power = hardware_db.figures("electricity-price-industrial", "USA")[0]
    lives = hardware_db.figures("amortisation-years", "ai-server")
    server = hardware_db.figures("server-cost-overhead", "other")[0]
    return Assumptions(
        usd_per_kwh=power.value,
        utilisation=UTILISATION,
        years=next(life.value for life in lives if ">=" in life.scope),
        server_factor=server.value,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Owning:
    """One accelerator bought, with its share of a server, against rented. US dollars."""

    usd: float  # purchase with its share of the server
    power_per_hour: float  # electricity while it trains
    own_per_hour: float  # of training, over its years
    rent_per_hour: float
    break_even_hours: float | None  # of training; None: renting costs less than the electricity
    break_even_months: float | None  # at the utilisation
    pays: bool  # whether that is before it is written off


def owning(
    *,
    purchase_usd: float,
    has_server: bool,
    kwh_per_hour: float,
    rent_per_hour: float,
    given: Assumptions,
) -> Owning:
    """Compare buying with renting at the same number of hours of training.

    `kwh_per_hour` is at the meter of the building. Financing, staff, space, network and what the
    machine sells for afterwards are left out.

    >>> given = Assumptions(usd_per_kwh=0.1, utilisation=0.5, years=4, server_factor=1.5)
    >>> bought = owning(purchase_usd=20_000, has_server=False, kwh_per_hour=1.0,
    ...                 rent_per_hour=3.1, given=given)
    >>> bought.usd, bought.break_even_hours, round(bought.break_even_months, 1), bought.pays
    (30000.0, 10000.0, 27.4, True)
    """
    usd = purchase_usd * (1.0 if has_server else given.server_factor)
    power = kwh_per_hour * given.usd_per_kwh
    trained = given.years * HOURS_A_YEAR * given.utilisation
    saved = rent_per_hour - power
    hours = usd / saved if saved > 0 else None
    months = None if hours is None else hours / given.utilisation / (HOURS_A_YEAR / MONTHS_A_YEAR)
    return Owning(
        usd=usd,
        power_per_hour=power,
        own_per_hour=usd / trained + power,
        rent_per_hour=rent_per_hour,
        break_even_hours=hours,
        break_even_months=months,
        pays=hours is not None and hours < trained,
    )
