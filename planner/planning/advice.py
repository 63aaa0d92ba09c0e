"""What to change, and what that brings: each line is a variant that was really planned."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import hardware_db
from planner.engine.formats import MATMUL
from planner.engine.layout import valid_tensor_degrees
from planner.planning.limits import devices
from planner.planning.losses import switches
from planner.planning.outline import Outline
from planner.planning.variants import Variant, tried
from planner.quantities import show_duration, show_usd

NOISE = 0.03  # gains under this share are within the model's own error
MOST = 5  # lines of advice
SURE = 0.9  # probability of fitting under which a variant is not advised
EXTRA_COST = 0.25  # share by which more accelerators may raise the cost to be worth a line


@dataclass(frozen=True, slots=True, kw_only=True)
class Gain:
    """A variant with what it brings; shares of the plan's own time and cost, positive = saved."""

    variant: Variant
    outline: Outline
    time: float
    cost: float | None

    @property
    def worth(self) -> float:
        """The larger of what it saves in time and in money."""
        return max(self.time, self.cost or 0.0)


def advice_of(bones: Outline) -> list[dict[str, str]]:
    """At most five changes that save time or money beyond the noise, the largest saving first."""
    return [_row(bones, gain) for gain in gains_of(bones)]


def gains_of(bones: Outline) -> list[Gain]:
    """The same changes with what each brings, in numbers."""
    if not bones.fits:
        return []  # the shortfall names the changes that matter
    gains = [gain for variant in variants(bones) if (gain := _gain(bones, variant))]
    return _varied(sorted(gains, key=lambda each: -each.worth))[:MOST]


def _gain(bones: Outline, variant: Variant) -> Gain | None:
    """None where the variant does not run, might not fit, or brings too little."""
    other = tried(bones.scenario, variant)
    if other is None or other.fit_probability < min(SURE, bones.fit_probability):
        return None
    time = 1 - other.run.seconds / bones.run.seconds
    cost = None
    if bones.cost.usd and other.cost.usd:
        cost = 1 - other.cost.usd / bones.cost.usd
    gain = Gain(variant=variant, outline=other, time=time, cost=cost)
    return gain if _worth_a_line(gain) else None


def _worth_a_line(gain: Gain) -> bool:
    """A saving beyond the noise that is not bought by as large a loss on the other side."""
    if gain.variant.kind == "devices":
        return gain.time >= NOISE and (gain.cost or 0.0) >= -EXTRA_COST
    if gain.variant.kind in ("price", "accelerator"):
        return (gain.cost or 0.0) >= NOISE
    return gain.time >= NOISE


def _varied(gains: list[Gain]) -> list[Gain]:
    """The best of each kind of change first, so that five lines are five ideas."""
    seen: set[str] = set()
    kept = []
    for gain in gains:
        key = next(iter(gain.variant.changes))
        slot = f"{gain.variant.kind} {'.'.join(key.split('.')[:2])}"
        if slot not in seen:
            kept.append(gain)
        seen.add(slot)
    return kept


def _row(bones: Outline, gain: Gain) -> dict[str, str]:
    effects = []
    if abs(gain.time) >= NOISE:
        word = "faster" if gain.time > 0 else "slower"
        effects.append(
            f"{_percent(gain.time)} {word}: "
            f"{show_duration(gain.outline.run.seconds, like=bones.run.seconds)} instead of "
            f"{show_duration(bones.run.seconds)}"
        )
    if gain.cost is not None and abs(gain.cost) >= NOISE:
        word = "cheaper" if gain.cost > 0 else "dearer"
        effects.append(
            f"{_percent(gain.cost)} {word}: {show_usd(gain.outline.cost.usd)} instead of "
            f"{show_usd(bones.cost.usd)}"
        )
    return {"change": _words(gain), "effect": "; ".join(effects)}


def _words(gain: Gain) -> str:
    """How a person says the change: a layout that the planner chose, by its degrees."""
    if gain.variant.changes.get("training.layout") != "auto":
        return gain.variant.words
    made = gain.outline.configuration
    degrees = [f"{name} {getattr(made, name)}" for name in ("tp", "pp", "cp", "ep", "dp")]
    used = " ".join(words for words in degrees if not words.endswith(" 1"))
    return f"layout {used} sharding {made.sharding}"


def _percent(share: float) -> str:
    return f"{100 * abs(share):.0f} %"


