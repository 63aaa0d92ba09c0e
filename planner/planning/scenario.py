"""A run with its names resolved: the model, the accelerator, the network, the software stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import hardware_db
from planner.engine.formats import ATTENTION, MATMUL
from planner.errors import PlannerError
from planner.stacks import Stack, stack

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.engine.model import Model
    from planner.run import Run

ADAPTER_TASKS = ("lora", "qlora")


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What a run names, looked up. Lengths in tokens, rates in bytes per second."""

    run: Run
    model: Model
    accelerator: Accelerator
    num_devices: int
    devices_per_node: int
    network_bytes_per_second: float  # one way per accelerator; infinite on one node
    network_name: str
    seq_len: int
    trainable_params: int
    stack: Stack
    stated: dict[str, str]  # what was assumed rather than said: name to reason


def scenario(run: Run, *, model: Model | None = None) -> Scenario:
    """Look up everything that `run` names. Raises PlannerError for what cannot be looked up.

    A `model` at hand is taken instead of the one that `run.model` names.
    """
    run.require_plannable()
    model = model or _model(run)
    part = _accelerator(run)
    stated: dict[str, str] = {}
    count = run.hardware.count or 1
    per_node = _per_node(run, part, count, stated)
    name, rate = _network(run, part, count, per_node, stated)
    return Scenario(
        run=run,
        model=model,
        accelerator=part,
        num_devices=count,
        devices_per_node=per_node,
        network_bytes_per_second=rate,
        network_name=name,
        seq_len=_seq_len(run, model),
        trainable_params=_trainable(run, model),
        stack=_stack(run, model, stated),
        stated=stated,
    )


def _model(run: Run) -> Model:
    from planner.models import load_model

    return load_model(run.model or "")


def _accelerator(run: Run) -> Accelerator:
    try:
        part = hardware_db.accelerator(run.hardware.sku or "")
    except hardware_db.HardwareError as error:
        raise PlannerError("hardware.sku", run.hardware.sku, error.remedy) from None
    _check_formats(run, part)
    return part


def _check_formats(run: Run, part: Accelerator) -> None:
    """Refuse a precision that the part cannot compute in, or whose rate nobody stated."""
    precision = run.training.precision
    for number_format in {MATMUL[precision], ATTENTION[precision]}:
        support = part.supports(number_format)
        if support == "unsupported":
            usable = [word for word in ("bf16", "fp16", "fp32") if part.supports(word) == "native"]
            remedy = f"{part.sku_id} has no {number_format} units: use {' or '.join(usable)}"
            if number_format == "fp8" and part.vendor == "nvidia":
                remedy += " (FP8 needs compute capability 8.9)"
            raise PlannerError("training.precision", precision, remedy)
        rate = part.peak("fp32" if support == "emulated" else number_format)
        if rate is None:
            remedy = f"the {number_format} rate of {part.sku_id} is not known: use another precision"
            raise PlannerError("training.precision", precision, remedy)


def _per_node(run: Run, part: Accelerator, count: int, stated: dict[str, str]) -> int:
    if run.hardware.per_node:
        per_node = min(run.hardware.per_node, count)
        if count % per_node:
            remedy = f"must divide hardware.count {count}"
            raise PlannerError("hardware.per_node", run.hardware.per_node, remedy)
        return per_node
    network = hardware_db.network_for(part.sku_id)
    usual = (network.devices_per_node if network else None) or 8
    per_node = usual if count % usual == 0 else min(usual, count)
    while count % per_node:
        per_node -= 1
    if count > 1:
        stated["per_node"] = f"{per_node} accelerators a node, as that machine is usually built"
    return per_node


def _network(
    run: Run, part: Accelerator, count: int, per_node: int, stated: dict[str, str]
) -> tuple[str, float]:
    """Name and one-way bytes/s per accelerator of the fabric between nodes."""
    if count <= per_node:
        return "one node", float("inf")
    given = run.hardware.interconnect_bytes_per_second
    if given is not None:
        return f"{given * 8 / 1e9:g} Gbit/s per accelerator", given
    name = run.hardware.interconnect
    try:
        network = hardware_db.network_for(part.sku_id, name if isinstance(name, str) else None)
    except hardware_db.HardwareError as error:
        raise PlannerError("hardware.interconnect", name, error.remedy) from None
    if network is None or network.device_bytes_per_second is None:
        remedy = f"no usual network is known for {part.sku_id}: say Gbit/s per accelerator"
        raise PlannerError("hardware.interconnect", None, remedy)
    if run.hardware.interconnect is None:
        stated["interconnect"] = "the usual fabric of that machine"
    gbit = network.device_bytes_per_second * 8 / 1e9
    label = f"{network.provider} {network.instance_type} {network.fabric}, {gbit:g} Gbit/s each"
    return label, network.device_bytes_per_second


def _seq_len(run: Run, model: Model) -> int:
    if run.data.seq_len:
        return run.data.seq_len
    if model.image_tokens:
        return model.image_tokens
    known = f" (the model's own maximum is {model.max_seq_len})" if model.max_seq_len else ""
    raise PlannerError("data.seq_len", None, f"say tokens per sequence{known}")


def _trainable(run: Run, model: Model) -> int:
    if run.training.task not in ADAPTER_TASKS:
        return model.params_total
    from planner.models import lora_params

    lora = run.training.lora
    return lora_params(model, lora.rank, lora.targets, lora.trainable)


def _stack(run: Run, model: Model, stated: dict[str, str]) -> Stack:
    if run.training.stack:
        return stack(run.training.stack)
    name = usual_stack(run, model)
    stated["stack"] = f"{name}, usual for this kind of run"
    return stack(name)


def usual_stack(run: Run, model: Model) -> str:
    """The software that such a run usually uses, when nothing is said."""
    layout = run.training.layout
    if layout and (layout.tp > 1 or layout.pp > 1 or layout.ep > 1):
        return "megatron"
    if run.training.task != "pretrain":
        return "hf-trainer"
    experts = any(block.num_experts for block in model.blocks)
    large = model.params_total > 2e10 or experts
    return "megatron" if large and (run.hardware.count or 1) > 1 else "torchtitan"
