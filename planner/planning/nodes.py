"""How the devices of a run are joined: how many in a node, and the fabric between nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import hardware_db
from planner.errors import PlannerError
from planner.run.missing import MissingKeyError

if TYPE_CHECKING:
    from hardware_db import Accelerator
    from planner.profile_device.device import ProfiledDevice
    from planner.run import Run

ASSUMED_PER_NODE = 8  # accelerators, where no machine of a kind is recorded


def unlisted(device: ProfiledDevice | None) -> bool:
    """Whether the machine is known by its profile alone."""
    return device is not None and not device.listed


def devices_per_node(
    run: Run, part: Accelerator, count: int, stated: dict[str, str], device: ProfiledDevice | None
) -> int:
    if run.hardware.per_node:
        per_node = min(run.hardware.per_node, count)
        if per_node < run.hardware.per_node:
            stated["per_node"] = f"{count} of the {run.hardware.per_node} accelerators of a node"
        if count % per_node:
            remedy = f"must divide hardware.count {count}"
            raise PlannerError("hardware.per_node", run.hardware.per_node, remedy)
        return per_node
    usual, why = _measured_per_node(device) or _usual_per_node(part)
    per_node = min(usual, count)
    while count % per_node:
        per_node -= 1
    if 1 < count <= usual:
        stated["per_node"] = f"all {count} in one node; {usual} a node {why}"
    elif count > 1 and per_node < usual:
        stated["per_node"] = f"{per_node} accelerators a node: {usual} do not divide {count}"
    elif count > 1:
        stated["per_node"] = f"{per_node} accelerators a node, {why}"
    return per_node


def _measured_per_node(device: ProfiledDevice | None) -> tuple[int, str] | None:
    """Ranks in a node of the collectives of a machine that is known by its profile alone."""
    if device is None or device.listed:
        return None
    ranks = [each.ranks_per_node for each in device.figures.links]
    return max(ranks, default=1), "as its collectives were measured"


def _usual_per_node(part: Accelerator) -> tuple[int, str]:
    """Accelerators in a node where the run says none, and why."""
    network = hardware_db.network_for(part.sku_id)
    if network and network.devices_per_node:
        return network.devices_per_node, "as that machine is usually built"
    if part.form_factor == "laptop":
        return 1, "as a laptop holds one"
    if part.link and part.link.domain_size == 1:
        return 1, "as its link joins no others"
    return (
        ASSUMED_PER_NODE,
        "assumed: no machine of it is known, say --per-node",
    )


def network_between(
    run: Run,
    part: Accelerator,
    count: int,
    per_node: int,
    stated: dict[str, str],
    device: ProfiledDevice | None,
) -> tuple[str, float]:
    """Name and one-way bytes/s per accelerator of the fabric between nodes.

    A fabric that nobody knows is refused on one node too, where it would go unused.
    """
    if count == 1 and unlisted(device):
        return "one device", float("inf")
    name, given = run.hardware.interconnect, run.hardware.interconnect_bytes_per_second
    network = _named_network(name if isinstance(name, str) else None, part, device)
    if count <= per_node:
        return "one node", float("inf")
    if given is not None:
        return f"{given * 8 / 1e9:g} Gbit/s per accelerator", given
    measured = measured_network(run, device)
    if measured is not None:
        stated["interconnect"] = "as collectives between nodes were measured"
        return f"measured between nodes, {measured * 8 / 1e9:.3g} Gbit/s each", measured
    if network is None or network.device_bytes_per_second is None:
        which = f"no {name} network" if name else "no usual network"
        remedy = f"{which} is known for {part.sku_id}: say Gbit/s per accelerator, such as 400"
        if unlisted(device):
            remedy += ", or measure collectives between nodes into the profile"
        if name is None:
            raise MissingKeyError("hardware.interconnect", remedy)
        raise PlannerError("hardware.interconnect", name, remedy)
    if run.hardware.interconnect is None:
        stated["interconnect"] = "the usual fabric of that machine"
    gbit = network.device_bytes_per_second * 8 / 1e9
    label = f"{network.provider} {network.instance_type} {network.fabric}, {gbit:g} Gbit/s each"
    return label, network.device_bytes_per_second


def measured_network(run: Run, device: ProfiledDevice | None) -> float | None:
    """One-way bytes/s per accelerator between nodes as the profile's collectives found them; None
    where they did not, or where the run says its own."""
    if device is None or run.hardware.interconnect is not None:
        return None
    return device.network_bytes_per_second


def _named_network(
    name: str | None, part: Accelerator, device: ProfiledDevice | None
) -> hardware_db.Network | None:
    """The fabric of that name, or the usual one; None where none is known."""
    if unlisted(device):
        if name is None:
            return None
        remedy = f"{part.sku_id} is known by its profile alone: say Gbit/s per accelerator"
        raise PlannerError("hardware.interconnect", name, remedy)
    try:
        return hardware_db.network_for(part.sku_id, name)
    except hardware_db.HardwareError as error:
        raise PlannerError("hardware.interconnect", name, error.remedy) from None
