"""What the trials of a search found: their way to the best, their regret, what decides."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.quantities import show_percent, show_whole
from ui import search_tables as tables
from ui.charts.trials import importance_figure, trials_figure
from ui.search_job import Found
from ui.show import section
from ui.text import Words, show_share


def draw(found: Found, words: Words) -> None:
    """The trials, and which settings decide."""
    study, by = found.answer["study"], found.answer["by"]
    history = study["history"]
    section(
        "trials",
        words,
        title=words("search.trials_title"),
        takeaway=takeaway(study, words, modes=[row["price_mode"] for row in found.points]),
        figure=trials_figure(history, words, by=by, exact=exact_of(study)),
        table=tables.trials(history, by, words),
    )
    if study["importance"]:
        first = max(study["importance"], key=lambda name: study["importance"][name])
        section(
            "importance",
            words,
            title=words("search.importance_title"),
            takeaway=words(
                "search.importance_takeaway",
                first=words.name("axis", first),
                share=show_share(study["importance"][first]),
            ),
            figure=importance_figure(study["importance"], lambda name: words.name("axis", name)),
            table=tables.importance(study["importance"], words),
        )


def exact_of(study: Mapping[str, Any]) -> float | None:
    """The exact best in the unit of the objective, from the trials' best and its regret."""
    best = [row["best"] for row in study["history"] if row["best"] is not None]
    if not best or study["regret"] is None:
        return None
    return float(best[-1] / (1 + study["regret"]))


def takeaway(study: Mapping[str, Any], words: Words, *, modes: Sequence[str] = ()) -> str:
    """Trials, those that broke a limit, and the regret. `modes` are the prices of the search."""
    counts = {"count": show_whole(study["trials"]), "broken": show_whole(study["infeasible"])}
    parts = [words("search.trials_takeaway", **counts)]
    if study["regret"] is not None:
        regret = show_percent(study["regret"]) if study["regret"] > 1e-9 else "0 %"
        parts.append(words("search.regret", share=regret))
    elif study["best"] is None:
        parts.append(words("search.no_trial_fits"))
    if study["hypervolume"] is not None:
        parts.append(words("search.hypervolume", share=show_share(study["hypervolume"])))
    if len(set(modes)) > 1:
        parts.append(words("search.trials_price"))
    if not study["complete"]:
        kept = study["storage"] is not None
        parts.append(words("search.interrupted_kept" if kept else "search.interrupted"))
    return " ".join(parts)
