"""What a table holds once its rows are configurations: `python -m planner.fidelity.profile`."""

from __future__ import annotations

import sys
from collections import Counter

from planner.errors import PlannerError
from planner.fidelity.case import Case, Refusal
from planner.fidelity.infer import cases_of
from planner.fidelity.table import read_table


def profile_lines(cases: list[Case], refusals: list[Refusal]) -> list[str]:
    """Per source: rows, measurements by kind, what was filled in most, what was refused and why."""
    sources = dict.fromkeys([case.source for case in cases] + [gone.source for gone in refusals])
    lines: list[str] = []
    for source in sources:
        own = [case for case in cases if case.source == source]
        gone = [refusal for refusal in refusals if refusal.source == source]
        kinds = Counter(case.kind for case in own)
        filled = Counter(name for case in own for name in case.inferred)
        lines.append(f"{source or '(no source)'}: {len(own)} cases, {len(gone)} refused")
        lines.append("  kinds: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()))
        lines.append(
            "  inferred: " + ", ".join(f"{name} {n}" for name, n in filled.most_common(10))
        )
        for reason, n in Counter(refusal.reason for refusal in gone).most_common(5):
            lines.append(f"  refused {n}: {reason}")
    return lines


def main(arguments: list[str]) -> int:
    """Print the profile of a file, or of the shipped table."""
    try:
        table = read_table(arguments[0] if arguments else None)
    except PlannerError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    for problem in table.problems:
        sys.stderr.write(f"{problem}\n")
    sys.stdout.write("\n".join(profile_lines(*cases_of(table))) + "\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
