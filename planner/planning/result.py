"""What a plan says: the answer's parts as frozen records, and their JSON form."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

SCHEMA = "forerun.plan/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelPart:
    """The model's counts."""

    name: str
    params_total: int
    params_active: int
    params_trainable: int
    flops_per_token: float | None  # forward and backward, the model's own work
    flops_per_sample: float  # the same of a whole sequence, or of a traced module's sample


@dataclass(frozen=True, slots=True, kw_only=True)
class StepPart:
    """One optimizer step, seconds. `low` and `high` bound 80 %."""

    seconds: float
    low: float
    high: float
    parts: dict[str, float]  # seconds, they add up to `seconds`
    bottleneck: str  # gpu | input: which of the device and the data loader sets the pace


@dataclass(frozen=True, slots=True, kw_only=True)
class Throughput:
    """Rates. MFU counts the model's own FLOP, HFU recomputation too, against the dense peak."""

    tokens_per_second: float | None  # None for a traced module, whose data are samples
    tokens_per_second_per_device: float | None
    samples_per_second: float
    samples_per_second_per_device: float
    mfu: float
    hfu: float
    tflops_per_device: float  # of the model's own FLOP
    peak_tflops: float  # dense, in the recipe's matmul format


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryPart:
    """Peak memory of the fullest device, bytes. `low` and `high` bound 80 %."""

    peak_bytes: float
    low: float
    high: float
    capacity_bytes: float
    parts: dict[str, float]  # bytes, they add up to `peak_bytes`
    stages: list[dict[str, Any]]  # of each pipeline stage: its parts and total
    phases: dict[str, float]  # bytes at initialisation, forward end, backward, update, saving
    host_bytes_per_node: float | None  # for offload; None without it
    checkpoint_bytes: float  # on disk, one whole checkpoint with the optimizer


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPart:
    """The whole run, seconds. `low` and `high` bound 80 %."""

    steps: int
    tokens: int | None  # None for a traced module
    samples: int  # sequences, or a traced module's samples
    epochs: float | None
    seconds: float
    low: float
    high: float
    parts: dict[str, float]  # seconds, they add up to `seconds`
    device_hours: float
    goodput: float  # share of the time that makes progress
    finish_by_deadline: bool | None  # None without a deadline
    deadline_seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class CostPart:
    """Money, or None with the reason where no price is known."""

    usd: float | None
    low: float | None
    high: float | None
    per_device_hour: float | None  # USD
    provider: str | None
    price_date: str | None
    price_source: str | None
    price_note: str | None  # what the price leaves out or why it is doubtful
    within_budget: bool | None  # None without a budget
    breakdown: dict[str, float]  # USD
    reason: str | None  # why `usd` is None


@dataclass(frozen=True, slots=True, kw_only=True)
class EnergyPart:
    """Energy at the building's meter and operational carbon."""

    kwh: float | None
    low: float | None
    high: float | None
    watts_per_device: float | None  # average, with its share of the server
    pue: float
    kgco2e: float | None
    grid: str | None  # place whose grid was taken
    grams_per_kwh: float | None
    within_budget: bool | None  # None without an energy budget
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LossPart:
    """Forecast of the final loss, nats per token, or None with the reason."""

    value: float | None
    low: float | None
    high: float | None
    law: str | None
    reason: str | None
    optimum: dict[str, float] | None  # params and tokens that the same compute would serve best
    conditions: dict[str, float] = field(default_factory=dict)  # of the law: unique_tokens, experts
    beyond_fit: dict[str, Any] | None = None  # where the run leaves the range of the law's fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """How sure the answer is: a grade and its reasons."""

    grade: str  # measured | extrapolated | published | datasheet | assumed
    reasons: list[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The answer. `to_json` gives the form of the contract."""

    fits: bool
    verdict: str  # fits | uncertain | does-not
    fit_probability: float
    shortfall: dict[str, Any] | None  # what is short, by how much, the nearest change that fits
    model: ModelPart
    step: StepPart
    throughput: Throughput
    memory: MemoryPart
    chosen: dict[str, Any]
    run: RunPart
    cost: CostPart
    energy: EnergyPart
    loss: LossPart
    stop: dict[str, Any] | None
    evidence: Evidence
    warnings: list[str]
    advice: list[dict[str, str]] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Plain dictionaries, lists and numbers; unknown is None."""
        return {"schema": SCHEMA, **plain(self)}


def plain(value: Any) -> Any:
    """Dataclasses as dictionaries, all the way down."""
    if is_dataclass(value) and not isinstance(value, type):
        return {item.name: plain(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, dict):
        return {name: plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return value
