"""A configuration in the making: what the row states, what had to be filled in, and by whom."""

from __future__ import annotations

from dataclasses import dataclass, field

from planner.errors import PlannerError
from planner.fidelity.notes import Notes
from planner.fidelity.practice import Practice
from planner.fidelity.table import Row

_WORDS = {  # words of published tables to ours
    "adam": "adamw",
    "decoupled_adamw": "adamw",
    "decoupled-adamw": "adamw",
    "fsdp": "zero3",
    "fsdp2": "zero3",
    "full-shard": "zero3",
    "ddp": "none",
    "sft": "full-ft",
    "finetune": "full-ft",
    "y": "yes",
    "n": "no",
}


@dataclass(slots=True, kw_only=True)
class Draft:
    """One row while its configuration is decided field by field."""

    row: Row
    notes: Notes
    practice: Practice
    inferred: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def count(self, column: str, *fallbacks: int | None) -> int | None:
        """A whole number: the row's, else the source's practice, else the first fallback."""
        stated = self.row.count(column)
        if stated is not None:
            return stated
        return self._fill(column, (_whole(self.practice.settings.get(column)), *fallbacks))

    def need(self, column: str, *fallbacks: int | None) -> int:
        """As `count`, but a row that cannot have it is refused."""
        value = self.count(column, *fallbacks)
        if value is None:
            raise PlannerError(column, None, "not stated, and no usual value is documented")
        return value

    def word(self, column: str, words: tuple[str, ...], fallback: str) -> str:
        """One of `words`: the row's, else the source's practice, else `fallback`."""
        stated = self.row.text(column).lower()
        word = _WORDS.get(stated, stated)
        if word in words:
            return word
        if stated:
            raise PlannerError(column, stated, f"one of {', '.join(words)}")
        self.infer(column)
        return str(self.practice.settings.get(column, fallback))

    def setting(self, name: str, fallback: object) -> object:
        """A setting that has no column: the source's practice, else `fallback`; inferred."""
        self.infer(name)
        return self.practice.settings.get(name, fallback)

    def infer(self, name: str) -> None:
        """Remember that the row does not state this."""
        if name not in self.inferred:
            self.inferred.append(name)

    def remark(self, text: str) -> None:
        """Something odd about the row that a reader should know."""
        self.remarks.append(text)

    def _fill(self, column: str, values: tuple[int | None, ...]) -> int | None:
        for value in values:
            if value is not None:
                self.infer(column)
                return value
        return None


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) else None
