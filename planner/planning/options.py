"""What a run leaves open, as lists of values worth trying for each choice."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.engine.layout import valid_tensor_degrees
from planner.errors import PlannerError
from planner.planning.losses import offered
from planner.planning.scenario import Scenario
from planner.planning.traced import MOST_MICRO_BATCH as MOST_SAMPLES
from planner.planning.traced import SAMPLES

MOST_STAGES = 64
MOST_MICRO_BATCH = 128  # sequences
MOST_UNEVEN = 1.1  # work of the fullest stage against the mean, where layers do not divide
LONG_SEQUENCE = 16_384  # tokens: from here on context parallelism is worth trying


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Values to try for each choice; a fixed choice has one."""

    tp: list[int]
    pp: list[int]
    cp: list[int]
    ep: list[int]
    sharding: list[str]
    interleave: list[int]
    micro_batch: list[int]
    loss: list[str]  # the stack's usual one first
    sequence_parallel: bool | None  # None = whenever tp > 1 and the stack does so
    accumulation: int | None
    global_batch: int | None  # sequences; None = follows from the other two
    reasons: dict[str, str]  # why an open choice has its values


def options(scenario: Scenario) -> Options:
    """The values to try for everything that the run leaves open."""
    training = scenario.run.training
    layout = training.layout
    reasons: dict[str, str] = {}
    global_batch = _global_batch(scenario, reasons)
    fixed = layout is not None
    sharding = layout.sharding if layout and layout.sharding else None
    return Options(
        tp=[layout.tp] if layout else _tensor_degrees(scenario),
        pp=[layout.pp] if layout else _stage_counts(scenario),
        cp=[layout.cp] if layout else _context_degrees(scenario),
        ep=[layout.ep] if layout else _expert_degrees(scenario),
        sharding=[sharding] if sharding else _shardings(scenario, fixed=fixed),
        interleave=[layout.interleave] if layout else [1],
        loss=offered(scenario),
        micro_batch=_micro_batches(training.micro_batch, global_batch, most_micro_batch(scenario)),
        sequence_parallel=layout.sequence_parallel if layout else None,
        accumulation=training.accumulation,
        global_batch=global_batch,
        reasons=reasons,
    )


def _tensor_degrees(scenario: Scenario) -> list[int]:
    """Degrees that divide every layer's heads and stay on one node."""
    most = min(scenario.num_devices, scenario.devices_per_node)
    degrees = set(range(1, most + 1))
    for block in scenario.model.blocks:
        latent = bool(block.kv_lora_rank)
        degrees &= set(valid_tensor_degrees(block.heads, block.kv_heads, latent=latent, most=most))
    return sorted(each for each in degrees if scenario.num_devices % each == 0)


def _stage_counts(scenario: Scenario) -> list[int]:
    """Numbers of pipeline stages that divide the devices and leave little of a stage idle."""
    layers = scenario.model.layers
    most = min(layers, scenario.num_devices, MOST_STAGES)
    return [
        stages
        for stages in range(1, most + 1)
        if scenario.num_devices % stages == 0
        and math.ceil(layers / stages) * stages <= layers * MOST_UNEVEN
    ]


