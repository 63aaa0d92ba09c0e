"""Tables about the limits of a search and about how sure its best is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.quantities import show_duration, show_energy, show_percent, show_usd, show_whole
from ui.search_tables import row_name
from ui.table import Row, Table
from ui.text import Words, show_share

DAY = 86_400.0  # s


def relaxing(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """What a tenth more of each limit buys."""
    return Table(
        columns=(words("search.limit"), words("search.tenth_more"), words("search.by_then")),
        names=("limit", "gain", "to"),
        rows=tuple(
            Row(
                cells=(
                    words(f"limit.{row['limit']}"),
                    show_percent(row["gain"]) if row["binds"] else words("search.nothing"),
                    row_name(row["to"], words) if row["to"] else "–",
                ),
                values=(
                    row["limit"],
                    row["gain"],
                    row_name(row["to"], Words(language="en")) if row["to"] else None,
                ),
            )
            for row in rows
        ),
        numeric=(1,),
    )


def robustness(drawn: Mapping[str, Any], words: Words) -> Table:
    """How the best fares when every part of a step errs as it is known to."""
    rows = [
        ("stays_best", drawn["stays_best"], show_share),
        ("fits", drawn["fits"], show_share),
        ("median_loss", drawn["median_loss"], show_percent),
        ("p90_loss", drawn["p90_loss"], show_percent),
        ("worst_loss", drawn["worst_loss"], show_percent),
    ]
    found = [
        Row(
            cells=(
                words(f"search.{name}"),
                words.number("unknown") if value is None else show(value),
            ),
            values=(name, value),
        )
        for name, value, show in rows
    ]
    rival = drawn["runner_up"]
    if rival:
        label = words("search.rival", configuration=row_name(rival, words))
        found.append(
            Row(
                cells=(label, show_share(drawn["runner_up_share"])),
                values=("runner_up_share", drawn["runner_up_share"]),
            )
        )
    return Table(
        columns=(words("search.draws", count=show_whole(drawn["draws"])), words("plan.share")),
        names=("what", "share"),
        rows=tuple(found),
        numeric=(1,),
    )


def limits(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """Limits with what is allowed, what is needed, and by how many times."""
    return Table(
        columns=(
            words("search.limit"),
            words("search.allowed"),
            words("search.needed"),
            words("search.times"),
        ),
        names=("limit", "allowed", "needed", "factor"),
        rows=tuple(
            Row(
                cells=(
                    words(f"limit.{row['limit']}"),
                    amount(row["limit"], row["from"], words),
                    amount(row["limit"], row["to"], words),
                    f"{row['factor']:,.3g}×",
                ),
                values=(row["limit"], row["from"], row["to"], row["factor"]),
            )
            for row in rows
        ),
        numeric=(1, 2, 3),
    )


def amount(limit: str, value: float, words: Words) -> str:
    """
    >>> amount("budget.days", 2.0, Words(language="en"))
    '2 days'
    """
    if limit == "budget.usd":
        return show_usd(value)
    if limit == "budget.kwh":
        return show_energy(value)
    return show_percent(value) if limit == "memory" else words.number(show_duration(value * DAY))
