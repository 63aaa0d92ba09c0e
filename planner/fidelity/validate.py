"""Our own error: every published run predicted and compared, as one answer (`forerun validate`).

Without a file the shipped table, each row predicted by constants refitted without its source;
with a file that table, by the shipped constants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from planner.engine.constants import Constants
from planner.fidelity import utilisation
from planner.fidelity.case import Case, Refusal
from planner.fidelity.fit import TimeRows, time_rows
from planner.fidelity.infer import cases_of
from planner.fidelity.leave_one_out import Progress, left_out_constants
from planner.fidelity.memory_rows import Outcome, left_out_peaks, shipped_peaks
from planner.fidelity.rates import rate_summary
from planner.fidelity.scores import Row, mean_of_sources, score, score_by
from planner.fidelity.summary import Measured, summary
from planner.fidelity.table import Problem, read_table
from planner.fidelity.time import left_out_rows, shipped_rows

LEFT_OUT, SHIPPED = "leave-one-source-out", "shipped"
COUNTED = 10  # rows of a source from which it is compared with the rule of thumb


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """A table's rows as cases, in one order, and what of it could not be used."""

    mode: str  # LEFT_OUT | SHIPPED
    path: Path
    cases: tuple[Case, ...]
    refusals: tuple[Refusal, ...]
    problems: tuple[Problem, ...]

    @property
    def timed(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.actual_seconds is not None)

    @property
    def rate_only(self) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.kind == "rate-only")

    def refused(self, kind: str) -> list[str]:
        """Source of each refused row that would have been of that kind."""
        return [each.group for each in self.refusals if kind in each.kind]


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """Every measurement of a table beside its prediction."""

    evidence: Evidence
    times: tuple[Measured, ...]
    peaks: tuple[Measured, ...]
    outcomes: tuple[Outcome, ...]
    left_out: Mapping[str, Constants]  # by source, fitted without it; empty with shipped ones


def validation(path: Path | str | None = None, progress: Progress | None = None) -> dict[str, Any]:
    """Errors and coverage, pooled and by source, as `forerun validate --json` prints them.

    `progress(done, total)` is called while constants are refitted, which is needed only where the
    stored ones do not belong to this engine. Raises PlannerError when the file is no table.
    """
    return answer(measure(gather(path), progress))


def gather(path: Path | str | None = None) -> Evidence:
    """The cases of a file, or of the shipped table, with what is wrong in it by line."""
    table = read_table(path)
    cases, refusals = cases_of(table)
    possible, impossible = utilisation.sift(cases)
    return Evidence(
        mode=LEFT_OUT if path is None else SHIPPED,
        path=table.path,
        cases=tuple(possible),
        refusals=tuple(sorted((*refusals, *impossible), key=lambda each: each.line)),
        problems=(*table.problems, *_suspicions(possible)),
    )


def measure(evidence: Evidence, progress: Progress | None = None) -> Measurements:
    """Predictions of everything that was measured, in the order of the table."""
    left_out = evidence.mode == LEFT_OUT
    rows = time_rows(evidence.timed) if evidence.timed else None
    found = left_out_constants(rows, progress) if left_out and rows else {}
    peaks = left_out_peaks(evidence.cases) if left_out else shipped_peaks(evidence.cases)
    peaked = [case for case in evidence.cases if case.actual_peak_bytes is not None]
    return Measurements(
        evidence=evidence,
        times=_times(rows, found) if rows else (),
        peaks=tuple(zip(peaked, peaks.rows, strict=True)),
        outcomes=peaks.outcomes,
        left_out=found,
    )


def answer(found: Measurements) -> dict[str, Any]:
    """The measurements as one JSON object."""
    evidence = found.evidence
    return {
        "mode": evidence.mode,
        "table": _table(evidence),
        "time": {
            **summary(found.times, evidence.refused("time")),
            "rule_of_thumb": _rule_of_thumb(found.times),
        },
        "memory": {
            **summary(found.peaks, evidence.refused("memory")),
            **_outcomes(found.outcomes),
        },
        "rate_only": rate_summary(
            evidence.rate_only, found.left_out, evidence.refused("rate-only")
        ),
        "refused": [_refused(each) for each in evidence.refusals],
        "problems": [asdict(each) for each in evidence.problems],
        "rows": [_row(*pair) for pair in (*found.times, *found.peaks)],
    }


def _suspicions(cases: Sequence[Case]) -> list[Problem]:
    reasons = [(case, utilisation.suspicious(case)) for case in cases]
    return [
        Problem(
            line=case.line,
            id=case.id,
            field="step_time_s",
            value=f"{case.actual_seconds:.6g}",
            reason=reason,
        )
        for case, reason in reasons
        if reason is not None
    ]


def _times(rows: TimeRows, found: Mapping[str, Constants]) -> tuple[Measured, ...]:
    scored = left_out_rows(rows, found=found) if found else shipped_rows(rows)
    return tuple(zip(rows.cases, scored, strict=True))


def _table(evidence: Evidence) -> dict[str, Any]:
    kinds = [case.kind for case in evidence.cases]
    return {
        "name": evidence.path.name,
        "planned": len(evidence.cases),
        "refused": len(evidence.refusals),
        "kinds": {kind: kinds.count(kind) for kind in sorted(set(kinds))},
    }


def _rule_of_thumb(pairs: Sequence[Measured]) -> dict[str, Any] | None:
    """The same rows by 6·N·D at 40 % of the peak, and on how many sources we do better."""
    ruled = [(row, utilisation.rule_seconds(case.configuration)) for case, row in pairs]
    known = [(row, seconds) for row, seconds in ruled if seconds is not None]
    if not known:
        return None
    theirs = [replace(row, predicted=value, low=value, high=value) for row, value in known]
    ours = score_by([row for row, _ in known], lambda row: row.source)
    rule = score_by(theirs, lambda row: row.source)
    counted = [name for name, each in ours.items() if each.n >= COUNTED]
    return {
        "median_ape": score(theirs).median_ape,
        "mean_of_source_medians": mean_of_sources(rule),
        "by_source": {name: each.median_ape for name, each in rule.items()},
        "sources_compared": len(counted),
        "sources_better": sum(ours[name].median_ape < rule[name].median_ape for name in counted),
    }


def _outcomes(outcomes: Sequence[Outcome]) -> dict[str, Any]:
    ran = [each for each in outcomes if each.ran]
    failed = [each for each in outcomes if not each.ran]
    return {
        "outcomes": len(outcomes),
        "failures": len(failed),
        "fit_accuracy": _share([each.fits == each.ran for each in outcomes]),
        "oom_recall": _share([each.verdict != "fits" for each in failed]),
        "ran_called_does_not": _share([each.verdict == "does-not" for each in ran]),
    }


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def _refused(refusal: Refusal) -> dict[str, Any]:
    return {
        "id": refusal.id,
        "line": refusal.line,
        "source": refusal.group,
        "kind": refusal.kind,
        "reason": refusal.reason,
    }


def _row(case: Case, row: Row) -> dict[str, Any]:
    return {
        "id": row.id,
        "line": case.line,
        "source": row.source,
        "kind": row.kind,
        "gpu": case.configuration.sku,
        "devices": case.configuration.num_devices,
        "model": case.configuration.model.name,
        "actual": row.actual,
        "predicted": row.predicted,
        "low": row.low,
        "high": row.high,
        "ape": row.ape,
        "inferred": list(row.inferred),
        "notes": list(case.notes),
    }
