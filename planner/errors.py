"""The one error a person can mend."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


class PlannerError(ValueError):
    """A wrong field: says which field, which value, and what to do about it.

    >>> str(PlannerError("hardware.sku", "h200x", "did you mean h200?"))
    "hardware.sku: 'h200x': did you mean h200?"
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        self.field = field
        self.value = value
        self.remedy = remedy
        shown = "nothing given" if value is None else repr(value)
        super().__init__(f"{_cut(field, 240)}: {_cut(shown, 80)}: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.remedy)


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 3] + "..."


def nearest(word: str, words: Iterable[str], *, count: int = 3) -> list[str]:
    """The known words most like `word`, best first, for an error's remedy."""
    return get_close_matches(str(word), list(words), n=count, cutoff=0.4)
