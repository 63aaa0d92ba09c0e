"""The answer in one line of cards: verdict, time, cost, energy, loss, each with its interval."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

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
    show_whole,
)
from ui.text import Words, show_share

VERDICTS = ("fits", "uncertain", "does-not")
_ICONS = {"fits": "✓", "uncertain": "?", "does-not": "✕"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One figure of the headline."""

    name: str  # data-figure: what a test or a script finds it by
    label: str
    value: str
    interval: str | None = None
    notes: tuple[str, ...] = ()


def cards(plan: Plan, words: Words) -> tuple[Card, ...]:
    """Time, cost, energy and loss as shown."""
    return _time(plan, words), _cost(plan, words), _energy(plan, words), _loss(plan, words)


def _split(text: str) -> tuple[str, str | None]:
    """A figure and its interval apart."""
    value, _, rest = text.partition(" (")
    return value, rest.removesuffix(")") or None


def _time(plan: Plan, words: Words) -> Card:
    run = plan.run
    value, interval = _split(words.show(show_duration, run.seconds, run.low, run.high))
    step = words.number(show_duration(plan.step.seconds))
    notes = [words("plan.steps_of", steps=show_whole(run.steps), seconds=step)]
    if run.finish_by_deadline is not None:
        limit = words.number(show_duration(run.deadline_seconds))
        key = "plan.deadline_met" if run.finish_by_deadline else "plan.deadline_missed"
        notes.append(words(key, limit=limit))
    return Card(
        name="time",
        label=words("plan.time"),
        value=value,
        interval=interval,
        notes=tuple(notes),
    )


def _cost(plan: Plan, words: Words) -> Card:
    cost = plan.cost
    if cost.usd is None:
        return _unknown("cost", words("plan.cost"), cost.reason, words)
    value, interval = _split(words.show(show_usd, cost.usd, cost.low, cost.high))
    price = priced(cost.per_device_hour, cost.price_date, cost.price_note, words)
    notes = [price, _short(cost.provider or "")]
    if cost.within_budget is not None:
        notes.append(words("plan.budget_kept" if cost.within_budget else "plan.budget_passed"))
    return Card(
        name="cost", label=words("plan.cost"), value=value, interval=interval, notes=tuple(notes)
    )


def priced(hourly: float | None, date: str | None, note: str | None, words: Words) -> str:
    """A price with its date; of a catalogue that is not dated, the latest that it can be.

    >>> priced(2.95, "2026-08", "or earlier: undated", Words(language="en"))
    '$2.95 a device-hour, price of 2026-08 or earlier'
    """
    undated = "or earlier" in (note or "")
    word = "plan.price_by" if undated else "plan.price"
    return words(word, hour=show_usd(hourly), date=date)


def _short(provider: str) -> str:
    """A provider without its machine type, which the evidence names.

    >>> _short("Nebius gpu-h100-sxm_8gpu-128vcpu-1600gb (on-demand)")
    'Nebius (on-demand)'
    """
    return " ".join(word for word in provider.split() if not any(map(str.isdigit, word)))


def _energy(plan: Plan, words: Words) -> Card:
    energy = plan.energy
    if energy.kwh is None:
        return _unknown("energy", words("plan.energy"), energy.reason, words)
    value, interval = _split(words.show(show_energy, energy.kwh, energy.low, energy.high))
    notes = [words("plan.carbon", amount=show_carbon(energy.kgco2e), grid=energy.grid or "")]
    return Card(
        name="energy",
        label=words("plan.energy"),
        value=value,
        interval=interval,
        notes=tuple(notes) if energy.kgco2e is not None else (energy.reason or "",),
    )


def _loss(plan: Plan, words: Words) -> Card:
    loss = plan.loss
    if loss.value is None:
        return _unknown("loss", words("plan.loss"), loss.reason, words)
    value, interval = _split(words.show(show_count, loss.value, loss.low, loss.high))
    notes = [words("plan.nats"), words("plan.by_law", law=loss.law or "")]
    return Card(
        name="loss", label=words("plan.loss"), value=value, interval=interval, notes=tuple(notes)
    )


