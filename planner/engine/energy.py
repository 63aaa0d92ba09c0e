"""Energy and carbon of a run."""

from __future__ import annotations

from planner.engine.assumptions import assumed

JOULES_PER_KWH = 3.6e6


def average_watts(board_watts: float, *, tpu: bool = False) -> float:
    """Average draw of one accelerator with its share of the server, watts.

    Board power × (server nameplate / accelerators' nameplate) × (average / nameplate), the method
    of Cottier et al. 2024 (training-cost-trends).
    """
    fraction = assumed("average_power_fraction_tpu" if tpu else "average_power_fraction")
    return board_watts * assumed("server_power_ratio") * fraction


def energy_kwh(*, watts: float, device_seconds: float, pue: float | None = None) -> float:
    """Energy at the meter of the building, kWh.

    >>> round(energy_kwh(watts=400, device_seconds=184_320 * 3600, pue=1.0))
    73728
    """
    assert watts >= 0, watts
    facility = assumed("pue") if pue is None else pue
    return watts * device_seconds * facility / JOULES_PER_KWH


def carbon_kg(kwh: float, grams_per_kwh: float) -> float:
    """Operational emissions, kg CO2e.

    >>> round(carbon_kg(73_728, 423.4))
    31216
    """
    return kwh * grams_per_kwh / 1000
