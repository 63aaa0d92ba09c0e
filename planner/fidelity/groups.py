"""How published runs are sorted when errors are told apart: by machine, format, model and size."""

from __future__ import annotations

from collections.abc import Callable

from planner.engine.formats import MATMUL
from planner.fidelity.case import Case

_SIZES = ((1e9, "below 1B"), (5e9, "1B to 5B"), (20e9, "5B to 20B"), (100e9, "20B to 100B"))
_NODES = ((1, "one node"), (8, "2 to 8 nodes"), (64, "9 to 64 nodes"))

LARGE = 512  # devices from which a run counts as large


def gpu_of(case: Case) -> str:
    """The accelerator's id."""
    return case.configuration.sku


def format_of(case: Case) -> str:
    """Format of the large matrix products."""
    return MATMUL[case.configuration.precision]


def kind_of(case: Case) -> str:
    """`dense`, `mixture of experts` or `state space` (hybrids included)."""
    blocks = case.configuration.model.blocks
    if any(block.state_space for block in blocks):
        return "state space"
    return "mixture of experts" if is_mixture(case) else "dense"


def is_mixture(case: Case) -> bool:
    return any(block.num_experts for block in case.configuration.model.blocks)


def size_of(case: Case) -> str:
    """Bucket of the parameters, experts included."""
    params = case.configuration.model.params_total
    return next((name for limit, name in _SIZES if params < limit), "100B and more")


def nodes_of(case: Case) -> str:
    """Bucket of the number of machines."""
    configuration = case.configuration
    nodes = -(-configuration.num_devices // max(1, configuration.devices_per_node))
    return next((name for limit, name in _NODES if nodes <= limit), "more than 64 nodes")


def task_of(case: Case) -> str:
    return case.configuration.task


BY: dict[str, Callable[[Case], str]] = {
    "gpu": gpu_of,
    "format": format_of,
    "kind": kind_of,
    "size": size_of,
    "nodes": nodes_of,
    "task": task_of,
}


def _one_vtrain_node(case: Case) -> bool:
    configuration = case.configuration
    one = configuration.num_devices <= configuration.devices_per_node
    return one and case.group.startswith("VIA-Research/vTrain")


# questions that users ask, each with the rows that answer it
QUESTIONS: dict[str, Callable[[Case], bool]] = {
    "launch-bound small models (vTrain, one node)": _one_vtrain_node,
    "mixture of experts": is_mixture,
    "LoRA and QLoRA": lambda case: case.configuration.task in ("lora", "qlora"),
    "FP8": lambda case: format_of(case) == "fp8",
    f"{LARGE} GPUs and more": lambda case: case.configuration.num_devices >= LARGE,
    "full fine-tuning": lambda case: case.configuration.task == "full-ft",
    "TPU": lambda case: gpu_of(case).startswith("tpu"),
}
