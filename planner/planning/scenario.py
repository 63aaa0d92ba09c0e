"""A run with its names resolved: the model, the accelerator, the network, the software stack."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import hardware_db
from planner.engine.formats import ATTENTION, MATMUL
from planner.errors import PlannerError
from planner.planning.lengths import Lengths, lengths_of
from planner.planning.machine_facts import completed, shared
from planner.planning.nodes import devices_per_node, network_between
from planner.planning.traced import STACK, check_stack, check_traced
from planner.run.missing import MissingKeyError
from planner.stacks import Stack, stack

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.engine.model import Model
    from planner.profile_device.device import ProfiledDevice
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
    seq_len: int  # 1 for a traced module: its tokens are samples
    trainable_params: int
    lora_targets: tuple[str, ...]  # engine.adapters.ROLES that carry adapters
    stack: Stack
    device: ProfiledDevice | None  # of the run's profile, None without one
    lengths: Lengths | None  # real lengths of the samples, None = every row is full
    stated: dict[str, str]  # what was assumed rather than said: name to reason


def scenario(run: Run, *, model: Model | None = None) -> Scenario:
    """Look up everything that `run` names. Raises PlannerError for what cannot be looked up.

    A `model` at hand is taken instead of the one that `run.model` names.
    """
    run.require_plannable()
    stated: dict[str, str] = {}
    model = _checked_model(run, model)
    device = profiled(run, stated)
    part = device.accelerator if device else _accelerator(run, stated)
    count = run.hardware.count or 1
    per_node = devices_per_node(run, part, count, stated, device)
    part = completed(run, shared(part, per_node, stated, device), per_node, stated)
    name, rate = network_between(run, part, count, per_node, stated, device)
    seq_len = _seq_len(run, model)
    return Scenario(
        run=run,
        model=model,
        accelerator=part,
        num_devices=count,
        devices_per_node=per_node,
        network_bytes_per_second=rate,
        network_name=name,
        seq_len=seq_len,
        trainable_params=_trainable(run, model),
        lora_targets=_adapted_roles(run, model),
        stack=_stack(run, model, part, stated),
        device=device,
        lengths=lengths_of(run.data, seq_len),
        stated=stated,
    )


def _checked_model(run: Run, model: Model | None) -> Model:
    """The model, after refusing what a run says that no plan takes into account yet."""
    from planner.models import load_model

    data, training = run.data, run.training
    model = model or load_model(
        run.model or "", input_shape=data.input_shape, precision=training.precision
    )
    if model.table is not None:
        check_traced(run, model)
    elif run.data.input_shape is not None:
        remedy = f"{model.name} is a transformer: leave it out, say data.seq_len"
        raise PlannerError("data.input_shape", list(run.data.input_shape), remedy)
    return model


def profiled(run: Run, stated: dict[str, str]) -> ProfiledDevice | None:
    """The device of the run's profile, scaled to the accelerator that the run names; None without
    a profile. Raises PlannerError for a profile that cannot answer the run."""
    path, count = run.hardware.profile, run.hardware.count
    if path is None:
        return None
    from planner.profile_device.device import profiled_device

    device = profiled_device(path, _accelerator(run, stated) if run.hardware.sku else None)
    name = device.accelerator.sku_id
    if count is None:
        stated["count"] = "one, as was measured"
    if (count or 1) > 1 and not device.listed and not device.figures.links:
        remedy = (
            f"{name} is known by its profile alone, which holds no collectives between several: "
            "plan with count 1, or add them with torchrun -m profiles.collectives --out PROFILE"
        )
        raise PlannerError("hardware.count", count, remedy)
    for number_format in (MATMUL[run.training.precision], ATTENTION[run.training.precision]):
        device.figures.product(number_format)
    return device


def _accelerator(run: Run, stated: dict[str, str]) -> Accelerator:
    try:
        match = hardware_db.resolve(run.hardware.sku or "")
    except hardware_db.HardwareError as error:
        raise PlannerError("hardware.sku", run.hardware.sku, error.remedy) from None
    if match.note:
        stated["sku"] = f"{run.hardware.sku} read as {match.sku_id}: {match.note}"
    return hardware_db.accelerator(match.sku_id)


def _seq_len(run: Run, model: Model) -> int:
    if model.table is not None:
        return 1
    if run.data.seq_len:
        return run.data.seq_len
    if model.image_tokens:
        return model.image_tokens
    known = f" (the model's own maximum is {model.max_seq_len})" if model.max_seq_len else ""
    raise MissingKeyError("data.seq_len", f"say tokens per sequence{known}")


def _trainable(run: Run, model: Model) -> int:
    if model.table is not None:
        return model.table.trainable
    if run.training.task not in ADAPTER_TASKS:
        return model.params_total
    from planner.models import lora_params

    lora = run.training.lora
    return lora_params(model, lora.rank, lora.targets, lora.trainable)


def _adapted_roles(run: Run, model: Model) -> tuple[str, ...]:
    """The kinds of matrices that carry adapters; nothing where none do."""
    if run.training.task not in ADAPTER_TASKS:
        return ()
    from planner.engine.adapters import roles_of
    from planner.models.lora import adapted_matrices

    found = adapted_matrices(model, run.training.lora.targets)
    return roles_of(matrix for _, matrix in found)


def _stack(run: Run, model: Model, part: Accelerator, stated: dict[str, str]) -> Stack:
    if run.training.stack:
        found = stack(run.training.stack)
        if model.table is not None:
            check_stack(found)
        return found
    name = usual_stack(run, model, part)
    stated["stack"] = f"{name}, usual for this kind of run"
    return stack(name)


LARGE = 2e10  # parameters from which pre-training usually needs more than sharding


def usual_stack(run: Run, model: Model, part: Accelerator) -> str:
    """The software that such a run usually uses, when nothing is said."""
    layout = run.training.layout
    if model.table is not None:
        return STACK
    if part.vendor == "google":
        return "maxtext"
    if layout and (layout.tp > 1 or layout.pp > 1 or layout.ep > 1):
        return "megatron"
    if run.training.task != "pretrain" or model.kind != "decoder":
        return "hf-trainer"
    experts = any(block.num_experts for block in model.blocks)
    large = model.params_total > LARGE or experts
    return "megatron" if large and (run.hardware.count or 1) > 1 else "torchtitan"
