"""Which scaling law describes a run, and at which size, data and conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planner.engine.model import Model
    from planner.planning.scenario import Scenario
    from planner.scaling.laws import Law


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A run as a law sees it."""

    law: Law
    params: float  # as the law counts them
    tokens: float  # of training
    conditions: dict[str, float]  # of the law, by name
    warnings: tuple[str, ...]


def no_law(each: Scenario) -> str | None:
    """Why no loss can be forecast, None where it can."""
    if each.run.training.task != "pretrain":
        return f"no law forecasts the loss of {each.run.training.task}: add runs of your own"
    if each.model.table is not None:
        return "no law forecasts the loss of a traced module: add runs of your own"
    if each.model.kind != "decoder":
        return f"no law forecasts the loss of this kind of model ({each.model.kind})"
    return None


def question_of(each: Scenario, tokens: float) -> Question:
    """The run on `tokens` tokens: repeated data first, then experts, else the default law."""
    from planner.scaling.conventions import count_for
    from planner.scaling.laws import choose_law

    given = conditions_of(each.model, unique_tokens(each, tokens))
    law = choose_law(None, given)
    counted = count_for(law, each.model)
    return Question(
        law=law,
        params=counted.params,
        tokens=tokens,
        conditions=given,
        warnings=counted.warnings,
    )


def conditions_of(model: Model, unique: float | None) -> dict[str, float]:
    """What a law must know beside parameters and tokens. No law knows repeats and experts both:
    repeats go first, since they decide whether more data helps at all."""
    if unique is not None:
        return {"unique_tokens": unique}
    experts = expansion(model)
    return {"experts": experts} if experts > 1 else {}


def unique_tokens(each: Scenario, tokens: float) -> float | None:
    """Distinct tokens where the run repeats them, None where it does not or nobody says."""
    unique = each.run.data.unique_tokens or each.run.data.dataset_tokens
    return float(unique) if unique and unique < tokens else None


def expansion(model: Model) -> float:
    """Size of all experts over that of those a token uses, always-active ones included; 1 = dense.

    It is the number of equal experts with one active, which arXiv:2502.05172 counts.
    """
    total = used = 0.0
    for block in model.blocks:
        if block.num_experts:
            total += block.count * (block.expert_params + block.shared_params)
            share = block.top_k / block.num_experts
            used += block.count * (block.expert_params * share + block.shared_params)
    return total / used if used else 1.0
