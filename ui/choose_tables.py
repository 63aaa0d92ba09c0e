"""Tables of the Choose hardware page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import hardware_db
from planner.planning.owning import WHOLE_SYSTEM, Assumptions, Owning, owning
from planner.quantities import show_bytes, show_duration, show_energy, show_usd, show_whole
from ui.options import accelerator_name
from ui.phrases import said
from ui.table import Row, Table
from ui.text import Words

MAKERS_KEEP = "google"  # whose accelerators are rented out and not sold


def name_of(row: Mapping[str, Any]) -> str:
    """Number and accelerator, as 32 × B200."""
    return f"{show_whole(row['count'])} × {accelerator_name(row['sku'])}"


def ranking(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """Accelerators at their best, in the order of the answer, with why each stands there."""
    columns = ("accelerator", "run", "cost", "energy", "memory", "evidence", "why")
    return Table(
        columns=tuple(words(f"choose.{key}") for key in columns),
        names=(
            *("place", "sku", "count", "verdict", "seconds", "seconds_low", "seconds_high"),
            *("usd", "usd_low", "usd_high", "kwh", "peak_bytes", "capacity_bytes"),
            *("evidence", "why"),
        ),
        rows=tuple(_ranked(place, row, words) for place, row in enumerate(rows, 1)),
        numeric=(1, 2, 3, 4),
    )


def _ranked(place: int, row: Mapping[str, Any], words: Words) -> Row:
    run, cost, energy, memory = row["run"], row["cost"], row["energy"], row["memory"]
    grade = row["evidence"]["grade"]
    held = f"{show_bytes(memory['peak_bytes'])} / {show_bytes(memory['capacity_bytes'])}"
    verdict = words.name("verdict", row["verdict"])
    doubt = "" if row["verdict"] == "fits" else f" ({verdict})"
    return Row(
        cells=(
            f"{place}. {name_of(row)}",
            words.show(show_duration, run["seconds"], run["low"], run["high"]),
            _known(words, show_usd, cost["usd"], cost["low"], cost["high"]),
            _known(words, show_energy, energy["kwh"]),
            held + doubt,
            words.name("choose.grade", grade),
            said(row["why"], words),
        ),
        values=(
            *(place, row["sku"], row["count"], row["verdict"]),
            *(run["seconds"], run["low"], run["high"]),
            *(cost["usd"], cost["low"], cost["high"], energy["kwh"]),
            *(memory["peak_bytes"], memory["capacity_bytes"], grade, row["why"]),
        ),
        strong=place == 1,
    )


def _known(words: Words, show: Any, value: float | None, *ends: float | None) -> str:
    return "–" if value is None else words.show(show, value, *ends)


def left_out(answer: Mapping[str, Any], words: Words) -> Table:
    """What does not fit and what was excluded, those of one reason together."""
    reasons: dict[str, list[str]] = {}
    for row in answer["ranking"]:
        if not row["fits"]:
            reasons.setdefault(_shortage(row, words), []).append(row["sku"])
    for row in answer["excluded"]:
        reasons.setdefault(row["reason"].replace(row["sku"], "…"), []).append(row["sku"])
    return Table(
        columns=(words("choose.reason"), words("choose.accelerators")),
        names=("reason", "skus"),
        rows=tuple(
            Row(
                cells=(reason, ", ".join(map(accelerator_name, skus))),
                values=(reason, " ".join(skus)),
            )
            for reason, skus in reasons.items()
        ),
    )


def _shortage(row: Mapping[str, Any], words: Words) -> str:
    """Memory that is short; another reason in the planner's words."""
    if not row["why"].startswith("memory: the leanest"):
        return said(row["why"], words)
    need = show_bytes(row["memory"]["peak_bytes"])
    return words("choose.too_small", need=need, count=show_whole(row["count"]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Bought:
    """An accelerator whose purchase and rent are both known."""

    sku: str
    offer: hardware_db.PurchasePrice
    owning: Owning


def bought(rows: Sequence[Mapping[str, Any]], given: Assumptions) -> list[Bought]:
    """Buying against renting for those of a ranking that are sold and whose prices are known."""
    found = []
    for row in rows:
        offer = hardware_db.purchase_price(row["sku"])
        hourly, energy = row["cost"]["per_device_hour"], row["energy"]
        maker = hardware_db.accelerator(row["sku"]).vendor
        if offer is None or not hourly or energy["kwh"] is None or maker == MAKERS_KEEP:
            continue
        compared = owning(
            purchase_usd=offer.usd_per_device,
            has_server=offer.scope == WHOLE_SYSTEM,
            kwh_per_hour=energy["watts_per_device"] / 1000 * energy["pue"],
            rent_per_hour=hourly,
            given=given,
        )
        found.append(Bought(sku=row["sku"], offer=offer, owning=compared))
    return found


def owned(found: Sequence[Bought], words: Words) -> Table:
    """What an hour costs bought and rented, and after how long buying pays."""
    columns = ("accelerator", "bought", "offer", "own_hour", "rent_hour", "break_even", "pays")
    return Table(
        columns=tuple(words(f"choose.{key}") for key in columns),
        names=(
            *("sku", "usd_per_device", "scope", "as_of", "confidence", "usd_with_server"),
            *("own_usd_per_hour", "power_usd_per_hour", "rent_usd_per_hour"),
            *("break_even_hours", "break_even_months", "pays"),
        ),
        rows=tuple(_owned(each, words) for each in found),
        numeric=(1, 3, 4, 5),
    )


def _owned(each: Bought, words: Words) -> Row:
    own, offer = each.owning, each.offer
    scope = words.name("choose.scope", offer.scope.replace(" ", "_"))
    confidence = words.name("choose.confidence", offer.confidence)
    return Row(
        cells=(
            accelerator_name(each.sku),
            show_usd(own.usd),
            f"{show_usd(offer.usd_per_device)}, {scope}, {offer.as_of}, {confidence}",
            show_usd(own.own_per_hour),
            show_usd(own.rent_per_hour),
            break_even(own, words),
            words("choose.buy" if own.pays else "choose.rent"),
        ),
        values=(
            *(each.sku, offer.usd_per_device, offer.scope, offer.as_of, offer.confidence, own.usd),
            *(own.own_per_hour, own.power_per_hour, own.rent_per_hour),
            *(own.break_even_hours, own.break_even_months, own.pays),
        ),
    )


def break_even(own: Owning, words: Words) -> str:
    """After how much training and how many months buying has paid."""
    if own.break_even_hours is None or own.break_even_months is None:
        return words("choose.never")
    return words(
        "choose.break_even_value",
        months=f"{own.break_even_months:,.3g}" if own.break_even_months < 1000 else "> 1,000",
        hours=show_whole(own.break_even_hours),
    )
