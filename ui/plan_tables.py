"""The tables of a plan: each stands beside a figure and holds the same numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.planning.result import Plan
from planner.quantities import (
    show_bytes,
    show_count,
    show_duration,
    show_flops,
    show_percent,
    show_rate,
    show_usd,
    show_whole,
)
from ui.answers import Advised
from ui.options import machines_named
from ui.table import Row, Table
from ui.text import Words, show_share


def times(parts: Mapping[str, float], words: Words, *, group: str) -> Table:
    """Parts of a time with their share, largest first; parts of no length are left out."""
    total = sum(parts.values())
    rows = [
        Row(
            cells=(
                words.name(group, name),
                words.number(show_duration(seconds)),
                show_share(seconds / total),
            ),
            values=(name, seconds, seconds / total),
            swatch=name,
        )
        for name, seconds in sorted(parts.items(), key=lambda item: -item[1])
        if seconds > 0
    ]
    whole = (words("plan.total"), words.number(show_duration(total)), show_share(1.0))
    rows.append(Row(cells=whole, values=("total", total, 1.0), strong=True))
    return Table(
        columns=(words("plan.part"), words("plan.time"), words("plan.share")),
        names=("part", "seconds", "share"),
        rows=tuple(rows),
        numeric=(1, 2),
    )


def memory(plan: Plan, words: Words) -> Table:
    """Bytes of each part on each pipeline stage, the total and what is left."""
    stages, held = plan.memory.stages, plan.memory
    names = [str(stage["stage"]) for stage in stages]
    heads = (
        [words.name("stage", name) for name in names] if len(names) > 1 else [words("plan.size")]
    )
    parts = [
        name
        for name in stages[0]["parts"]
        if any(stage["parts"].get(name, 0.0) > 0 for stage in stages)
    ]
    rows = [
        _sizes(words.name("memory", name), name, [stage["parts"][name] for stage in stages])
        for name in parts
    ]
    totals = [stage["peak_bytes"] for stage in stages]
    rows.append(_sizes(words("plan.total"), "total", totals, strong=True))
    free = [held.capacity_bytes - total for total in totals]
    rows.append(_sizes(words("plan.free"), "free", free))
    return Table(
        columns=(words("plan.part"), *heads),
        names=("part", *(f"{name}_bytes" for name in names)),
        rows=tuple(rows),
        numeric=tuple(range(1, len(heads) + 1)),
    )


def _sizes(label: str, name: str, sizes: list[float], *, strong: bool = False) -> Row:
    part = None if name in ("total", "free") else name
    shown = tuple(("−" if size < 0 else "") + show_bytes(abs(size)) for size in sizes)
    return Row(cells=(label, *shown), values=(name, *sizes), swatch=part, strong=strong)


def speed(plan: Plan, words: Words) -> Table:
    """Rates and amounts that do not belong to one figure."""
    rate, run = plan.throughput, plan.run
    unit = "samples" if run.tokens is None else "tokens"
    amount = run.samples if run.tokens is None else run.tokens
    rates = [
        (name, getattr(rate, name))
        for name in (f"{unit}_per_second", f"{unit}_per_second_per_device")
    ]
    rows = [
        *((name, value, show_rate(value, unit)) for name, value in rates),
        ("mfu", rate.mfu, show_percent(rate.mfu)),
        ("hfu", rate.hfu, show_percent(rate.hfu)),
        (
            "tflops_per_device",
            rate.tflops_per_device,
            show_flops(rate.tflops_per_device * 1e12, per_second=True),
        ),
        ("steps", run.steps, show_whole(run.steps)),
        (unit, amount, show_count(amount, unit)),
        ("device_hours", run.device_hours, show_whole(run.device_hours)),
        ("params_total", plan.model.params_total, show_count(plan.model.params_total)),
        ("params_active", plan.model.params_active, show_count(plan.model.params_active)),
        ("params_trainable", plan.model.params_trainable, show_count(plan.model.params_trainable)),
        (
            "checkpoint_bytes",
            plan.memory.checkpoint_bytes,
            show_bytes(plan.memory.checkpoint_bytes),
        ),
    ]
    return Table(
        columns=(words("plan.figure"), words("plan.value")),
        names=("figure", "value"),
        rows=tuple(
            Row(cells=(words.name("figure", name), words.number(text)), values=(name, value))
            for name, value, text in rows
        ),
        numeric=(1,),
    )


def chosen(plan: Plan, words: Words, *, planner_only: bool = False) -> Table:
    """Every known setting of the configuration, who decided it and why."""
    made = plan.chosen
    by_planner, reasons = made.get("by_planner", []), made.get("reasons", {})
    settings: dict[str, Any] = {
        name: value
        for name, value in made.items()
        if name not in ("by_planner", "reasons", "compared", "layout") and value is not None
    }
    settings |= {f"layout.{name}": value for name, value in made["layout"].items()}
    rows = []
    for name, value in settings.items():
        planner = name in by_planner or (name.startswith("layout.") and "layout" in by_planner)
        assumed = name in reasons
        who = words("plan.by_planner" if planner or assumed else "plan.by_you")
        text = words.name("word", str(value).lower()) if isinstance(value, bool) else _said(value)
        shown = (words.name("setting", name), text, who, reasons.get(name, ""))
        rows.append(Row(cells=shown, values=(name, value, who, reasons.get(name, ""))))
    mine = words("plan.by_planner")
    if planner_only:
        rows = [row for row in rows if row.values[2] == mine]
    return Table(
        columns=(
            words("plan.setting"),
            words("plan.value"),
            words("plan.decided_by"),
            words("plan.why"),
        ),
        names=("setting", "value", "decided_by", "why"),
        rows=tuple(rows),
    )


def _said(value: object) -> str:
    return show_whole(value) if isinstance(value, int) else str(value)


def loss(curve: list[dict[str, Any]], words: Words) -> Table:
    """The loss at halvings and doublings of the run's length."""
    rows = [
        Row(
            cells=(
                words.number(show_count(row["tokens"], "tokens")),
                f"{row['loss']:.2f}",
                f"{row['low']:.2f} – {row['high']:.2f}",
            ),
            values=(row["tokens"], row["loss"], row["low"], row["high"]),
            strong=index == 5,
        )
        for index, row in enumerate(curve[::5])
    ]
    return Table(
        columns=(words("plan.trained_on"), words("plan.loss"), words("plan.interval")),
        names=("tokens", "loss_nats_per_token", "low", "high"),
        rows=tuple(rows),
        numeric=(1, 2),
    )


