"""The values of each axis that are worth trying, when the user says nothing of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from planner.engine import choices
from planner.engine.layout import valid_tensor_degrees
from planner.planning.losses import switches
from planner.planning.options import MOST_MICRO_BATCH
from planner.planning.scenario import Scenario

if TYPE_CHECKING:
    from planner.search.axes import Value

LEAST_CHUNK = 1024  # tokens of a sequence that a context-parallel rank keeps
TORCH_NATIVE = ("torchtitan", "pytorch-fsdp", "hf-trainer", "deepspeed", "torchtune", "litgpt")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """Global batches to try, sequences; `base` is the run's own."""

    base: int
    tried: tuple[int, ...]


def degrees(scenario: Scenario) -> dict[str, list[Value]]:
    """Every degree that the model and the machines allow."""
    count = scenario.num_devices
    return {
        "tp": [tp for tp in _tensor_degrees(scenario) if count % tp == 0],
        "pp": [pp for pp in range(1, min(scenario.model.layers, count) + 1) if count % pp == 0],
        "cp": _context_degrees(scenario),
        "ep": _expert_degrees(scenario),
        "interleave": _interleaves(scenario),
    }


def _tensor_degrees(scenario: Scenario) -> list[int]:
    """Degrees that divide the heads, inside one node or one scale-up domain."""
    link = scenario.accelerator.link
    most = max(scenario.devices_per_node, link.domain_size if link else 1)
    most = min(most, scenario.num_devices)
    found = set(range(1, most + 1))
    for block in scenario.model.blocks:
        latent = bool(block.kv_lora_rank)
        found &= set(valid_tensor_degrees(block.heads, block.kv_heads, latent=latent, most=most))
    return sorted(found)


def _context_degrees(scenario: Scenario) -> list[Value]:
    if scenario.model.kind != "decoder":
        return [1]
    most = min(scenario.num_devices, max(scenario.seq_len // LEAST_CHUNK // 2, 1))
    return [1 << power for power in range(most.bit_length())]


def _expert_degrees(scenario: Scenario) -> list[Value]:
    counts = {block.num_experts for block in scenario.model.blocks if block.num_experts}
    most = min(scenario.num_devices, *counts) if counts else 1
    return [ep for ep in range(1, most + 1) if all(count % ep == 0 for count in counts)]


def _interleaves(scenario: Scenario) -> list[Value]:
    """Virtual stages; every one must hold as many layers as the others."""
    layers = scenario.model.layers
    if scenario.num_devices == 1:
        return [1]
    return [1, *(v for v in range(2, layers // 2 + 1) if layers % v == 0)]


def micro_batches(batches: Batches, limit: int = MOST_MICRO_BATCH) -> list[Value]:
    """Every divisor of a global batch, up to the largest micro-batch that anybody runs."""
    most = min(max(batches.tried), limit)
    return [b for b in range(1, most + 1) if any(batch % b == 0 for batch in batches.tried)]


def shardings(scenario: Scenario) -> list[Value]:
    """What the software can shard: Megatron its optimizer, the others gradients and weights too."""
    if scenario.num_devices == 1:
        return ["none"]
    if scenario.stack.name.startswith(("megatron", "nemo")):
        return ["none", "zero1"]
    if "deepspeed" in scenario.stack.name:
        return ["none", "zero1", "zero2", "zero3"]
    return ["none", "zero1", "zero3"]


def recomputes(scenario: Scenario) -> list[Value]:
    """A traced module is repeated whole or not at all."""
    if scenario.model.table is not None:
        return ["none", "full"]
    return list(choices.RECOMPUTES)


def precisions(scenario: Scenario) -> list[Value]:
    """The run's own precision, and the mixed recipes that the part computes in hardware."""
    from planner.engine.formats import MATMUL

    own, part = scenario.run.training.precision, scenario.accelerator
    if scenario.run.training.task in ("lora", "qlora") or own in ("fp32", "tf32"):
        return [own]
    wide = "bf16" if part.supports("bf16") == "native" else "fp16"
    native = [
        word
        for word in (wide, "fp8")
        if part.supports(MATMUL[word]) == "native" and part.peak(MATMUL[word]) is not None
    ]
    return list(dict.fromkeys([own, *native]))


def compiles(scenario: Scenario) -> list[Value]:
    """Compilation is a choice where the layers are plain torch modules."""
    own = scenario.run.training.compile
    if not scenario.stack.name.startswith(TORCH_NATIVE):
        return [own]
    return list(dict.fromkeys([own, "none", "regional", "full"]))


def attentions(scenario: Scenario) -> list[Value]:
    return list(dict.fromkeys([scenario.run.training.attention, "flash"]))


def losses(scenario: Scenario) -> list[Value]:
    """The run's own loss, the stack's usual one, and the others that the stack offers the model."""
    usual = scenario.stack.loss
    own = scenario.run.training.loss or usual
    return list(dict.fromkeys([own, usual, *switches(scenario)]))


def template_words(scenario: Scenario) -> dict[str, list[Value]]:
    """The axes that need a batch of their own for each value."""
    return {
        "precision": precisions(scenario),
        "compile": compiles(scenario),
        "attention": attentions(scenario),
        "loss": losses(scenario),
    }
