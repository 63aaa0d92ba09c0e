"""Warnings: what is allowed but probably not meant."""

from __future__ import annotations

from planner.engine.configuration import Configuration
from planner.engine.formats import ATTENTION
from planner.planning.limits import unchecked
from planner.planning.outline import Outline
from planner.planning.precision import advised_precision
from planner.planning.result import Throughput
from planner.planning.scenario import Scenario
from planner.planning.traced import attends
from planner.quantities import show_bytes, show_percent

BF16_FAMILIES = ("t5", "mt5", "umt5", "gemma", "gemma2", "gemma3", "gemma3_text", "longt5")
LOW_GOODPUT = 0.5  # share of useful time under which a run is mostly lost to failures
LATE_REPEATS = 40  # epochs, from which repeated data brings nothing (Muennighoff et al. 2023)


def warnings_of(bones: Outline, throughput: Throughput) -> list[str]:
    """Everything a careful colleague would say about this configuration."""
    each, configuration = bones.scenario, bones.configuration
    found = [
        *each.model.warnings,
        *_formats(each, configuration),
        *_attention(each, configuration),
        *_layout(each, configuration),
        *_lengths(each, configuration),
        *_running(bones),
        *unchecked(bones),
        *_profile(bones),
        *_rates(throughput),
    ]
    return list(dict.fromkeys(found))


def _profile(bones: Outline) -> list[str]:
    if bones.measured is None:
        return []
    from planner.planning import measured

    return list(measured.warnings_of(bones.scenario, bones.measured))


def _formats(each: Scenario, configuration: Configuration) -> list[str]:
    part, found = each.accelerator, []
    number_format = ATTENTION[configuration.precision]
    if part.supports(number_format) == "emulated":
        native = " (native from compute capability 8.0)" if part.compute_capability else ""
        found.append(
            f"{number_format} is emulated on {part.sku_id}{native}: use "
            f"{advised_precision(part).words}"
        )
    if configuration.precision == "fp16" and _bf16_model(each):
        found.append(
            f"{each.model.name} was trained in bf16: its activations overflow fp16 (above 65,504) "
            f"and give NaN; {_without_overflow(each)}"
        )
    if configuration.precision == "pure-bf16" and configuration.task == "pretrain":
        found.append("pure bf16 has no FP32 master weights: small updates are lost in long runs")
    if configuration.precision in ("fp8", "nvfp4"):
        found.append(
            f"{configuration.precision} speeds up matrix products; it does not shrink memory by "
            "itself"
        )
    return found


def _without_overflow(each: Scenario) -> str:
    part = each.accelerator
    if part.supports("bf16") == "native":
        return "use bf16"
    return (
        f"use fp32 on {part.sku_id} (twice the memory, no tensor cores) or an accelerator with bf16"
    )


def _attention(each: Scenario, configuration: Configuration) -> list[str]:
    capability = each.accelerator.compute_capability
    if each.model.table is not None and not attends(each.model.table):
        return []
    if configuration.attention == "flash" and capability and capability < (8, 0):
        return [
            f"flash attention needs compute capability 8.0: on {each.accelerator.sku_id} another "
            "memory-efficient kernel must stand in, or attention keeps every score"
        ]
    return []


def _running(bones: Outline) -> list[str]:
    """What happens outside a step: goodput, the host's memory, the disk."""
    each, run, found = bones.scenario, bones.run, []
    if run.goodput < LOW_GOODPUT and run.parts["failures"] > run.parts["startup"]:
        found.append(
            f"only {show_percent(run.goodput)} of the time makes progress: failures of "
            f"{each.num_devices:,} accelerators cost the rest"
        )
    if bones.step.bottleneck == "input":
        waiting = bones.step.parts["input"] / bones.step.seconds
        found.append(
            f"the data loader sets the pace: accelerators wait {show_percent(waiting)} of the time"
        )
    if bones.host_shortage:
        found.append(
            f"offload needs {show_bytes(bones.host_bytes)} of host memory a node: "
            f"{show_bytes(each.run.hardware.host_memory)} are there"
        )
    return found


def _bf16_model(each: Scenario) -> bool:
    return each.model.checkpoint_format == "bf16" or each.model.family in BF16_FAMILIES


def _layout(each: Scenario, configuration: Configuration) -> list[str]:
    found = []
    asked = each.run.training.layout.sharding if each.run.training.layout else None
    if asked not in (None, "none") and configuration.dp * configuration.cp == 1:
        found.append(f"sharding {asked} on one data-parallel rank shards nothing")
    found += [
        f"tensor parallel {configuration.tp} exceeds the {block.kv_heads} key-value heads: they "
        "are replicated, which costs memory and compute"
        for block in each.model.blocks
        if not block.kv_lora_rank and configuration.tp > block.kv_heads
    ]
    if configuration.tp > configuration.devices_per_node:
        found.append(
            f"tensor parallel {configuration.tp} crosses nodes of "
            f"{configuration.devices_per_node}: its collectives run over the network"
        )
    if each.model.layers % (configuration.pp * configuration.interleave):
        found.append(
            f"{each.model.layers} layers do not divide by pp·interleave = "
            f"{configuration.pp * configuration.interleave}: stages are uneven"
        )
    return found


def _lengths(each: Scenario, configuration: Configuration) -> list[str]:
    found = []
    longest = each.model.max_seq_len
    if longest and configuration.seq_len > longest:
        found.append(
            f"sequences of {configuration.seq_len} tokens pass the model's {longest}: positions "
            "must be extended"
        )
    unique, tokens = each.run.data.unique_tokens, each.run.data.tokens
    if unique and tokens and tokens / unique > LATE_REPEATS:
        found.append(
            f"the data repeats {tokens / unique:.0f} times: beyond about {LATE_REPEATS} epochs "
            "it brings nothing"
        )
    if configuration.accumulation > 1 and each.model.kind not in ("vit", "traced"):
        found.append(
            "with accumulation, weight the loss by tokens, not by micro-batches, or unequal "
            "lengths change the result"
        )
    return found + _cut(each)


def _cut(each: Scenario) -> list[str]:
    """Samples longer than a row, and rows that are mostly padding."""
    lengths = each.lengths
    if lengths is None or lengths.packed or not lengths.cut_share:
        return []
    return [f"{show_percent(lengths.cut_share)} of the samples are cut at {each.seq_len} tokens"]


def _rates(throughput: Throughput) -> list[str]:
    if throughput.mfu > 1:
        return [f"MFU of {show_percent(throughput.mfu)} is impossible: a figure is wrong"]
    return []
