"""The one error of measuring that a person can mend."""

from __future__ import annotations


class ProfileError(ValueError):
    """A wrong field: says which field, which value, and what to do about it.

    >>> str(ProfileError("--device", "cuda:9", "this machine has no CUDA device"))
    "--device: 'cuda:9': this machine has no CUDA device"
    """

    def __init__(self, field: str, value: object, remedy: str) -> None:
        self.field = field
        self.value = value
        self.remedy = remedy
        shown = "nothing given" if value is None else repr(value)
        if len(shown) > 80:
            shown = shown[:77] + "..."
        super().__init__(f"{field}: {shown}: {remedy}")

    def __reduce__(self) -> tuple[type, tuple[str, object, str]]:
        return type(self), (self.field, self.value, self.remedy)
