"""Which parameters a law counts, and how to get from a model's count to the law's."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.scaling.laws import CONVENTIONS, Law, positive

# Embedding parameters of a model with N_E others, vocabulary 32,000 and Chinchilla's aspect ratio:
# 47491·N_E^(1/3) (arXiv:2406.12907, section 3 and its repository's script).
EMBEDDING_COEFFICIENT = 47_491.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Counted:
    """Parameters as a law counts them."""

    params: float
    counts: str  # key of laws.CONVENTIONS
    warnings: tuple[str, ...] = ()


def count_for(law: Law, model: Model) -> Counted:
    """The model's parameters in the law's convention, exact.

    A dense law applied to a mixture of experts gets the active parameters, with a warning.
    """
    embeddings = model.input_embedding_params + model.position_params
    head = 0 if model.tied else model.head_params
    sparse = model.params_active != model.params_total
    exact = {
        "total": model.params_active if sparse else model.params_total,
        "as-given": model.params_total,
        "active": model.params_active,
        "non-embedding": model.params_active - embeddings - head,
        "total-non-embedding": model.params_total - embeddings - head,
    }
    warnings = (
        (f"{law.name} is a law of dense models: {model.name} enters with its active parameters",)
        if sparse and law.counts in ("total", "non-embedding")
        else ()
    )
    return Counted(params=float(exact[law.counts]), counts=law.counts, warnings=warnings)


def convert(total_params: float, *, counts: str, embedding_params: float | None = None) -> Counted:
    """A dense model's total parameters in another convention.

    Without `embedding_params` (input embedding, positions and an untied output layer) they are
    estimated for a vocabulary of 32,000, and the result says so.

    >>> round(convert(124.4e6, counts="non-embedding", embedding_params=39.4e6).params / 1e6)
    85
    """
    total = float(positive("params", total_params))
    if counts not in CONVENTIONS:
        raise PlannerError("counts", counts, f"one of {', '.join(CONVENTIONS)}")
    if "non-embedding" not in counts:
        return Counted(params=total, counts=counts)
    if embedding_params is not None:
        if not 0 <= embedding_params < total:
            raise PlannerError("embedding_params", embedding_params, f"from 0 to below {total:g}")
        return Counted(params=total - embedding_params, counts=counts)
    warning = "embedding parameters estimated for a vocabulary of 32,000; give the model's own"
    return Counted(params=_without_embeddings(total), counts=counts, warnings=(warning,))


def _without_embeddings(total: float) -> float:
    """Solve N_E + 47491·N_E^(1/3) = N for N_E by Newton's method on the cube root."""
    root = total ** (1 / 3)
    for _ in range(60):
        root -= (root**3 + EMBEDDING_COEFFICIENT * root - total) / (
            3 * root**2 + EMBEDDING_COEFFICIENT
        )
    return float(root**3)
