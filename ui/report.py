"""A plan on one page of HTML that needs nothing else: it opens anywhere and prints to PDF."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from html import escape
from pathlib import Path

from planner.planning.result import Plan
from ui import headline, plan_tables
from ui.answers import Advised
from ui.charts.parts import drawn_parts
from ui.charts.style import colour
from ui.plan_sections import (
    evidence_lines,
    loss_takeaway,
    memory_takeaway,
    step_takeaway,
)
from ui.table import to_html
from ui.text import Words

_STYLE = Path(__file__).parent / "style.css"
_PAGE = """
body { font: 14px/1.5 system-ui, "Noto Sans", "Noto Sans TC", sans-serif; color: #1c2430;
  max-width: 1040px; margin: 24px auto; padding: 0 16px; }
h1 { font-size: 22px; } h2 { font-size: 16px; margin: 22px 0 4px; break-after: avoid; }
section, table { break-inside: avoid; }
.fr-bar { display: flex; height: 22px; border-radius: 5px; overflow: hidden; margin: 6px 0 10px; }
.fr-bar i { display: block; }
@media print { body { margin: 0; } * { print-color-adjust: exact; } }
"""


def report(plan: Plan, advice: Sequence[Advised], words: Words, *, title: str) -> str:
    """The headline, the figures as bars, the tables, the evidence."""
    parts = [
        f"<h1>{escape(title)}</h1>",
        headline.to_html(plan, words),
        _list(plan.warnings),
        _section(words("plan.step"), step_takeaway(plan, words), _bar(plan.step.parts)),
        to_html(
            plan_tables.times(plan.step.parts, words, group="step"), caption=words("plan.step")
        ),
        _section(words("plan.memory_title"), memory_takeaway(plan, words), _bar(plan.memory.parts)),
        to_html(plan_tables.memory(plan, words), caption=words("plan.memory_title")),
        _loss(plan, words),
        _advice(advice, words),
        _section(words("plan.run_title"), "", ""),
        to_html(plan_tables.times(plan.run.parts, words, group="run"), caption=""),
        _section(words("plan.chosen_title"), "", ""),
        to_html(plan_tables.chosen(plan, words), caption=words("plan.chosen_title")),
        _section(words("plan.numbers"), "", ""),
        to_html(plan_tables.speed(plan, words), caption=words("plan.numbers")),
        _section(words("plan.evidence_title"), "", _list(evidence_lines(plan, words))),
        f'<p class="fr-s">{escape(words("plan.interval_note"))} {_printed(words)}</p>',
    ]
    head = (
        f'<!doctype html><html lang="{words.language}"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(title)}</title><style>{_STYLE.read_text(encoding='utf-8')}{_PAGE}</style>"
    )
    return f"{head}<body>{''.join(parts)}</body></html>\n"


def _printed(words: Words) -> str:
    return escape(words("plan.printed", date=date.today().isoformat()))


def _section(title: str, takeaway: str, body: str) -> str:
    text = f'<p class="fr-take">{escape(takeaway)}</p>' if takeaway else ""
    return f"<section><h2>{escape(title)}</h2>{text}{body}</section>"


def _bar(parts: Mapping[str, float]) -> str:
    total = sum(parts.values())
    pieces = "".join(
        f'<i style="width:{100 * value / total:.3f}%;background:{colour(name)}"></i>'
        for name, value in drawn_parts(parts)
    )
    return f'<div class="fr-bar" aria-hidden="true">{pieces}</div>'


def _list(lines: list[str]) -> str:
    if not lines:
        return ""
    return f'<ul class="fr-list">{"".join(f"<li>{escape(line)}</li>" for line in lines)}</ul>'


def _loss(plan: Plan, words: Words) -> str:
    if plan.loss.value is None:
        text = words("plan.loss_unknown", reason=plan.loss.reason or "")
    else:
        text = loss_takeaway(plan, words)
    return _section(words("plan.loss_title"), text, "")


def _advice(rows: Sequence[Advised], words: Words) -> str:
    if not rows:
        return ""
    title = words("plan.advice_title")
    return _section(title, "", "") + to_html(plan_tables.advice(rows, words), caption=title)
