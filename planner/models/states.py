"""Bytes of weights, gradients and optimizer states of a whole model, unsharded."""

from __future__ import annotations

from planner.engine.model import Model

# bytes per parameter: weights, gradients, master weights, optimizer moments
RECIPES = {
    "bf16 mixed, adamw": (2, 2, 4, 8),  # Rajbhandari et al. 2019 (arXiv 1910.02054), section 3.1
    "fp32, adamw": (4, 4, 0, 8),
    "pure-bf16, adamw": (2, 2, 0, 4),
    "bf16 mixed, sgd": (2, 2, 4, 0),
}


def state_bytes(model: Model) -> dict[str, int]:
    """Bytes that training all parameters holds before activations, by recipe.

    >>> from planner.models import load_model
    >>> state_bytes(load_model("gpt2-124m"))["bf16 mixed, adamw"] == 16 * 124439808
    True
    """
    return {name: model.params_total * sum(parts) for name, parts in RECIPES.items()}
