"""When nothing fits: the smallest change that does, and one of each other kind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import hardware_db
from planner.engine.choices import RECOMPUTES
from planner.planning.limits import devices
from planner.planning.outline import Outline
from planner.planning.variants import Variant, tried

MOST_DOUBLINGS = 8  # of the number of accelerators
STRONGER = ("zero1", "zero2", "zero3")  # sharding, mildest first


def nearest_fit(bones: Outline) -> dict[str, Any]:
    """`nearest`: the smallest change that fits by the best estimate; `alternatives`: one of every
    other kind of change that does. Changes of settings keep what is computed; the others cost
    accuracy, time or money, and LoRA is another task."""
    found = [row for row in (_settings(bones), *_others(bones)) if row]
    return {"nearest": found[0] if found else None, "alternatives": found[1:]}


def _settings(bones: Outline) -> dict[str, Any] | None:
    """Fewest changes first; of as many, the fastest that fits."""
    single = list(settings(bones))
    for size in range(1, len(single) + 1):
        fitting = []
        for chosen in combinations(single, size):
            if len({_slot(each) for each in chosen}) < size:
                continue
            variant = _together(chosen)
            outline = tried(bones.scenario, variant)
            if outline is not None and outline.fits:
                fitting.append((outline.step.seconds, variant, outline))
        if fitting:
            _, variant, outline = min(fitting, key=lambda row: row[0])
            return row_of(variant, outline)
    return None


def _slot(variant: Variant) -> str:
    """What a change sets: two changes of one combination must not set the same."""
    return next(iter(variant.changes))


def _together(chosen: tuple[Variant, ...]) -> Variant:
    first, *rest = chosen
    for each in rest:
        first = first & each
    return first


def settings(bones: Outline) -> Iterator[Variant]:
    """Single changes that lower memory and keep the task, the batch and the machine."""
    made, training = bones.configuration, bones.scenario.run.training
    if made.attention != "flash":
        yield _set("flash attention", {"training.attention": "flash"})
    if made.loss == "eager":
        yield _set("a chunked loss", {"training.loss": "chunked"})
    if training.micro_batch and training.micro_batch > 1:
        yield _set("micro-batch 1", _smaller_batch(bones))
    for stage in STRONGER if training.layout and made.dp > 1 else ():
        if _stage(stage) > _stage(made.sharding):
            yield _set(f"sharding {stage}", {"training.layout.sharding": stage})
    for word in RECOMPUTES[RECOMPUTES.index(made.recompute) + 1 :]:
        yield _set(f"recompute {word}", {"training.recompute": word})
    if training.layout and made.num_devices > 1:
        yield _set("a layout of the planner's choice", {"training.layout": "auto"})


def _set(words: str, changes: dict[str, object]) -> Variant:
    return Variant(kind="settings", words=words, changes=changes)


def _stage(sharding: str) -> int:
    return STRONGER.index(sharding) + 1 if sharding in STRONGER else 3 * (sharding == "hsdp")


def _smaller_batch(bones: Outline) -> dict[str, object]:
    return {
        "training.micro_batch": 1,
        "training.accumulation": "auto",
        "training.global_batch": bones.configuration.global_batch,
    }


def _others(bones: Outline) -> Iterator[dict[str, Any] | None]:
    """One change of each other kind, alone or with all settings that save memory."""
    saving = _strongest(bones)
    for group in (_optimizers, _offloads, _more_devices, _larger_parts, _other_tasks):
        yield _first_fitting(bones, list(group(bones)), saving)


def _strongest(bones: Outline) -> Variant | None:
    """All memory-saving settings at once, the strongest of each."""
    by_slot = {_slot(each): each for each in settings(bones)}
    by_slot.pop("training.layout", None)
    return _together(tuple(by_slot.values())) if by_slot else None


def _first_fitting(
    bones: Outline, group: list[Variant], saving: Variant | None
) -> dict[str, Any] | None:
    tries = [*group, *(saving & each for each in group if saving)]
    for variant in tries:
        outline = tried(bones.scenario, variant)
        if outline is not None and outline.fits:
            return row_of(variant, outline)
    return None


def _optimizers(bones: Outline) -> Iterator[Variant]:
    if bones.configuration.optimizer.startswith("adamw") and (
        bones.configuration.optimizer != "adamw8bit"
    ):
        yield Variant(
            kind="optimizer",
            words="8-bit AdamW",
            changes={"training.optimizer": "adamw8bit"},
        )


def _offloads(bones: Outline) -> Iterator[Variant]:
    words = {"optimizer": "optimizer on the host", "params+optimizer": "all states on the host"}
    for word, said in words.items():
        if bones.configuration.offload == "none":
            yield Variant(kind="offload", words=said, changes={"training.offload": word})


def _more_devices(bones: Outline) -> Iterator[Variant]:
    for doubling in range(1, MOST_DOUBLINGS + 1):
        variant = devices(bones, bones.scenario.num_devices << doubling)
        yield Variant(kind=variant.kind, words=variant.words, changes=_sharded(bones, variant))


def _sharded(bones: Outline, variant: Variant) -> dict[str, object]:
    """More devices help only where states are divided: one device had nothing to shard."""
    changes = dict(variant.changes)
    layout = bones.scenario.run.training.layout
    if bones.configuration.num_devices == 1 and layout and layout.sharding in (None, "none"):
        changes["training.layout.sharding"] = "auto"
    return changes


def _larger_parts(bones: Outline) -> Iterator[Variant]:
    """Parts of the same vendor with more memory, the smallest first."""
    part = bones.scenario.accelerator
    larger = [
        other
        for other in hardware_db.accelerators()
        if other.vendor == part.vendor and (other.usable_bytes or 0) > (part.usable_bytes or 0)
    ]
    for other in sorted(larger, key=lambda each: each.usable_bytes or 0.0):
        if (other.usable_bytes or 0) > bones.peak_bytes * 0.5:
            yield Variant(
                kind="accelerator",
                words=f"{bones.scenario.num_devices} x {other.sku_id}",
                changes={"hardware.sku": other.sku_id, "hardware.power_limit": None},
            )


def _other_tasks(bones: Outline) -> Iterator[Variant]:
    if bones.configuration.task in ("full-ft", "dpo"):
        for word in ("lora", "qlora"):
            yield Variant(kind="task", words=f"task {word}", changes={"training.task": word})


def row_of(variant: Variant, outline: Outline) -> dict[str, Any]:
    """A change that fits, with what it leads to."""
    return {
        "change": variant.words,
        "kind": variant.kind,
        "changes": dict(variant.changes),
        "fit_probability": outline.fit_probability,
        "peak_bytes": outline.peak_bytes,
        "capacity_bytes": outline.capacity_bytes,
        "seconds": outline.step.seconds,
        "run_seconds": outline.run.seconds,
        "usd": outline.cost.usd,
    }
