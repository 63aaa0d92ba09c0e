"""When nothing fits: the smallest change that does, and one of each other kind."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

import hardware_db
from planner.engine.choices import RECOMPUTES
from planner.planning.limits import devices
from planner.planning.losses import switches
from planner.planning.outline import Outline
from planner.planning.variants import Variant, elsewhere, row_of, together, tried

BUILT_IN = ("laptop", "soc")  # parts of a whole machine, which nobody buys for their memory
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
        sets = [
            chosen
            for chosen in combinations(single, size)
            if len({_slot(each) for each in chosen}) == size
        ]
        fitting = [found for chosen in sets if (found := _fitting(bones, chosen))]
        if fitting:
            return row_of(bones.scenario, *min(fitting, key=lambda found: found[1].step.seconds))
    return None


def _slot(variant: Variant) -> str:
    """What a change sets: two changes of one combination must not set the same."""
    return next(iter(variant.changes))


def settings(bones: Outline) -> Iterator[Variant]:
    """Single changes that lower memory and keep the task, the batch and the machine."""
    made, training = bones.configuration, bones.scenario.run.training
    if bones.host_shortage:
        yield _set("states on the device", {"training.offload": "none"})
    if made.attention != "flash":
        yield _set("flash attention", {"training.attention": "flash"})
    if made.loss == "eager":
        own = "" if "chunked" in switches(bones.scenario) else " (own code)"
        yield _set(f"a chunked loss{own}", {"training.loss": "chunked"})
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
    """One change of each other kind, alone or with settings that save memory."""
    saving = _strongest(bones)
    for group in (_optimizers, _offloads, _more_devices, _larger_parts, _other_tasks):
        yield _first_fitting(bones, group(bones), saving)


def _strongest(bones: Outline) -> tuple[Variant, ...]:
    """The strongest of each setting that saves memory."""
    by_slot = {_slot(each): each for each in settings(bones)}
    by_slot.pop("training.layout", None)
    return tuple(by_slot.values())


def _first_fitting(
    bones: Outline, group: Iterator[Variant], saving: tuple[Variant, ...]
) -> dict[str, Any] | None:
    """The mildest of a kind of change that fits: alone, else with as few settings as it needs."""
    for variant in group:
        alone = _fitting(bones, (variant,))
        if alone:
            return row_of(bones.scenario, *alone)
        if saving and _fitting(bones, (*saving, variant)):
            return row_of(bones.scenario, *_needed(bones, variant, saving))
    return None


def _fitting(bones: Outline, chosen: tuple[Variant, ...]) -> tuple[Variant, Outline] | None:
    variant = together(chosen)
    outline = tried(bones.scenario, variant)
    return (variant, outline) if outline is not None and outline.fits else None


def _needed(
    bones: Outline, variant: Variant, saving: tuple[Variant, ...]
) -> tuple[Variant, Outline]:
    """The change with the settings that it cannot do without, the costly ones dropped first."""
    kept = list(saving)
    for each in reversed(saving):
        fewer = [other for other in kept if other is not each]
        if _fitting(bones, (*fewer, variant)):
            kept = fewer
    found = _fitting(bones, (*kept, variant))
    assert found, "the settings that were kept fit"
    return found


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
    """Two, four, ... times the accelerators; a stated layout that shards nothing shards fully,
    since more replicas of the states need as much memory each."""
    stated = bones.scenario.run.training.layout is not None
    for doubling in range(1, MOST_DOUBLINGS + 1):
        variant = devices(bones, bones.scenario.num_devices << doubling)
        if stated and bones.configuration.sharding == "none":
            variant = Variant(
                kind="devices",
                words=f"{variant.words} with sharding zero3",
                changes={**variant.changes, "training.layout.sharding": "zero3"},
            )
        yield variant


def _larger_parts(bones: Outline) -> Iterator[Variant]:
    """Parts of the same vendor with more memory, the smallest first."""
    part = bones.scenario.accelerator
    larger = [
        other
        for other in hardware_db.accelerators()
        if other.vendor == part.vendor
        and other.form_factor not in BUILT_IN
        and (other.usable_bytes or 0) > (part.usable_bytes or 0)
    ]
    for other in sorted(larger, key=lambda each: each.usable_bytes or 0.0):
        if (other.usable_bytes or 0) > bones.peak_bytes * 0.5:
            yield Variant(
                kind="accelerator",
                words=f"{bones.scenario.num_devices} x {other.sku_id}",
                changes=elsewhere(bones.scenario.run, other.sku_id),
            )


def _other_tasks(bones: Outline) -> Iterator[Variant]:
    if bones.configuration.task in ("full-ft", "dpo"):
        for word in ("lora", "qlora"):
            yield Variant(kind="task", words=f"task {word}", changes={"training.task": word})
