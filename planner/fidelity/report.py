"""docs/accuracy.md: what our predictions are worth, written from measurements alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from planner.fidelity.analyses import Analyses, analyse
from planner.fidelity.figure import figure
from planner.fidelity.leave_one_out import Progress
from planner.fidelity.markdown import percent, prose, signed, table
from planner.fidelity.report_choices import choices_section
from planner.fidelity.report_runs import ablation_section, calibration_section, totals_section
from planner.fidelity.validate import Measurements

FIGURE = "accuracy.svg"
COMMAND = "forerun validate --markdown docs/accuracy.md"

_SCORES = ("rows", "median error", "90 % below", "bias", "in 80 % interval")
_LABELS = {
    "by_gpu": "accelerator",
    "by_format": "format of the products",
    "by_kind": "model",
    "by_size": "parameters",
    "by_nodes": "machines",
    "by_task": "task",
}
_MOST_SPOTS = 14  # shown
_MOST_NAMES = 3  # of models or accelerators in one cell


def write_report(
    found: Measurements, path: Path, progress: Progress | None = None
) -> tuple[Path, Path]:
    """Write the page and its figure, in `images` beside it; both paths."""
    numbers = analyse(found, progress)
    drawn = path.parent / "images" / FIGURE
    drawn.parent.mkdir(exist_ok=True)
    path.write_text(report(numbers), encoding="utf-8")
    drawn.write_text(drawing(numbers), encoding="utf-8")
    return path, drawn


def drawing(numbers: Analyses) -> str:
    """The figure of the page."""
    return figure([row for _, row in numbers.times], [row for _, row in numbers.peaks])


def report(numbers: Analyses) -> str:
    """The page. Equal numbers give equal text."""
    sections = (
        _introduction(numbers),
        _method(numbers),
        _scores_section("Step time", numbers.answer["time"]),
        _scores_section("Peak memory", numbers.answer["memory"]),
        _outcomes(numbers.answer["memory"]),
        _rates(numbers.answer["rate_only"]),
        choices_section(numbers),
        totals_section(numbers),
        calibration_section(numbers),
        ablation_section(numbers),
        _weak_section(numbers),
        _refused(numbers.answer["refused"]),
    )
    return "\n\n".join(sections) + "\n"


def _introduction(numbers: Analyses) -> str:
    time, memory = numbers.answer["time"], numbers.answer["memory"]
    rule = time["rule_of_thumb"]
    rows = [
        ["step time, mean of the sources' median errors", percent(time["mean_of_source_medians"])],
        ["the same by the rule 6·N·D at 40 % of the peak", percent(rule["mean_of_source_medians"])],
        ["step time, median error of all rows", percent(time["median_ape"])],
        ["step time, nine rows in ten are closer than", percent(time["p90_ape"])],
        ["step time, rows inside the 80 % interval", percent(time["coverage80"])],
        ["peak memory, median error", percent(memory["median_ape"])],
        ["peak memory, nine rows in ten are closer than", percent(memory["p90_ape"])],
        ["runs out of memory that were not called `fits`", percent(memory["oom_recall"])],
        ["runs that ran but were called `does-not`", percent(memory["ran_called_does_not"])],
    ]
    text = f"""
forerun predicts step times and memory before a run. This page compares {time["n"]} published step
times and {memory["n"]} published peaks with what forerun says about the same configurations, every
source left out of the fit that predicts it. `{COMMAND}` writes this page from the table of runs
inside the package; `forerun validate MINE.csv` does the same for runs of your own.
"""
    parts = (
        "# How far off forerun is",
        prose(text),
        table(["what", "figure"], rows),
        f"![Predicted against measured step times and peaks](images/{FIGURE})",
    )
    return "\n\n".join(parts)


def _method(numbers: Analyses) -> str:
    time, listed = numbers.answer["time"], numbers.answer["table"]
    rule = time["rule_of_thumb"]
    text = f"""
