"""What the hardware tables refuse, each with the field, the value and the remedy."""

from __future__ import annotations


class HardwareError(ValueError):
    """A question that the tables cannot answer as asked.

    >>> str(HardwareError("sku", "h200x", "did you mean h200-nvl-141gb?"))
    "sku: 'h200x': did you mean h200-nvl-141gb?"
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        self.field = field
        self.value = value
        self.remedy = remedy
        shown = repr(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{field}: {shown}: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.field, self.value, self.remedy)


class CandidatesError(HardwareError):
    """A refusal that lists what the name may have meant."""

    def __init__(
        self, field: str, value: object, remedy: str, candidates: tuple[str, ...] = ()
    ) -> None:
        super().__init__(field, value, remedy)
        self.candidates = candidates

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.field, self.value, self.remedy, self.candidates)


class UnknownName(CandidatesError):  # noqa: N818
    """No row has this name; `candidates` are the nearest known names."""


class AmbiguousName(CandidatesError):  # noqa: N818
    """Several rows have this name; `candidates` are their ids, the remedy says how they differ."""


class MissingRate(HardwareError):  # noqa: N818
    """An amount cannot change its currency without an exchange rate and its date."""
