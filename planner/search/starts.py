"""Where a study starts: textbook layouts, before anything is learned."""

from __future__ import annotations

from planner.search.encoding import Encoding, Params
from planner.search.space import global_batch

STATE_BYTES = 18.0  # per parameter: weights, gradients, FP32 master weights and two moments
STATES_SHARE = 0.6  # of the memory that states may take (Narayanan et al. 2021, takeaway 2)


def starts(encoding: Encoding) -> list[Params]:
    """Textbook layouts on the most devices, each with no, some and full recomputation, at the run's
    own global batch.

    Fully sharded; tensor parallel in a node; pipeline stages as few as hold the states (Narayanan
    et al. 2021, arXiv:2104.04473); experts spread over a node.
    """
    group = max(encoding.space.groups, key=lambda each: each.pool.count)
    machine, model = group.scenario, group.scenario.model
    most, batch = group.pool.count, global_batch(machine)
    node = machine.devices_per_node
    stages = _stages(model.params_total, group.template.machine.capacity[0], min(node, most))
    layouts = (
        ({"tp": 1, "pp": 1, "interleave": 1}, "zero3"),
        ({"tp": min(2, most), "pp": 1, "interleave": 1}, "zero3"),
        ({"tp": min(node, most), "pp": 1, "interleave": 1}, "zero1"),
        ({"tp": min(node, most), "pp": stages, "interleave": 2}, "zero1"),
        ({"tp": min(max(node // 2, 1), most), "pp": 2 * stages, "interleave": 2}, "zero1"),
    )
    experts = min((b.num_experts for b in model.blocks if b.num_experts), default=1)
    found: list[Params] = []
    for layout, sharding in layouts:
        for again in ("none", "selective", "full"):
            ep = min(experts, node, most // layout["tp"] // layout["pp"])
            wanted = {"count": most, "cp": 1, "ep": ep, "micro_batch": 1, "recompute": again}
            wanted["global_batch"] = batch
            params = encoding.nearest({**wanted, **layout, "sharding": sharding})
            if params not in found:
                found.append(params)
    return found


def _stages(params: float, capacity: float, tensor: int) -> int:
    """Fewest stages, a power of two, whose states leave room for the rest."""
    stages = 1
    while params * STATE_BYTES / (tensor * stages) > STATES_SHARE * capacity and stages < 1024:
        stages *= 2
    return stages
