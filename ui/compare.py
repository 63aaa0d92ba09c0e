"""Two plans side by side: every figure of the headline and the difference between them."""

from __future__ import annotations

from collections.abc import Callable

from planner.planning.result import Plan
from planner.quantities import (
    show_bytes,
    show_carbon,
    show_count,
    show_duration,
    show_energy,
    show_percent,
    show_rate,
    show_usd,
)
from planner.run import Run
from ui.table import Row, Table
from ui.text import Words

Show = Callable[[float | None], str]


def _tokens_rate(value: float | None) -> str:
    return show_rate(value, "tokens")


def _samples_rate(value: float | None) -> str:
    return show_rate(value, "samples")


def _rate(plan: Plan) -> tuple[str, float | None, Show]:
    """Tokens a second; samples a second of a traced module."""
    rate = plan.throughput
    if rate.tokens_per_second is None:
        return "figure.samples_per_second", rate.samples_per_second, _samples_rate
    return "figure.tokens_per_second", rate.tokens_per_second, _tokens_rate


def _figures(plan: Plan) -> tuple[tuple[str, float | None, Show], ...]:
    return (
        ("plan.time", plan.run.seconds, show_duration),
        ("plan.cost", plan.cost.usd, show_usd),
        ("plan.energy", plan.energy.kwh, show_energy),
        ("figure.carbon", plan.energy.kgco2e, show_carbon),
        ("plan.loss", plan.loss.value, show_count),
        ("plan.memory", plan.memory.peak_bytes, show_bytes),
        ("figure.step", plan.step.seconds, show_duration),
        _rate(plan),
        ("figure.mfu", plan.throughput.mfu, show_percent),
        ("figure.device_hours", plan.run.device_hours, show_count),
    )


def comparison(pinned: Plan, now: Plan, words: Words) -> Table:
    """Each figure of both plans with the change in percent."""
    rows = [_verdicts(pinned, now, words)]
    for (key, old, show), (_, new, _) in zip(_figures(pinned), _figures(now), strict=True):
        cells = (
            words(key),
            words.number(show(old)),
            words.number(show(new)),
            difference(old, new, words),
        )
        change = None if not old or new is None else new / old - 1
        rows.append(Row(cells=cells, values=(key.partition(".")[2], old, new, change)))
    return Table(
        columns=("", words("plan.pinned"), words("plan.now"), words("plan.difference")),
        names=("figure", "pinned", "now", "change"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
    )


def _verdicts(pinned: Plan, now: Plan, words: Words) -> Row:
    old, new = (words.name("verdict", plan.verdict) for plan in (pinned, now))
    changed = words("plan.same") if old == new else "→"
    cells = (words("figure.verdict"), old, new, changed)
    return Row(cells=cells, values=("verdict", pinned.verdict, now.verdict, None))


def difference(old: float | None, new: float | None, words: Words) -> str:
    """The change from one figure to another in percent.

    >>> words = Words(language="en")
    >>> difference(200.0, 150.0, words), difference(1.0, 1.0, words), difference(None, 1.0, words)
    ('−25 %', 'same', '–')
    """
    if new is None or not old:
        return "–"
    change = new / old - 1
    if abs(change) < 0.0005:
        return words("plan.same")
    return ("+" if change > 0 else "−") + show_percent(abs(change))


def changes(pinned: Run, now: Run) -> list[str]:
    """The keys of a run file that differ, as `hardware.count 64 → 128`."""
    old, new = dict(_leaves(pinned.to_mapping())), dict(_leaves(now.to_mapping()))
    return [
        f"{name} {_said(old.get(name))} → {_said(new.get(name))}"
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    ]


def _leaves(mapping: dict[str, object], path: str = "") -> list[tuple[str, object]]:
    found: list[tuple[str, object]] = []
    for name, value in mapping.items():
        if isinstance(value, dict):
            found += _leaves(value, f"{path}{name}.")
        else:
            found.append((f"{path}{name}", value))
    return found


def _said(value: object) -> str:
    if value is None:
        return "auto"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
