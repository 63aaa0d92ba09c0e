"""Choosing settings: what the predicted-best variant costs against the measured best.

Variants are runs of one source with the same model, accelerator, number of devices and task,
compared in tokens per second since their batches differ. Two questions are asked of them:
`same_work` holds sequence length, precision and software release fixed too, so that only layout,
micro-batch, batch, recomputation and kernels differ, which is what a search chooses; `any_variant`
lets all of them differ.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.fidelity.case import Case
from planner.fidelity.summary import Measured


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One group of variants and what following the prediction would have cost."""

    source: str
    model: str
    sku: str
    num_devices: int
    variants: int
    regret: float  # best measured throughput / that of the predicted best − 1
    chosen: str  # id of the predicted best
    best: str  # id of the measured best


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingScore:
    """Regret over groups of variants, fractions."""

    groups: int
    variants: int
    median_regret: float
    p90_regret: float
    right: float  # share of groups whose predicted best is the measured best
    blind: float  # median regret of a variant drawn at random, for comparison


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variant:
    id: str
    actual: float  # tokens/s
    predicted: float  # tokens/s


Subject = Callable[[Case], Hashable]  # equal for two cases: they are variants of one run


def choices(pairs: Sequence[Measured], subject: Subject) -> list[Choice]:
    """Every group with at least two variants, in the order of the table."""
    return [_choice(group) for group in _groups(pairs, subject)]


def ranking_score(pairs: Sequence[Measured], subject: Subject) -> RankingScore | None:
    """Summary over all groups, None where no two rows are variants of one run."""
    groups = _groups(pairs, subject)
    if not groups:
        return None
    regrets = np.array([_choice(group).regret for group in groups])
    blind = [_blind(_variants(group)) for group in groups]
    return RankingScore(
        groups=len(groups),
        variants=sum(len(_variants(group)) for group in groups),
        median_regret=float(np.median(regrets)),
        p90_regret=float(np.quantile(regrets, 0.9)),
        right=float(np.mean(regrets == 0)),
        blind=float(np.median(blind)),
    )


def any_variant(case: Case) -> Hashable:
    """Source, model, accelerator, number of devices and task.

    A padded vocabulary follows the layout, hence the model is known by its layers.
    """
    each = case.configuration
    layers = tuple(replace(block, matrices=()) for block in each.model.blocks)
    return case.source, layers, each.model.hidden, each.sku, each.num_devices, each.task


def same_work(case: Case) -> Hashable:
    """`any_variant`, sequence length, precision and release."""
    each = case.configuration
    return any_variant(case), each.seq_len, each.precision, case.traits.release


def _groups(pairs: Sequence[Measured], subject: Subject) -> list[list[Measured]]:
    found: dict[Hashable, list[Measured]] = {}
    for pair in pairs:
        found.setdefault(subject(pair[0]), []).append(pair)
    return [group for group in found.values() if len(_variants(group)) > 1]


def _settings(case: Case) -> Hashable:
    """What tells two variants apart; repeats of one setting count as one variant."""
    model_free = replace(case.configuration, model=_NO_MODEL, trainable_params=None)
    traits = case.traits
    kernels = traits.fp8_recipe, traits.cuda_graphs, traits.mixed_precision, traits.release
    return model_free, kernels


_NO_MODEL: Any = None


def _variants(group: Sequence[Measured]) -> list[_Variant]:
    found: dict[Hashable, list[Measured]] = {}
    for pair in group:
        found.setdefault(_settings(pair[0]), []).append(pair)
    return [_variant(repeats) for repeats in found.values()]


def _variant(repeats: Sequence[Measured]) -> _Variant:
    """Repeats together, by the mean of their logarithms."""
    case = repeats[0][0]
    tokens = case.configuration.tokens_per_step
    actual = np.exp(np.mean([np.log(row.actual) for _, row in repeats]))
    return _Variant(
        id=case.id,
        actual=tokens / float(actual),
        predicted=tokens / repeats[0][1].predicted,
    )


def _choice(group: Sequence[Measured]) -> Choice:
    variants = _variants(group)
    best = max(variants, key=lambda each: each.actual)
    chosen = max(variants, key=lambda each: each.predicted)
    each = group[0][0].configuration
    return Choice(
        source=group[0][0].group,
        model=each.model.name,
        sku=each.sku,
        num_devices=each.num_devices,
        variants=len(variants),
        regret=best.actual / chosen.actual - 1,
        chosen=chosen.id,
        best=best.id,
    )


def _blind(variants: Sequence[_Variant]) -> float:
    """Expected regret of choosing at random."""
    best = max(each.actual for each in variants)
    return float(np.mean([best / each.actual - 1 for each in variants]))
