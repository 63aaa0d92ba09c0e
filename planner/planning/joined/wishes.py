"""What a person may fix beside the budget: the model, the data, the loss, what will be served."""

from __future__ import annotations

from dataclasses import dataclass

from planner.errors import PlannerError


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """All optional; parameters as the law counts them, loss in nats per token."""

    params: float | None = None
    tokens: float | None = None  # of training
    target_loss: float | None = None
    inference_tokens: float | None = None  # to be served over the model's life

    def __post_init__(self) -> None:
        for name in ("params", "tokens", "target_loss", "inference_tokens"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise PlannerError(name, value, "must be a positive number")