def _context_degrees(scenario: Scenario) -> list[int]:
    if scenario.seq_len < LONG_SEQUENCE or scenario.model.kind != "decoder":
        return [1]
    most = min(scenario.num_devices, scenario.seq_len // 4096)
    degrees = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    return [each for each in degrees if scenario.num_devices % each == 0]


def _expert_degrees(scenario: Scenario) -> list[int]:
    """Powers of two that divide the experts of every layer that has some."""
    counts = {block.num_experts for block in scenario.model.blocks if block.num_experts}
    most = min(scenario.num_devices, *counts) if counts else 1
    powers = [1 << power for power in range(most.bit_length())]
    return [ep for ep in powers if all(count % ep == 0 for count in counts)]


def _shardings(scenario: Scenario, *, fixed: bool) -> list[str]:
    """The stack's usual sharding; where the layout is open too, the others it offers."""
    usual = scenario.stack.sharding
    if scenario.num_devices == 1:
        return ["none"]
    if scenario.model.table is not None:
        return ["none"] if fixed else ["none", "zero1", "zero3"]
    if fixed:
        return [usual]
    others = ["none", "zero1", "zero3"]
    if scenario.stack.name.startswith(("megatron", "nemo")):
        others = ["none", "zero1"]
    return list(dict.fromkeys([usual, *others]))


def most_micro_batch(scenario: Scenario) -> int:
    """The largest micro-batch worth trying: samples of a traced module may be small."""
    return MOST_SAMPLES if scenario.model.table is not None else MOST_MICRO_BATCH


def _micro_batches(stated: int | None, global_batch: int | None, limit: int) -> list[int]:
    if stated:
        return [stated]
    most = min(global_batch or limit, limit)
    powers = [1 << power for power in range(most.bit_length()) if 1 << power <= most]
    divisors = [each for each in range(1, min(most, 16) + 1) if not (global_batch or 0) % each]
    return sorted({*powers, *divisors}) if global_batch else powers


def _global_batch(scenario: Scenario, reasons: dict[str, str]) -> int | None:
    """The stated global batch, or a usual one for the task."""
    training = scenario.run.training
    if training.global_batch:
        return training.global_batch
    if training.accumulation and training.micro_batch:
        return None
    sequences = usual_global_batch(scenario)
    reasons["global_batch"] = _batch_reason(scenario)
    return sequences


PRETRAIN_BATCH_TOKENS = 2**21  # tokens a step for models of a billion parameters and more
SMALL_MODEL_BATCH_TOKENS = 2**19  # below (GPT-2 and GPT-3 small: Brown et al. 2020, table 2.1)
FINE_TUNE_BATCH = 64  # sequences


def usual_global_batch(scenario: Scenario) -> int:
    """Sequences per step that a run of this kind usually takes, a multiple of the devices.

    Pre-training: 0.5 M tokens below a billion parameters, 2 M above (Brown et al. 2020, table 2.1),
    as a power of two times the devices so that it splits evenly.
    """
    if scenario.model.table is not None:
        wanted: float = SAMPLES
    elif scenario.run.training.task == "pretrain":
        large = scenario.model.params_total >= 1e9
        tokens = PRETRAIN_BATCH_TOKENS if large else SMALL_MODEL_BATCH_TOKENS
        wanted = max(tokens / scenario.seq_len, 1)
    else:
        wanted = FINE_TUNE_BATCH
    ratio = max(wanted / _splittable(scenario), 1)
    return int(_splittable(scenario) * 2 ** round(math.log2(ratio)))


def _splittable(scenario: Scenario) -> int:
    """Sequences that give each data-parallel rank one: all devices unless the layout is stated."""
    layout = scenario.run.training.layout
    ranks = layout.data_degree(scenario.num_devices) if layout else scenario.num_devices
    return ranks * (scenario.run.training.micro_batch or 1)


def _batch_reason(scenario: Scenario) -> str:
    if scenario.model.table is not None:
        return "usual for image classifiers (Goyal et al. 2017, section 5.1)"
    if scenario.run.training.task == "pretrain":
        if scenario.model.kind != "decoder":
            return "as many tokens a step as language models of this size take: say --global-batch"
        return "usual for pre-training at this size (Brown et al. 2020, table 2.1)"
    return "usual for fine-tuning"


def refuse_impossible(scenario: Scenario, chosen: Options) -> None:
    """Refuse a global batch that no layout can split. Raises PlannerError."""
    training = scenario.run.training
    if training.global_batch and training.layout:
        dp = training.layout.data_degree(scenario.num_devices)
        if training.global_batch % dp:
            remedy = f"must be a multiple of the {dp} data-parallel ranks"
            raise PlannerError("training.global_batch", training.global_batch, remedy)
    if not chosen.tp:
        raise PlannerError("hardware.count", scenario.num_devices, "no layout divides it")
