"""Several measured devices: what one device's kernels answer, and communication as measured."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from planner.engine.batch import Batch, splits_data_alone
from planner.engine.choices import SHARDINGS
from planner.engine.constants import Constants, constants
from planner.engine.records import values
from planner.engine.step import step_seconds
from planner.engine.weights import local_weights
from planner.profile_device.links import ALL_REDUCE, GATHERS, MeasuredLink

if TYPE_CHECKING:
    from planner.engine.machine import Machine
    from planner.profile_device.figures import Figures
    from planner.profile_device.step import ProfiledStep

_PRODUCTS = ("matmul", "attention", "output_layer")  # parts that arithmetic decides
_UNSHARDED, _ZERO3, _HSDP = (SHARDINGS.index(word) for word in ("none", "zero3", "hsdp"))


def link_of(batch: Batch, figures: Figures) -> MeasuredLink | None:
    """The measured link that collectives inside a node of this layout are reckoned by; None where
    a node holds one device, which shares its machine with no other."""
    devices = min(float(np.max(batch.parallel.num_devices)), float(np.max(batch.machine.domain)))
    return figures.link(int(devices)) if devices > 1 else None


def at_once(step: ProfiledStep, link: MeasuredLink) -> ProfiledStep:
    """The step of a device while all others work too, as measured of products and of copies."""
    slower = {
        name: link.products_slower if name in _PRODUCTS else link.traffic_slower
        for name in step.parts
        if name != "launch"
    }
    parts = {name: seconds * slower.get(name, 1.0) for name, seconds in step.parts.items()}
    return replace(step, parts=parts, measured=step.measured * link.products_slower)


def linked_parts(batch: Batch, figures: Figures) -> dict[str, float]:
    """The engine's step, seconds by part, at the rates of a device while all others work, with
    the latency and bandwidth that were measured of the collectives that the layout uses, and
    published ones for the rest."""
    c, link = _without_overlap(figures), link_of(batch, figures)
    if link is not None:
        used = operations(batch)
        batch = replace(batch, machine=_together(batch.machine, link))
        rate = np.full(1, link.bytes_per_second(*used) / c.link)
        batch = replace(batch, machine=replace(batch.machine, link=rate))
        c = replace(c, collective_seconds=link.start_seconds(*used))
    parts = {name: float(np.max(each)) for name, each in values(step_seconds(batch, c)).items()}
    if splits_data_alone(batch):
        staged = "data_parallel" if parts["data_parallel"] else "sharding"
        parts[staged] += staging_seconds(batch, figures)
    return parts


def _together(machine: Machine, link: MeasuredLink) -> Machine:
    """The rates of a device while all others work too, as measured of products and of copies."""
    return replace(
        machine,
        matmul_peak=machine.matmul_peak / link.products_slower,
        attention_peak=machine.attention_peak / link.products_slower,
        bandwidth=machine.bandwidth / link.traffic_slower,
    )


def staging_seconds(batch: Batch, figures: Figures) -> float:
    """Seconds that a processor spends on the buffers of collectives in one optimizer step.

    Fully sharded weights are gathered twice a micro-step into a flat buffer and copied to their
    places, their gradients copied into another to be scattered (torch's fully_shard): five times
    the weights are mapped anew and six times moved. Replicated ones copy gradients to standing
    buckets and back once a step (DistributedDataParallel). An accelerator's allocator keeps its
    buffers, and the engine's fit to published runs holds its copies.
    """
    copy = figures.traffic("copy", "fp32")
    if figures.recorded.kind != "cpu" or copy is None:
        return 0.0
    weights, width = local_weights(batch), batch.recipe.activation_bytes
    steps = float(np.max(batch.parallel.accumulation))
    if np.max((batch.parallel.sharding == _ZERO3) | (batch.parallel.sharding == _HSDP)):
        whole = float(np.max(weights.unsharded * width))
        mapped = 5 * whole * figures.mapping_seconds_per_byte
        return steps * (mapped + float(copy.seconds(6 * whole)))
    gradients = weights.trainable_dense + weights.trainable_expert
    return float(copy.seconds(float(np.max(4 * gradients * batch.recipe.reduce_bytes))))


def operations(batch: Batch) -> tuple[str, ...]:
    """The collectives of a layout: gradients all-reduced, or weights gathered and gradients
    scattered; activations either way."""
    plain = bool(np.max(batch.parallel.sharding == _UNSHARDED))
    if splits_data_alone(batch):
        return ALL_REDUCE if plain else GATHERS
    return (*ALL_REDUCE, *GATHERS)


def _without_overlap(figures: Figures) -> Constants:
    """Processors move the data of a collective with the cores that compute."""
    c = constants()
    if figures.recorded.kind != "cpu":
        return c
    return replace(
        c,
        reduce_hidden=0.0,
        gather_hidden=0.0,
        gather_floor=0.0,
        tensor_hidden=0.0,
        expert_hidden=0.0,
    )
