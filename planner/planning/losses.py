"""How a run may compute logits and loss: the stack's usual way, and the others it offers."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from planner.planning.scenario import Scenario

FILE = Path(__file__).parents[1] / "stack_losses.toml"
FAMILIES = "families"
TRITON = (8, 0)  # least compute capability that its README supports


@cache
def _table() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return found


def switches(each: Scenario) -> dict[str, str]:
    """What the stack offers this model beside its usual loss: word to what the user sets.

    Only decoders have the memory of their logits in the way, and preference losses (dpo) need the
    log-probabilities that a fused loss does not give.
    """
    if each.model.kind != "decoder" or each.run.training.task == "dpo" or not _runs(each):
        return {}
    families = _table()[FAMILIES]
    return {
        word: row["switch"]
        for word, row in _table().get(each.stack.name, {}).items()
        if not row["models"] or each.model.family in families[row["models"]]
    }


def _runs(each: Scenario) -> bool:
    """Whether the accelerator runs the fused kernels, which are written in Triton and CUDA."""
    capability = each.accelerator.compute_capability
    return each.accelerator.vendor == "amd" or (capability or (0, 0)) >= TRITON


def offered(each: Scenario) -> list[str]:
    """The losses to choose from, the stack's usual one first; only the stated one where one is."""
    if each.run.training.loss:
        return [each.run.training.loss]
    return list(dict.fromkeys([each.stack.loss, *switches(each)]))
