"""A published row as something the engine can evaluate, or the reason why it cannot."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.engine.configuration import Configuration


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a fit may want to know about a run beyond its configuration."""

    stack: str  # a row of stacks.toml
    year: int  # of the software
    release: str = ""  # of the software, YY.MM, when the row names one
    flash: str = "none"  # stacks.FLASH_GENERATIONS
    fp8_recipe: str = ""  # delayed current-scaling mxfp8 blockwise nvfp4, empty = not FP8
    cuda_graphs: str = "none"  # none | partial | full
    kernels: str = "eager"  # stacks.KERNELS
    launch: str = "python-eager"  # stacks.LAUNCHES
    dispatcher: str = ""  # of experts: alltoall hybridep deepep
    expert_overlap: bool = False  # exchange of experts runs beside compute
    token_drop: bool = False  # experts have a capacity limit
    quantization: str = ""  # of a QLoRA base: nf4 nf4-dq gptq-int4 gptq-int8
    mixed_precision: str = ""  # DEFAULT or PURE of Composer
    offloaded_layers: int = 0  # layers whose activations go to the host
    recomputed_modules: tuple[str, ...] = ()  # parts of a layer, where a recipe names them
    optimizer_in_backward: bool = False  # gradients are freed as they are used
    paged_optimizer: bool = False  # moments in managed memory, which torch's meters do not count
    full_weights_at_load: bool = False  # each device once holds the whole weights and its shard
    real_tokens: float = 1.0  # share of the tokens of a step that are not padding
    reserved_bytes: float | None = None  # allocator's reserve beside an allocated peak


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One measurement: a fully decided configuration and what was measured of it."""

    id: str
    line: int  # of the table
    source: str  # as the table names it
    group: str  # source for leave-one-source-out; both MosaicML tables are one
    configuration: Configuration
    traits: Traits
    actual_seconds: float | None = None  # of one optimizer step
    actual_peak_bytes: float | None = None  # on the fullest device
    meter: str = ""  # stacks.METERS of the peak
    oom: bool = False  # the run failed for memory
    tflops_per_device: float | None = None  # as published, conventions differ
    mfu: float | None = None  # fraction, as published, conventions differ
    inferred: tuple[str, ...] = ()  # fields that the row does not state
    notes: tuple[str, ...] = field(default=())  # what was found odd about the row

    @property
    def kind(self) -> str:
        """`time`, `memory`, `time+memory`, or `rate-only` when only TFLOP/s or MFU is stated."""
        kinds = [
            name
            for name, told in (
                ("time", self.actual_seconds is not None),
                ("memory", self.actual_peak_bytes is not None or self.oom),
            )
            if told
        ]
        return "+".join(kinds) or "rate-only"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """A row that cannot be planned, and why."""

    id: str
    line: int
    source: str
    group: str
    kind: str  # what it would have been: time | memory | time+memory | rate-only
    reason: str
