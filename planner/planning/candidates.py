"""All candidates of a run's open choices as one batch of arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine import choices
from planner.engine.batch import Batch, batch_of
from planner.engine.configuration import Configuration
from planner.engine.layout import problems, valid
from planner.errors import PlannerError
from planner.planning.options import Options, options, refuse_impossible
from planner.planning.scenario import ADAPTER_TASKS, Scenario
from planner.stacks import stack

Array = np.ndarray[Any, np.dtype[Any]]

SEQUENCE_PARALLEL_YEAR = 2023  # from which stacks with tensor parallelism offer it
AXES = ("tp", "pp", "cp", "ep", "sharding", "interleave", "micro_batch", "loss")
WORDS = {"sharding": choices.SHARDINGS, "loss": choices.LOSSES}  # axes whose values are codes


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """A run's candidates: `batch` for the engine, `grid` to turn one back into words."""

    scenario: Scenario
    batch: Batch
    grid: dict[str, Array]
    reasons: dict[str, str]

    def configuration(self, index: int) -> Configuration:
        """One candidate as a configuration."""
        values = {name: int(array[index]) for name, array in self.grid.items()}
        return build(self.scenario, values)


def candidates(scenario: Scenario) -> Candidates:
    """Every valid combination of the open choices. Raises PlannerError when there is none."""
    chosen = options(scenario)
    refuse_impossible(scenario, chosen)
    grid = _grid(scenario, chosen)
    if not len(grid["tp"]):
        _refuse(scenario, chosen)
    batch = _batch(scenario, grid)
    keep = valid(batch)
    if not keep.any():
        _refuse(scenario, chosen)
    if not keep.all():
        grid = {name: array[keep] for name, array in grid.items()}
        batch = _batch(scenario, grid)
    return Candidates(scenario=scenario, batch=batch, grid=grid, reasons=chosen.reasons)


def _grid(scenario: Scenario, chosen: Options) -> dict[str, Array]:
    """The product of the choices with the degrees and batches that follow from them."""
    lists = {name: _codes(name, getattr(chosen, name)) for name in AXES}
    grid = lists if all(len(values) == 1 for values in lists.values()) else _product(lists)
    model_devices = grid["tp"] * grid["pp"] * grid["cp"]
    dp = scenario.num_devices // model_devices
    whole = dp * model_devices == scenario.num_devices
    accumulation, even = _accumulation(chosen, dp, grid["micro_batch"])
    keep = whole & even & (accumulation >= 1)
    grid |= {"dp": dp, "accumulation": accumulation}
    grid["sequence_parallel"] = _sequence_parallel(scenario, chosen, grid["tp"])
    return {name: array[keep] for name, array in grid.items()}


def _product(lists: dict[str, Array]) -> dict[str, Array]:
    """Every combination of the values, one array per axis."""
    mesh = np.meshgrid(*lists.values(), indexing="ij")
    return {name: axis.ravel() for name, axis in zip(lists, mesh, strict=True)}


def _codes(name: str, values: list[Any]) -> Array:
    if name in WORDS:
        return np.array([choices.code(WORDS[name], word) for word in values])
    return np.array(values, dtype=np.int64)


def _accumulation(chosen: Options, dp: Array, micro_batch: Array) -> tuple[Array, Array]:
    """Micro-steps per step, and whether they come out even."""
    if chosen.global_batch is None:
        steps = np.full_like(dp, chosen.accumulation or 1)
        return steps, np.ones(len(dp), dtype=bool)
    per_step = np.maximum(dp * micro_batch, 1)
    steps = chosen.global_batch // per_step
    even = steps * per_step == chosen.global_batch
    if chosen.accumulation:
        even &= steps == chosen.accumulation
    return steps, even


def _sequence_parallel(scenario: Scenario, chosen: Options, tp: Array) -> Array:
    """Beside tensor parallelism whenever the software knows it, unless the run says otherwise."""
    wanted = chosen.sequence_parallel
    if wanted is None:
        software = scenario.stack
        wanted = software.sequence_parallel or software.year >= SEQUENCE_PARALLEL_YEAR
    result: Array = ((tp > 1) & wanted).astype(np.int64)
    return result


def _batch(scenario: Scenario, grid: dict[str, Array]) -> Batch:
    """One configuration as the template, its layout arrays replaced by the grid."""
    first = {name: int(array[0]) for name, array in grid.items()}
    template = build(scenario, first)
    batch = batch_of([template], lambda _: scenario.accelerator, stack)
    if len(grid["tp"]) == 1:
        return batch
    shards = _shard_degree(grid)
    arrays = {name: _typed(name, array) for name, array in grid.items()}
    return batch.vary(len(grid["tp"]), **arrays, shard_degree=shards.astype(np.float64))


def _typed(name: str, array: Array) -> Array:
    return array.astype(np.int8 if name in WORDS else np.float64)


def _shard_degree(grid: dict[str, Array]) -> Array:
    sharded = grid["sharding"] != choices.SHARDINGS.index("none")
    result: Array = np.where(sharded, grid["dp"] * grid["cp"], 1)
    return result


def build(scenario: Scenario, values: dict[str, int]) -> Configuration:
    """A configuration of the scenario with chosen degrees and batches."""
    training = scenario.run.training
    return Configuration(
        model=scenario.model,
        sku=scenario.accelerator.sku_id,
        num_devices=scenario.num_devices,
        devices_per_node=scenario.devices_per_node,
        network_bytes_per_second=scenario.network_bytes_per_second,
        seq_len=scenario.seq_len,
        micro_batch=values["micro_batch"],
        accumulation=values["accumulation"],
        task=training.task,
        precision=training.precision,
        tp=values["tp"],
        pp=values["pp"],
        cp=values["cp"],
        ep=values["ep"],
        dp=values["dp"],
        sharding=choices.SHARDINGS[values["sharding"]],
        interleave=values["interleave"],
        sequence_parallel=bool(values["sequence_parallel"]),
        recompute=training.recompute,
        attention=training.attention,
        loss=choices.LOSSES[values["loss"]],
        compile=training.compile,
        optimizer=training.optimizer,
        offload=training.offload,
        reduce_dtype=training.reduce_dtype or "",
        lora_rank=training.lora.rank if training.task in ADAPTER_TASKS else 0,
        lora_targets=scenario.lora_targets,
        trainable_params=scenario.trainable_params,
        power_limit_watts=scenario.run.hardware.power_limit,
        stack=scenario.stack.name,
        year=scenario.stack.year,
    )


def _refuse(scenario: Scenario, chosen: Options) -> None:
    """Say which rule the only candidate breaks, or that no layout is valid."""
    values = {name: (_codes(name, getattr(chosen, name)))[0].item() for name in AXES}
    devices = values["tp"] * values["pp"] * values["cp"]
    dp = max(scenario.num_devices // devices, 1)
    batch = chosen.global_batch or 0
    steps = max(batch // (dp * values["micro_batch"]), 1)
    values |= {"dp": dp, "accumulation": steps, "sequence_parallel": 0}
    for field, value, remedy in problems(build(scenario, values)):
        raise PlannerError(field, value, remedy)
    product = dp * values["micro_batch"] * (scenario.run.training.accumulation or 1)
    raise PlannerError(
        "training.global_batch",
        chosen.global_batch,
        f"must be a multiple of dp · micro_batch · accumulation = {product}",
    )


def single(configuration: Configuration, scenario: Scenario) -> Batch:
    """A configuration as a batch of one."""
    return batch_of([configuration], lambda _: scenario.accelerator, stack)
