"""Low-rank adapters, as a run file says them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.errors import PlannerError
from planner.quantities import COUNT
from planner.run.keys import key, read_fields, section_from
from planner.run.values import pairs, whole, words_list


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Low-rank adapters, for the tasks lora and qlora."""

    PATH: ClassVar[str] = "training.lora"

    rank: int = key(whole(COUNT, most=65_536), "rank of the adapters", default=16, flag="lora-rank")
    targets: tuple[str, ...] = key(
        words_list,
        "layers with adapters: all-linear, or names as q,v",
        default=("all-linear",),
        flag="lora-targets",
        metavar="A,B,..",
    )
    trainable: tuple[str, ...] = key(
        words_list,
        "modules trained in full beside the adapters",
        default=(),
        flag="lora-trainable",
        metavar="A,B,..",
    )

    def __post_init__(self) -> None:
        read_fields(self)
        if not self.targets:
            raise PlannerError("training.lora.targets", "", "name a layer, or all-linear")

    @classmethod
    def read(cls, field: str, value: object) -> Lora:
        """From a mapping or `rank=8,targets=q`."""
        return value if isinstance(value, cls) else section_from(cls, field, pairs(field, value))
