"""How a run file says that the devices share the work."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from planner.engine import choices
from planner.errors import PlannerError
from planner.quantities import COUNT
from planner.run.keys import key, read_fields, section_from
from planner.run.values import is_auto, one_of, or_auto, pairs, whole, yes_or_no

SHARDING_ALIASES = {"fsdp": "zero3"}

_DEGREE = whole(COUNT, most=1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """How the devices share the work. A degree left out is 1, except `dp`, which takes the rest."""

    PATH: ClassVar[str] = "training.layout"

    tp: int = key(_DEGREE, "tensor parallel", default=1)
    pp: int = key(_DEGREE, "pipeline parallel", default=1)
    cp: int = key(_DEGREE, "context parallel", default=1)
    ep: int = key(_DEGREE, "expert parallel, inside the data-parallel group", default=1)
    dp: int | None = key(or_auto(_DEGREE), "data parallel")  # None = count / (tp pp cp)
    sharding: str | None = key(
        or_auto(one_of(choices.SHARDINGS, SHARDING_ALIASES)), "sharded optimizer"
    )  # None = the stack's usual; fsdp is zero3
    interleave: int = key(_DEGREE, "virtual pipeline stages per device", default=1)
    sequence_parallel: bool | None = key(or_auto(yes_or_no), "sequence parallel")  # None = auto

    def __post_init__(self) -> None:
        read_fields(self)
        if self.interleave > 1 and self.pp == 1:
            raise PlannerError(
                "training.layout.interleave",
                self.interleave,
                "needs pp above 1: set pp, or leave out",
            )
        if self.sequence_parallel and self.tp == 1:
            raise PlannerError(
                "training.layout.sequence_parallel", True, "needs tp above 1: set tp, or leave out"
            )

    @property
    def model_devices(self) -> int:
        """Devices that hold one copy of the model's work: tp·pp·cp."""
        return self.tp * self.pp * self.cp

    def data_degree(self, num_devices: int) -> int:
        """Data-parallel degree on `num_devices`; raises PlannerError where it does not come out."""
        if num_devices % self.model_devices or (
            self.dp and self.dp * self.model_devices != num_devices
        ):
            degrees = f"tp={self.tp},pp={self.pp},cp={self.cp},dp={self.dp or 'auto'}"
            raise PlannerError(
                "training.layout",
                degrees,
                f"tp·pp·cp·dp must multiply to hardware.count {num_devices}",
            )
        return num_devices // self.model_devices

    @classmethod
    def read(cls, field: str, value: object) -> Layout | None:
        """From a mapping or `tp=8,pp=2`; auto is None: the planner chooses."""
        if is_auto(value):
            return None
        return value if isinstance(value, cls) else section_from(cls, field, pairs(field, value))
