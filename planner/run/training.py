"""How the model is trained, as a run file says it; None is left to the planner."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.engine import choices
from planner.errors import PlannerError
from planner.quantities import COUNT
from planner.run.keys import key, read_fields
from planner.run.layout import Layout
from planner.run.lora import Lora
from planner.run.values import one_of, or_auto, whole, word

REDUCE_DTYPES = ("fp32", "bf16", "fp16", "fp8")
_DEGREE = whole(COUNT, most=1_000_000)
_NOT_PLANNED = {
    **dict.fromkeys(
        ("ppo", "grpo", "rlhf", "rloo", "reinforce"),
        "reinforcement learning is not planned: its generation phase is not modelled",
    ),
    "sft": "say how the weights are trained: full-ft, lora or qlora",
    "finetune": "say how the weights are trained: full-ft, lora or qlora",
    "distillation": "distillation is not planned: the teacher's work is not modelled",
}


def task(field: str, value: object) -> str:
    """The kind of training; tasks that forerun does not model are refused by name."""
    remedy = _NOT_PLANNED.get(value.strip().lower()) if isinstance(value, str) else None
    if remedy:
        raise PlannerError(field, value, f"{remedy}; known are {', '.join(choices.TASKS)}")
    return one_of(choices.TASKS)(field, value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """Precision, batch, layout and the rest of what a trainer is told."""

    PATH: ClassVar[str] = "training"

    task: str = key(task, " | ".join(choices.TASKS), default="pretrain", metavar="WORD")
    precision: str = key(
        one_of(choices.PRECISIONS), " | ".join(choices.PRECISIONS), default="bf16", metavar="WORD"
    )
    reduce_dtype: str | None = key(
        or_auto(one_of(REDUCE_DTYPES)),
        "of gradients between devices: " + " | ".join(REDUCE_DTYPES),
        metavar="WORD",
    )  # None = the stack's
    optimizer: str = key(
        one_of(choices.OPTIMIZERS), " | ".join(choices.OPTIMIZERS), default="adamw", metavar="WORD"
    )
    micro_batch: int | None = key(
        or_auto(_DEGREE), "sequences per device and micro-step, or auto"
    )  # None = auto
    accumulation: int | None = key(or_auto(_DEGREE), "micro-steps per step, or auto")  # None = auto
    global_batch: int | None = key(
        or_auto(whole(COUNT, most=1_000_000_000)), "sequences per step, or auto"
    )  # None = auto
    layout: Layout | None = key(
        Layout.read, "degrees as tp=8,pp=2,sharding=zero1, or auto", metavar="D=X,.."
    )  # None = the planner chooses
    offload: str = key(
        one_of(choices.OFFLOADS), " | ".join(choices.OFFLOADS), default="none", metavar="WORD"
    )
    recompute: str = key(
        one_of(choices.RECOMPUTES), " | ".join(choices.RECOMPUTES), default="none", metavar="WORD"
    )
    attention: str = key(
        one_of(choices.ATTENTIONS), " | ".join(choices.ATTENTIONS), default="flash", metavar="WORD"
    )
    loss: str | None = key(
        or_auto(one_of(choices.LOSSES)), f"auto | {' | '.join(choices.LOSSES)}", metavar="WORD"
    )  # None = auto: the fastest that fits of what the stack offers
    compile: str = key(
        one_of(choices.COMPILES), " | ".join(choices.COMPILES), default="none", metavar="WORD"
    )
    lora: Lora = key(Lora.read, "adapters", default=Lora(), flag=None)
    schedule: str = key(
        one_of(choices.SCHEDULES),
        f"learning rate: {' | '.join(choices.SCHEDULES)}",
        default="cosine",
        metavar="WORD",
    )
    stack: str | None = key(word, "software that will run it, such as megatron", metavar="NAME")

    def __post_init__(self) -> None:
        read_fields(self)
        if self.lora != Lora() and self.task not in ("lora", "qlora"):
            raise PlannerError(
                "training.lora",
                f"with task {self.task}",
                "set task: lora or qlora, or leave lora out",
            )

    def check_batch(self, num_devices: int | None) -> None:
        """Refuse batch sizes that cannot multiply to each other on `num_devices`."""
        layout = self.layout
        dp = layout.data_degree(num_devices) if layout and num_devices else None
        if layout and dp and (dp * layout.cp) % layout.ep:
            raise PlannerError(
                "training.layout.ep", layout.ep, f"must divide dp·cp, which is {dp * layout.cp}"
            )
        if self.global_batch is not None:
            self._check_global_batch(self.global_batch, dp)

    def _check_global_batch(self, global_batch: int, dp: int | None) -> None:
        parts = {"micro_batch": self.micro_batch, "accumulation": self.accumulation, "dp": dp}
        known = {name: value for name, value in parts.items() if value}
        product = 1
        for value in known.values():
            product *= value
        exact = len(known) == len(parts)
        if global_batch % product or (exact and global_batch != product):
            factors = " · ".join(f"{name} {value}" for name, value in known.items())
            must = "be" if exact else "be a multiple of"
            total = f" = {product}" if len(known) > 1 else ""
            raise PlannerError(
                "training.global_batch", global_batch, f"must {must} {factors}{total}"
            )