def advice(rows: Sequence[Advised], words: Words) -> Table:
    """Changes with what they do to time and cost, best first."""
    return Table(
        columns=(words("plan.change"), words("plan.time"), words("plan.cost")),
        names=("change", "run_seconds", "usd"),
        rows=tuple(
            Row(
                cells=(
                    machines_named(each.words),
                    _moved(words.number(show_duration(each.run_seconds)), each.time),
                    _moved(words.number(show_usd(each.usd)), each.cost),
                ),
                values=(each.words, each.run_seconds, each.usd),
            )
            for each in rows
        ),
        numeric=(1, 2),
    )


def _moved(shown: str, saved: float | None) -> str:
    """A figure with its change in percent."""
    if saved is None or abs(saved) < 0.005:
        return shown
    return f"{shown} ({'−' if saved > 0 else '+'}{abs(saved):.0%})".replace("%", " %")


def nearest(shortfall: Mapping[str, Any], words: Words) -> Table:
    """Changes after which the run fits, the smallest first."""
    return Table(
        columns=(
            words("plan.change"),
            words("plan.chance_short"),
            words("plan.memory"),
            words("plan.time"),
            words("plan.cost"),
        ),
        names=("change", "fit_probability", "peak_bytes", "run_seconds", "usd"),
        rows=tuple(_near(row, words) for row in nearest_rows(shortfall)),
        numeric=(1, 2, 3, 4),
    )


def nearest_rows(shortfall: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The nearest change and its alternatives."""
    first = shortfall.get("nearest")
    return [*([first] if first else []), *shortfall.get("alternatives", [])]


def _near(row: Mapping[str, Any], words: Words) -> Row:
    return Row(
        cells=(
            machines_named(row["change"]),
            show_share(row["fit_probability"]),
            show_bytes(row["peak_bytes"]),
            words.number(show_duration(row["run_seconds"])),
            words.number(show_usd(row["usd"])),
        ),
        values=tuple(
            row[name] for name in ("change", "fit_probability", "peak_bytes", "run_seconds", "usd")
        ),
    )


def headline_figures(plan: Plan, words: Words) -> Table:
    """The figures of the headline with their 80 % bounds, in SI."""
    run, cost, energy, loss_part, held = plan.run, plan.cost, plan.energy, plan.loss, plan.memory
    figures = (
        ("memory_bytes", held.peak_bytes, held.low, held.high),
        ("memory_capacity_bytes", held.capacity_bytes, None, None),
        ("step_seconds", plan.step.seconds, plan.step.low, plan.step.high),
        ("run_seconds", run.seconds, run.low, run.high),
        ("cost_usd", cost.usd, cost.low, cost.high),
        ("energy_kwh", energy.kwh, energy.low, energy.high),
        ("carbon_kgco2e", energy.kgco2e, None, None),
        ("loss_nats_per_token", loss_part.value, loss_part.low, loss_part.high),
    )
    return Table(
        columns=(words("plan.figure"), words("plan.value"), words("plan.interval")),
        names=("figure", "value", "low", "high"),
        rows=tuple(
            Row(cells=(name, str(value), f"{low} – {high}"), values=(name, value, low, high))
            for name, value, low, high in figures
        ),
    )
