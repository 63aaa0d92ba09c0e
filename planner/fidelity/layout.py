"""Devices, degrees and batch of a published row."""

from __future__ import annotations

from dataclasses import dataclass

from planner.engine import choices
from planner.errors import PlannerError
from planner.fidelity.draft import Draft
from planner.fidelity.fabrics import sku_of, usual_fabric


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Devices and how they are used. tp · pp · cp · dp = devices."""

    devices: int
    devices_per_node: int
    network_bytes_per_second: float
    tp: int
    pp: int
    cp: int
    ep: int
    dp: int
    sharding: str
    shard_degree: int  # 0 = the whole data-parallel group
    interleave: int
    sequence_parallel: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """Sequences of one optimizer step."""

    micro_batch: int
    accumulation: int


def read_layout(draft: Draft) -> Layout:
    """The layout of a row. Raises PlannerError when the stated degrees cannot multiply out."""
    devices = _devices(draft)
    sharding = _sharding(draft, devices)
    tp, cp = _degree(draft, "tp", devices), _degree(draft, "cp", devices)
    pp = devices if sharding == "layer-split" else _degree(draft, "pp", devices)
    dp = _data_degree(draft, devices, tp * pp * cp)
    ep = _expert_degree(draft, dp * cp * tp)
    per_node, network = _network(draft, devices)
    return Layout(
        devices=devices,
        devices_per_node=per_node,
        network_bytes_per_second=network,
        tp=tp,
        pp=pp,
        cp=cp,
        ep=ep,
        dp=dp,
        sharding=sharding,
        shard_degree=_shard_degree(draft, dp * cp),
        interleave=_interleave(draft, pp),
        sequence_parallel=_sequence_parallel(draft, tp),
    )


def _devices(draft: Draft) -> int:
    stated = draft.row.count("n_gpus")
    if stated is None:
        raise PlannerError("n_gpus", None, "the number of accelerators is not stated")
    real = draft.practice.settings.get("devices")
    if isinstance(real, int) and real != stated:
        draft.infer("n_gpus")
        draft.remark(f"the source says that its {stated} devices work as {real}")
        return real
    return stated


def _sharding(draft: Draft, devices: int) -> str:
    if devices == 1:
        return "none"
    return draft.word("sharding", choices.SHARDINGS, draft.practice.stack.sharding)


def _degree(draft: Draft, column: str, devices: int) -> int:
    """A degree that the row states; one device has no choice, so nothing is inferred for it."""
    if devices == 1:
        return 1
    return draft.need(column, 1)


def _expert_degree(draft: Draft, stage: int) -> int:
    """Expert degree, at most the devices of a pipeline stage."""
    if not draft.row.count("n_experts") and draft.row.count("layers") is not None:
        return 1
    stated = draft.need("ep", 1)
    if stage % stated == 0:
        return stated
    fitting = max(degree for degree in range(1, stated + 1) if stage % degree == 0)
    draft.infer("ep")
    draft.remark(f"ep {stated} does not divide the {stage} devices of a stage; {fitting} is taken")
    return fitting


def _data_degree(draft: Draft, devices: int, model_degrees: int) -> int:
    if devices % model_degrees:
        raise PlannerError(
            "tp, pp, cp", model_degrees, f"do not divide the {devices} devices of the row"
        )
    derived = devices // model_degrees
    stated = draft.row.count("dp")
    if stated is not None and stated != derived:
        draft.infer("dp")
        draft.remark(f"dp {stated} does not multiply to {devices} devices; {derived} is taken")
    return derived


def _shard_degree(draft: Draft, group: int) -> int:
    stated = draft.row.count("shard_degree")
    if stated is None or stated >= group:
        return 0
    if group % stated:
        raise PlannerError("shard_degree", stated, f"does not divide the group of {group}")
    return stated


def _interleave(draft: Draft, pp: int) -> int:
    if pp == 1:
        return 1
    stated = draft.row.count("interleave") or draft.notes.interleave
    return stated if stated is not None else draft.need("interleave", 1)


def _sequence_parallel(draft: Draft, tp: int) -> bool:
    if tp == 1:
        return False
    stated = draft.row.text("sequence_parallel").lower()
    if stated in ("y", "yes", "true"):
        return True
    if stated in ("n", "no", "false"):
        return False
    return bool(draft.setting("sequence_parallel", draft.practice.stack.sequence_parallel))


def _network(draft: Draft, devices: int) -> tuple[int, float]:
    """Devices of a node and bytes/s per device between nodes."""
    fabric = usual_fabric(sku_of(draft.row))
    per_node = draft.row.count("gpus_per_node") or draft.notes.chips_per_slice
    if per_node is None:
        draft.infer("gpus_per_node")
        per_node = fabric.devices_per_node
    per_node = min(per_node, devices)
    gbit = draft.row.quantity("interconnect_gbit")
    if gbit is not None:
        return per_node, gbit * 1e9 / 8
    node = draft.notes.network_gbit or draft.practice.settings.get("gbit_per_node")
    if isinstance(node, float):
        return per_node, node * 1e9 / 8 / fabric.devices_per_node
    if devices > per_node:
        draft.infer("interconnect_gbit")
        if not fabric.known:
            draft.remark("no network of this part is known; 100 Gbit/s Ethernet a node is taken")
    return per_node, fabric.bytes_per_second


def read_batch(draft: Draft, *, tp: int, dp: int) -> Batch:
    """Micro-batch and accumulation; a global batch that disagrees with their product wins."""
    total = draft.row.count("global_batch_seqs") or _usual_total(draft)
    micro = draft.row.count("micro_batch")
    if micro is not None and draft.practice.stack.launch == "xla":
        micro *= tp  # JAX stacks count sequences per device, not per data-parallel rank
    accumulation = draft.row.count("grad_accum")
    if total is None:
        micro = draft.need("micro_batch")
        return Batch(micro_batch=micro, accumulation=draft.need("grad_accum", 1))
    if micro is None:
        micro = draft.need("micro_batch", _largest_micro(total, dp, accumulation))
    return Batch(micro_batch=micro, accumulation=_accumulation(draft, total, micro, dp))


def _usual_total(draft: Draft) -> int | None:
    if draft.row.count("micro_batch") and draft.row.count("grad_accum"):
        return None
    return draft.count("global_batch_seqs")


def _largest_micro(total: int, dp: int, accumulation: int | None) -> int | None:
    if accumulation and total % (dp * accumulation) == 0:
        return total // (dp * accumulation)
    return 1 if total % dp == 0 else None


def _accumulation(draft: Draft, total: int, micro: int, dp: int) -> int:
    stated = draft.row.count("grad_accum")
    if stated is not None and stated * micro * dp == total:
        return stated
    if total % (micro * dp):
        if stated is not None:
            draft.remark(f"micro-batch {micro}, accumulation {stated}, dp {dp} make no {total}")
            return stated
        raise PlannerError(
            "global_batch_seqs", total, f"is no multiple of micro-batch {micro} times dp {dp}"
        )
    derived = total // (micro * dp)
    if stated is not None:
        draft.infer("grad_accum")
        draft.remark(f"accumulation {stated} does not multiply to {total}; {derived} is taken")
    return derived