- The table holds {listed["planned"] + listed["refused"]} configurations that others measured and
published, each with its source. What a row does not state comes from its stack's documented
practice or the named model's public config and is listed with the row. {listed["refused"]} rows
cannot be planned; those with a time or a peak count as an error of 100 %.
- The error of a row is |predicted / measured − 1|. Pooled figures weigh rows equally, and one
source has more than half of them; the mean of the sources' medians weighs sources equally and
takes those with five rows or more.
- Each row is predicted by constants fitted without its source (both MosaicML tables are one), and
by intervals whose width comes from the other sources' errors. Rows of one source are not
exchangeable with a new source, so widths are quantiles over sources.
- The rule of thumb, 6·N·D at 40 % of the dense peak, is worse on {rule["sources_better"]} of the
{rule["sources_compared"]} sources with ten rows or more.
- The constants are few, and each is held near a prior from kernel benchmarks or host measurements
(`planner/engine/data/priors.toml`). **The people who wrote the formulas and set the priors had
seen this table.** Leaving a source out of the fit removes its rows, not what they had learned
from it: runs that are in no table of ours are the real test, and `forerun validate MINE.csv` is
how to make it. `python -m benchmarks.fit` repeats the fit; `planner/engine/data/constants.json`
holds every value with its interval.
"""
    return f"## How it is measured\n\n{prose(text)}"


def _scores_section(title: str, scores: dict[str, Any]) -> str:
    rule = (scores.get("rule_of_thumb") or {}).get("by_source")
    columns = ["source", *_SCORES, *(["6·N·D at 40 %"] if rule else [])]
    rows = [
        [_short(name), *_cells(each), *([percent(rule.get(name))] if rule else [])]
        for name, each in scores["by_source"].items()
    ]
    parts = [f"## {title}", table(columns, rows)]
    questions = [[name, *_cells(each)] for name, each in scores["questions"].items()]
    if questions:
        parts.append(table(["rows about", *_SCORES], questions))
    for key, label in _LABELS.items():
        if len(scores[key]) > 1:
            found = [[name, *_cells(each)] for name, each in scores[key].items()]
            parts.append(table([label, *_SCORES], found))
    return "\n\n".join(parts)


def _cells(each: dict[str, Any]) -> list[object]:
    return [
        each["n"],
        percent(each["median_ape"]),
        percent(each["p90_ape"]),
        signed(each["bias"]),
        percent(each["coverage80"]),
    ]


def _short(name: str) -> str:
    """A source without its remarks."""
    return name.split(" (")[0]


def _outcomes(memory: dict[str, Any]) -> str:
    text = f"""
Of {memory["outcomes"]} runs with a known end, {memory["failures"]} failed for memory. The best
estimate is right for {percent(memory["fit_accuracy"])}. {percent(memory["oom_recall"])} of the
failures were called `uncertain` or `does-not`, and {percent(memory["ran_called_does_not"])} of the
runs that ran were called `does-not`. Memory is counted tensor by tensor and checked against what
torch's own tracker sees (`planner/fidelity/data/traced_memory.csv`); only the allocator's reserve
and the width of the interval come from published peaks.
"""
    return f"### Does it fit\n\n{prose(text)}"


def _rates(rates: dict[str, Any]) -> str:
    columns = ["source", "rows", "median error", "90 % below", "bias"]
    rows = [
        [_short(name), *_cells({**each, "coverage80": None})[:4]]
        for name, each in rates["by_source"].items()
    ]
    text = """
They are in no figure above. Their step time is what the published rate implies when model FLOPs
are counted with full attention and without recomputation; sources count differently and rarely say
how, so these errors hold the difference of conventions too. No interval is given.
"""
    head = "## Rows that state only TFLOP/s or MFU"
    return f"{head}\n\n{prose(text)}\n\n{table(columns, rows)}"


def _weak_section(numbers: Analyses) -> str:
    spots = numbers.weak[:_MOST_SPOTS]
    columns = ["where", "what", "rows", "predicted / measured", "cause", "what would settle it"]
    rows = [
        [
            f"{_short(spot.source)}: {_few(spot.models)} on {_few(spot.skus)}",
            spot.kind,
            spot.misses,
            f"{spot.ratio:.2f}",
            spot.cause.cause if spot.cause else "not established",
            spot.cause.settles if spot.cause else None,
        ]
        for spot in spots
    ]
    text = f"""
Rows that are off by more than a factor of 1.4, together where they share a cause, most rows first
({len(spots)} of {len(numbers.weak)} groups of two rows or more).
"""
    return f"## Where it is weak\n\n{prose(text)}\n\n{table(columns, rows)}"


def _few(names: tuple[str, ...]) -> str:
    """The first names, and how many more."""
    shown = ", ".join(names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{shown} and {more} more" if more > 0 else shown


def _refused(refused: list[dict[str, Any]]) -> str:
    reasons: dict[tuple[str, str, str], list[str]] = {}
    for each in refused:
        key = each["source"], each["kind"], each["reason"]
        reasons.setdefault(key, []).append(each["id"])
    rows = [
        [", ".join(ids), _short(source), kind, reason]
        for (source, kind, reason), ids in reasons.items()
    ]
    return f"""## Rows that cannot be planned

{table(["rows", "source", "what they state", "reason"], rows)}"""
