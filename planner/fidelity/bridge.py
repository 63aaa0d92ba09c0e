"""What a Megatron-Bridge performance row leaves out: the recipe of that model, part and release."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_FILE = Path(__file__).parent / "data" / "bridge_recipes.csv"


@dataclass(frozen=True, slots=True, kw_only=True)
class BridgeRecipe:
    """Settings of one recipe file that the published tables do not repeat."""

    cuda_graphs: str  # none | partial | full
    modules: tuple[str, ...]  # recomputed parts of a layer
    dispatcher: str  # alltoall hybridep deepep, empty for dense models
    expert_overlap: bool
    offloaded_layers: int  # whose activations go to the host

    @property
    def recompute(self) -> str:
        """The nearest word of choices.RECOMPUTES: cheap modules alone count as none."""
        heavy = {"moe", "core_attn"}
        return "selective" if heavy & set(self.modules) else "none"


@cache
def _rows() -> tuple[dict[str, str], ...]:
    with _FILE.open(encoding="utf-8", newline="") as file:
        return tuple(csv.DictReader(file))


def bridge_recipe(
    *, model: str, sku: str, recipe: str, task: str, release: str, sharded: bool
) -> BridgeRecipe:
    """The recipe of a performance row. `recipe` is its FP8 recipe, nvfp4 or bf16.

    >>> bridge_recipe(model="DeepSeekV3", sku="gb300-nvl72-288gb", recipe="mxfp8",
    ...     task="pretrain", release="26.06", sharded=False).cuda_graphs
    'full'
    """
    name = model.lower().replace(" ", "-")
    for row in _rows():
        told = (
            row["model"] in name
            and sku.startswith(row["sku"])
            and row["recipe"] in ("", recipe)
            and row["task"] in ("", task)
            and _since(row["since"], release, sharded)
        )
        if told:
            return BridgeRecipe(
                cuda_graphs=row["cuda_graphs"],
                modules=tuple(row["modules"].split()),
                dispatcher=row["dispatcher"],
                expert_overlap=row["expert_overlap"] == "y",
                offloaded_layers=int(row["offloaded_layers"]) if sharded else 0,
            )
    raise AssertionError("bridge_recipes.csv ends with a row that matches everything")


def _since(since: str, release: str, sharded: bool) -> bool:
    if since == "fsdp":
        return sharded
    return not since or (bool(release) and release >= since)
