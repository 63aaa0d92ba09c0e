"""How much carbon a kilowatt-hour carries, by country, state, province, zone and cloud region."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from hardware_db._tables import flag, rows, words
from hardware_db.errors import AmbiguousName, UnknownName


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A row of grids.csv: the yearly mean of a place, location-based."""

    place: str  # USA, US-TX, CN-SC, SE3, gcp/us-central1, WORLD
    name: str
    kind: str  # country | us-state | cn-province | nordic-zone | cloud-region | world
    kg_per_kwh: float
    gas: str  # CO2e, or CO2 alone
    year: int
    year_exact: bool  # False: the source gives a span that ends then
    confidence: str
    source: str
    note: str


@cache
def grids() -> tuple[Grid, ...]:
    """Every grid in the table, in its order."""
    return tuple(
        Grid(
            place=row["place"],
            name=row["name"],
            kind=row["kind"],
            kg_per_kwh=float(row["g_per_kwh"]) / 1000,
            gas=row["gas"],
            year=int(row["year"]),
            year_exact=bool(flag(row["year_exact"])),
            confidence=row["confidence"],
            source=row["source"],
            note=row["note"],
        )
        for row in rows("grids")
    )


def grid(place: str) -> Grid:
    """The grid of a country (code or name), a state, a province, a zone or a cloud region.

    A bare region name (`us-central1`) is enough where only one provider has it. Raises
    UnknownName with the nearest places, AmbiguousName where two places share the name.

    >>> grid("France").kg_per_kwh, grid("us-central1").place
    (0.056, 'gcp/us-central1')
    """
    wanted = _key(place)
    found = _index().get(wanted, ())
    if len(found) == 1:
        return found[0]
    if found:
        places = tuple(each.place for each in found)
        raise AmbiguousName("place", place, f"say which one: {', '.join(places)}", places)
    raise _unknown(place, wanted)


def _unknown(place: str, wanted: str) -> UnknownName:
    from difflib import get_close_matches

    index = _index()
    close = get_close_matches(wanted[:60], list(index), n=6, cutoff=0.6)
    nearest = tuple(dict.fromkeys(each.place for near in close for each in index[near]))[:4]
    hint = f"nearest known: {', '.join(nearest)}" if nearest else "give the carbon intensity itself"
    return UnknownName("place", place, hint, nearest)


def _key(place: str) -> str:
    return " ".join(str(place).lower().replace("_", " ").split())


@cache
def _index() -> dict[str, tuple[Grid, ...]]:
    index: dict[str, tuple[Grid, ...]] = {}
    for row, each in zip(rows("grids"), grids(), strict=True):
        spellings = {each.place, each.name, *words(row["also"])}
        if each.kind == "cloud-region":
            spellings.add(each.place.split("/")[1])
        for spelling in {_key(spelling) for spelling in spellings}:
            index[spelling] = (*index.get(spelling, ()), each)
    return index
