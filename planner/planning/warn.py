"""Warnings: what is allowed but probably not meant."""

from __future__ import annotations

from planner.engine.configuration import Configuration
from planner.engine.formats import ATTENTION
from planner.planning.result import Throughput
from planner.planning.scenario import Scenario

BF16_FAMILIES = ("t5", "mt5", "umt5", "gemma", "gemma2", "gemma3", "gemma3_text", "longt5")
LATE_REPEATS = 40  # epochs, from which repeated data brings nothing (Muennighoff et al. 2023)


def warnings_of(
    each: Scenario, configuration: Configuration, throughput: Throughput
) -> list[str]:
    """Everything a careful colleague would say about this configuration."""
    found = [
        *each.model.warnings,
        *_formats(each, configuration),
        *_layout(each, configuration),
        *_lengths(each, configuration),
        *_rates(throughput),
    ]
    return list(dict.fromkeys(found))


def _formats(each: Scenario, configuration: Configuration) -> list[str]:
    part, found = each.accelerator, []
    number_format = ATTENTION[configuration.precision]
    if part.supports(number_format) == "emulated":
        if part.compute_capability is not None and part.compute_capability >= (7, 0):
            remedy = "use fp16 with loss scaling"
        else:
            remedy = "use fp32 or fp16"
        found.append(
            f"{number_format} is emulated on {part.sku_id} (native from compute capability 8.0): "
            f"{remedy}"
        )
    if configuration.precision == "fp16" and _bf16_model(each):
        found.append(
            f"{each.model.name} was trained in bf16: its activations overflow fp16 (above 65,504) "
            "and give NaN; use bf16 on an accelerator that has it, or fp32"
        )
    if configuration.precision == "pure-bf16" and configuration.task == "pretrain":
        found.append("pure bf16 has no FP32 master weights: small updates are lost in long runs")
    if configuration.precision in ("fp8", "nvfp4"):
        found.append(
            f"{configuration.precision} speeds up matrix products; it does not shrink memory by "
            "itself"
        )
    return found


def _bf16_model(each: Scenario) -> bool:
    return each.model.checkpoint_format == "bf16" or each.model.family in BF16_FAMILIES


def _layout(each: Scenario, configuration: Configuration) -> list[str]:
    found = []
    asked = each.run.training.layout.sharding if each.run.training.layout else None
    if asked not in (None, "none") and configuration.dp * configuration.cp == 1:
        found.append(f"sharding {asked} on one data-parallel rank shards nothing")
    for block in each.model.blocks:
        if not block.kv_lora_rank and configuration.tp > block.kv_heads:
            found.append(
                f"tensor parallel {configuration.tp} exceeds the {block.kv_heads} key-value "
                "heads: they are replicated, which costs memory and compute"
            )
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
    if configuration.accumulation > 1:
        found.append(
            "with accumulation, weight the loss by tokens, not by micro-batches, or unequal "
            "lengths change the result"
        )
    return found


def _rates(throughput: Throughput) -> list[str]:
    if throughput.mfu > 1:
        return [f"MFU of {throughput.mfu:.0%} is impossible: a figure is wrong"]
    return []