def _unknown(name: str, label: str, reason: str | None, words: Words) -> Card:
    return Card(name=name, label=label, value=words.number("unknown"), notes=(reason or "",))


def verdict_line(plan: Plan, words: Words) -> str:
    """How much of the device is used, as in: 63.1 of 79.1 GiB."""
    held = plan.memory
    used, capacity = show_bytes(held.peak_bytes), show_bytes(held.capacity_bytes)
    if used.rpartition(" ")[2] == capacity.rpartition(" ")[2]:
        used = used.rpartition(" ")[0]
    return words("plan.used_of", used=used, capacity=capacity)


def sentence(plan: Plan, words: Words) -> str:
    """The whole headline as one sentence, for those who hear or copy it."""
    shown = [f"{words.name('verdict', plan.verdict)} {verdict_line(plan, words)}"]
    for card in cards(plan, words):
        interval = f" ({card.interval})" if card.interval else ""
        shown.append(f"{card.label} {card.value}{interval}")
    return " · ".join(shown)


def to_html(plan: Plan, words: Words) -> str:
    """The headline as HTML; every text is escaped."""
    body = _verdict(plan, words) + "".join(map(card_html, cards(plan, words)))
    label = escape(sentence(plan, words), quote=True)
    return f'<section class="fr-hero" aria-label="{label}">{body}</section>{_strip(plan, words)}'


def _verdict(plan: Plan, words: Words) -> str:
    held = plan.memory
    scale = max(held.high, held.capacity_bytes) * 1.04
    low, peak, high, limit = (
        f"{100 * size / scale:.2f}%"
        for size in (held.low, held.peak_bytes, held.high, held.capacity_bytes)
    )
    interval = words.show(show_bytes, held.peak_bytes, held.low, held.high).partition(" (")[2]
    chance = words(
        "plan.chance", percent=show_share(min(max(plan.fit_probability, 1e-9), 1 - 1e-9))
    )
    return (
        f'<div class="fr-card fr-verdict fr-{plan.verdict}" data-figure="verdict">'
        f'<div class="fr-k">{escape(words("plan.memory"))}</div>'
        f'<div class="fr-v"><span class="fr-icon" aria-hidden="true">{_ICONS[plan.verdict]}</span>'
        f"<span data-value>{escape(words.name('verdict', plan.verdict))}</span></div>"
        f'<div class="fr-i"><b data-used>{escape(verdict_line(plan, words))}</b> '
        f"({escape(interval)}</div>"
        f'<div class="fr-gauge" style="--low:{low};--peak:{peak};--high:{high};--limit:{limit}">'
        '<i class="fr-fill"></i><i class="fr-span"></i><i class="fr-limit"></i></div>'
        f'<div class="fr-s">{escape(chance)}</div></div>'
    )


def card_html(card: Card) -> str:
    """One card as HTML; every text is escaped."""
    interval = f'<div class="fr-i">({escape(card.interval)})</div>' if card.interval else ""
    notes = "".join(f'<div class="fr-s">{escape(note)}</div>' for note in card.notes if note)
    return (
        f'<div class="fr-card" data-figure="{card.name}">'
        f'<div class="fr-k">{escape(card.label)}</div>'
        f'<div class="fr-v" data-value>{escape(card.value)}</div>{interval}{notes}</div>'
    )


def _strip(plan: Plan, words: Words) -> str:
    """Speed in one quiet line."""
    rate = plan.throughput
    shown = (
        words.number(
            show_rate(rate.samples_per_second, "samples")
            if rate.tokens_per_second is None
            else show_rate(rate.tokens_per_second, "tokens")
        ),
        words("plan.mfu", percent=show_percent(rate.mfu)),
        words("plan.per_device", rate=show_flops_of(rate.tflops_per_device)),
        words("plan.device_hours", hours=show_whole(plan.run.device_hours)),
        words("plan.goodput", percent=show_percent(plan.run.goodput)),
    )
    return '<p class="fr-strip">' + " <span>·</span> ".join(map(escape, shown)) + "</p>"


def show_flops_of(tflops: float) -> str:
    """A rate given in TFLOP/s."""
    from planner.quantities import show_flops

    return show_flops(tflops * 1e12, per_second=True)
