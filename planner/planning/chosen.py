"""The whole configuration in words, with what was chosen for the user and why."""

from __future__ import annotations

from typing import Any

from planner.engine.model import Model
from planner.planning.losses import offered, switches
from planner.planning.outline import Outline
from planner.planning.scenario import Scenario
from planner.quantities import show_rate


def chosen_of(bones: Outline) -> dict[str, Any]:
    """Everything that is decided; `by_planner` names what the run had left open."""
    each, made = bones.scenario, bones.configuration
    layout = {name: getattr(made, name) for name in ("tp", "pp", "cp", "ep", "dp", "sharding")}
    layout |= {"interleave": made.interleave, "sequence_parallel": made.sequence_parallel}
    return {
        "sku": made.sku,
        "count": made.num_devices,
        "per_node": made.devices_per_node,
        "interconnect": _interconnect(each),
        "micro_batch": made.micro_batch,
        "accumulation": made.accumulation,
        "global_batch": made.global_batch,
        "sample": _sample(each.model),
        "tokens_per_step": _tokens_per_step(bones),
        "seq_len": None if each.model.table else made.seq_len,
        "lengths": _lengths(bones),
        "layout": layout,
        "task": made.task,
        "precision": made.precision,
        "optimizer": made.optimizer,
        "recompute": made.recompute,
        "attention": made.attention,
        "loss": made.loss,
        "compile": made.compile,
        "offload": made.offload,
        "stack": made.stack,
        "by_planner": _by_planner(bones),
        "reasons": _reasons(bones),
        "compared": bones.choice.count,
    }


def _reasons(bones: Outline) -> dict[str, str]:
    """Why what was left open is as it is."""
    each = bones.scenario
    found = {**each.stated, **bones.pool.reasons, **_loss_reason(bones)}
    if _interconnect(each) != each.network_name:
        found.pop("interconnect", None)  # the network between nodes is not in the way
    return found


def _interconnect(each: Scenario) -> str:
    """What joins the accelerators: where one link does, that link, whose domain may span nodes."""
    link, count = each.accelerator.link, each.num_devices
    if link is None or not each.devices_per_node < count <= link.domain_size:
        return each.network_name
    rate = show_rate(link.bytes_per_second, "B")
    return f"{link.name} joins all {count:,}, {rate} each one way"


def _loss_reason(bones: Outline) -> dict[str, str]:
    """What to set for a loss that the planner chose and the stack does not take by itself."""
    each, chosen = bones.scenario, bones.configuration.loss
    if each.run.training.loss or chosen == each.stack.loss:
        return {}
    why = "the fastest that fits" if bones.fits else "the nearest to fitting"
    switch = switches(each)[chosen]
    return {"loss": f"{chosen} is {why}: set {switch} ({each.stack.name} takes {each.stack.loss})"}


def _sample(model: Model) -> str:
    """What a batch counts."""
    if model.table is not None:
        return "samples"
    return "images" if model.kind == "vit" else "sequences"


def _by_planner(bones: Outline) -> list[str]:
    training = bones.scenario.run.training
    left_open = {
        "layout": training.layout is None,
        "micro_batch": training.micro_batch is None,
        "accumulation": training.accumulation is None,
        "global_batch": training.global_batch is None,
        "loss": len(offered(bones.scenario)) > 1,
        "stack": training.stack is None,
    }
    return [name for name, was_open in left_open.items() if was_open]


def _tokens_per_step(bones: Outline) -> int | None:
    """None for a traced module, whose data are samples."""
    lengths, made = bones.scenario.lengths, bones.configuration
    if bones.scenario.model.table is not None:
        return None
    return round(made.global_batch * (lengths.tokens_per_row if lengths else made.seq_len))


def _lengths(bones: Outline) -> dict[str, Any] | None:
    """Real lengths and what a row costs; None where every row is full."""
    lengths, made = bones.scenario.lengths, bones.configuration
    if lengths is None:
        return None
    import numpy as np

    computed = float(lengths.row_tokens(np.array([made.micro_batch * made.dp]))[0])
    return {
        "packing": lengths.packing,
        "mean_tokens": lengths.mean,
        "computed_tokens_per_row": computed,
        "padding_share": max(1 - lengths.tokens_per_row / computed, 0.0),
        "cut_share": lengths.cut_share,
    }