def variants(bones: Outline) -> Iterator[Variant]:
    """Changes worth trying for this plan: those that its configuration has not already made."""
    yield from _software(bones)
    yield from _recompute(bones)
    yield from _formats(bones)
    yield from _batches(bones)
    yield from _layouts(bones)
    yield from _counts(bones)
    yield from _prices(bones)


def _set(words: str, key: str, value: object) -> Variant:
    return Variant(kind="settings", words=words, changes={key: value})


def _software(bones: Outline) -> Iterator[Variant]:
    made = bones.configuration
    compiled = bones.scenario.stack.kernels in ("compiled", "xla")
    if made.compile == "none" and not compiled:
        yield _set("compile regional", "training.compile", "regional")
    if made.attention != "flash":
        yield _set("flash attention", "training.attention", "flash")
    if made.loss == "eager":
        own = "" if "fused" in switches(bones.scenario) else " (own code)"
        yield _set(f"a fused loss{own}", "training.loss", "fused")
    if made.optimizer == "adamw":
        yield _set("a fused optimizer", "training.optimizer", "adamw-fused")


def _recompute(bones: Outline) -> Iterator[Variant]:
    words = {"full": ("selective", "none"), "selective": ("none",), "none": ()}
    for word in words[bones.configuration.recompute]:
        yield _set(f"recompute {word}", "training.recompute", word)


def _formats(bones: Outline) -> Iterator[Variant]:
    part, made = bones.scenario.accelerator, bones.configuration
    now = part.peak(MATMUL[made.precision]) or part.peak("fp32") or 0.0
    usual = {"fp32": ("tf32", "bf16", "fp16"), "tf32": ("bf16",), "bf16": ("fp8",)}
    if part.supports(MATMUL[made.precision]) == "emulated":
        usual["bf16"] = ("fp16",)
    for word in usual.get(made.precision, ()):
        faster = (part.peak(MATMUL[word]) or 0.0) > now
        if part.supports(MATMUL[word]) == "native" and faster:
            yield _set(f"precision {word}", "training.precision", word)


def _batches(bones: Outline) -> Iterator[Variant]:
    """A smaller or larger stated micro-batch at the same global batch; open ones are chosen."""
    stated, made = bones.scenario.run.training.micro_batch, bones.configuration
    if not stated:
        return
    for other in (2 * stated, 4 * stated, 8 * stated, 16 * stated):
        if (made.global_batch // made.dp) % other == 0:
            yield Variant(
                kind="settings",
                words=f"micro-batch {other}",
                changes={
                    "training.micro_batch": other,
                    "training.accumulation": "auto",
                    "training.global_batch": made.global_batch,
                },
            )


def _layouts(bones: Outline) -> Iterator[Variant]:
    """Weaker sharding, and the planner's own layout, where the run states one."""
    layout, made = bones.scenario.run.training.layout, bones.configuration
    if layout is None or made.num_devices == 1:
        return
    for word in ("zero1", "none"):
        if made.sharding in ("zero3", "zero2", "hsdp"):
            yield _set(f"sharding {word}", "training.layout.sharding", word)
    yield _set("a layout of the planner's choice", "training.layout", "auto")
    for block in made.model.blocks[:1]:
        latent = bool(block.kv_lora_rank)
        degrees = valid_tensor_degrees(
            block.heads, block.kv_heads, latent=latent, most=made.devices_per_node
        )
        for tp in (made.tp // 2, made.tp * 2):
            if tp in degrees and not layout.dp and tp != made.tp:
                yield _set(f"tensor parallel {tp}", "training.layout.tp", tp)


def _counts(bones: Outline) -> Iterator[Variant]:
    count = bones.scenario.num_devices
    yield devices(bones, 2 * count)
    if count > 1 and count % 2 == 0:
        half = devices(bones, count // 2)
        yield Variant(kind="price", words=half.words, changes=half.changes)


def _prices(bones: Outline) -> Iterator[Variant]:
    """Spot prices, and the cheapest provider where one was named."""
    price = bones.scenario.run.price
    if price.mode == "on-demand":
        yield Variant(kind="price", words="spot price", changes={"price.mode": "spot"})
    device = bones.scenario.device
    if price.provider is None or (device is not None and not device.listed):
        return
    sku = bones.scenario.accelerator.sku_id
    others = {each.provider for each in hardware_db.prices(sku, mode=price.mode)}
    for other in sorted(others - {price.provider}):
        yield Variant(
            kind="accelerator",
            words=f"provider {other}",
            changes={"price.provider": other, "price.region": None},
        )
