"""The best of a search in one line of cards, each figure against the run as stated."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

from planner.quantities import show_bytes, show_duration, show_energy, show_usd
from ui.compare import difference
from ui.headline import Card
from ui.text import Words, show_share


def verdict_html(answer: Mapping[str, Any], words: Words) -> str:
    """The best against the run as stated, as the first card; every text is escaped."""
    best = answer["best"]
    look = "fr-fits" if best["verdict"] == "fits" else "fr-uncertain"
    memory = best["memory"]
    chance = words("plan.chance", percent=show_share(min(best["fit_probability"], 1 - 1e-9)))
    used = words(
        "plan.used_of",
        used=show_bytes(memory["peak_bytes"]),
        capacity=show_bytes(memory["capacity_bytes"]),
    )
    title = words(f"search.best_by_{answer['by']}")
    return (
        f'<div class="fr-card fr-verdict {look}" data-figure="search_verdict">'
        f'<div class="fr-k">{escape(title)}</div>'
        f'<div class="fr-v"><span class="fr-icon" aria-hidden="true">✓</span>'
        f"<span data-value>{escape(gain(answer, words))}</span></div>"
        f'<div class="fr-i">{escape(against(answer, words))}</div>'
        f'<div class="fr-s">{escape(f"{used}. {chance}")}</div></div>'
    )


def gain(answer: Mapping[str, Any], words: Words) -> str:
    """How much less (or more) of the aim the best takes than the run as stated."""
    stated, best = answer["as_stated"], answer["best"]
    if stated is None or "error" in stated or not stated["fits"]:
        return words("verdict.fits")
    pairs = {
        "cost": (stated["usd"], best["cost"]["usd"], "search.less_cost"),
        "energy": (stated["kwh"], best["energy"]["kwh"], "search.less_energy"),
    }
    usual = (stated["seconds"], best["run"]["seconds"], "search.less_time")
    old, new, key = pairs.get(answer["by"], usual)
    if not old or new is None:
        return words("verdict.fits")
    return words(key, change=difference(old, new, words))


def against(answer: Mapping[str, Any], words: Words) -> str:
    """The run as stated in a sentence."""
    stated = answer["as_stated"]
    if stated is None:
        return words("search.no_stated")
    if "error" in stated:
        return words("search.stated_error", reason=stated["error"])
    took = words.number(show_duration(stated["seconds"]))
    key = "search.stated" if stated["fits"] else "search.stated_too_large"
    return words(key, time=took, cost=words.number(show_usd(stated["usd"])))


def cards(answer: Mapping[str, Any], words: Words) -> tuple[Card, ...]:
    """Step, time, cost and energy of the best, each against the run as stated."""
    best, stated = answer["best"], answer["as_stated"] or {}
    run, step, cost, energy = best["run"], best["step"], best["cost"], best["energy"]
    rows = (
        ("best_step", "figure.step", show_duration, step, step["seconds"], "step_seconds"),
        ("best_time", "plan.time", show_duration, run, run["seconds"], "seconds"),
        ("best_cost", "plan.cost", show_usd, cost, cost["usd"], "usd"),
        ("best_energy", "plan.energy", show_energy, energy, energy["kwh"], "kwh"),
    )
    found = []
    for name, label, show, part, value, old in rows:
        shown, _, rest = words.show(show, value, part["low"], part["high"]).partition(" (")
        notes = (
            [words("search.was", value=words.number(show(stated[old])))] if old in stated else []
        )
        if value is None and part.get("reason"):
            notes = [part["reason"]]
        found.append(
            Card(
                name=name,
                label=words(label),
                value=shown,
                interval=rest.removesuffix(")") or None,
                notes=tuple(notes),
            )
        )
    return tuple(found)
