"""The report's sections on choices: of settings and of an accelerator."""

from __future__ import annotations

from planner.fidelity.accelerators import Pair, ratio_score
from planner.fidelity.analyses import Analyses
from planner.fidelity.markdown import percent, prose, signed, table
from planner.fidelity.ranking import RankingScore

_WORST = 6  # accelerators shown by their error
_FEWEST_PAIRS = 10  # of an accelerator that is shown


def choices_section(numbers: Analyses) -> str:
    """Ranking of settings and speed ratios between accelerators."""
    return f"{_settings(numbers)}\n\n{_accelerators(numbers)}"


def _settings(numbers: Analyses) -> str:
    rows = [
        ["layout, batch, recomputation, kernels", *_ranking(numbers.settings)],
        ["these, sequence length and precision", *_ranking(numbers.anything)],
    ]
    columns = [
        "what differs between variants",
        "groups",
        "variants",
        "median regret",
        "90 % below",
        "best one found",
        "chosen blindly",
    ]
    text = """
Variants are runs of one source with the same model, accelerator, number of devices and task.
Regret is how much faster the measured best is, in tokens a second, than the variant that forerun
would have chosen; *chosen blindly* is the median group's mean regret over all its variants.
"""
    return f"## Choosing settings\n\n{prose(text)}\n\n{table(columns, rows)}"


def _ranking(each: RankingScore | None) -> list[object]:
    if each is None:
        return [None] * 6
    return [
        each.groups,
        each.variants,
        percent(each.median_regret),
        percent(each.p90_regret),
        percent(each.right),
        percent(each.blind),
    ]


def _accelerators(numbers: Analyses) -> str:
    both = [*numbers.table_pairs, *numbers.benchmark_pairs]
    rows = [
        ["the table of step times", *_ratios(numbers.table_pairs)],
        ["BERT benchmarks of NVIDIA and Lambda", *_ratios(numbers.benchmark_pairs)],
        ["together", *_ratios(both)],
    ]
    columns = ["pairs from", "pairs", "median error", "90 % below", "clear pairs", "right order"]
    text = """
How much faster is one accelerator than another on the same model, sequence length, precision, task
and number of devices, each at its fastest published setting? The constants have not seen a row of
one of the two; every pair counts twice, once with either left out. A pair is clear when the
measured speeds differ by 25 % or more. The BERT benchmarks had no part in any fit
(`planner/fidelity/data/accelerator_runs.csv`; of Lambda's only those on one accelerator, since the
links of the hosts are not stated).
"""
    after = f"""
The accelerators with the largest errors, left out, of those with {_FEWEST_PAIRS} pairs or more. A
positive bias says that we take it to be faster than it is.
"""
    parts = (
        "## Choosing an accelerator",
        prose(text),
        table(columns, rows),
        prose(after),
        table(["accelerator", "pairs", "median error", "90 % below", "bias"], _worst(both)),
    )
    return "\n\n".join(parts)


def _ratios(pairs: list[Pair]) -> list[object]:
    each = ratio_score(pairs)
    if each is None:
        return [0, None, None, 0, None]
    return [
        each.pairs,
        percent(each.median_ape),
        percent(each.p90_ape),
        each.clear,
        percent(each.right),
    ]


def _worst(pairs: list[Pair]) -> list[list[object]]:
    found: dict[str, list[Pair]] = {}
    for pair in pairs:
        found.setdefault(pair.left_out, []).append(pair)
    scored = [
        (name, own, score)
        for name, own in found.items()
        if len(own) >= _FEWEST_PAIRS and (score := ratio_score(own)) is not None
    ]
    scored.sort(key=lambda item: (-item[2].median_ape, item[0]))
    return [
        [name, score.pairs, percent(score.median_ape), percent(score.p90_ape), signed(_bias(own))]
        for name, own, score in scored[:_WORST]
    ]


def _bias(pairs: list[Pair]) -> float:
    ratios = sorted(pair.predicted / pair.actual - 1 for pair in pairs)
    half = len(ratios) // 2
    return ratios[half] if len(ratios) % 2 else (ratios[half - 1] + ratios[half]) / 2
