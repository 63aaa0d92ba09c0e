"""What a run does not say and no plan can do without."""

from __future__ import annotations

from planner.errors import PlannerError


class MissingKeyError(PlannerError):
    """A key of a run file that nobody gave: the message names the key and its flag.

    >>> str(MissingKeyError("hardware.count", "say how many accelerators"))
    'hardware.count (--count): nothing given: say how many accelerators'
    """

    def __init__(self, field: str, remedy: str) -> None:
        super().__init__(field, None, remedy)
        self.args = (f"{field} ({flag_of(field)}): nothing given: {remedy}",)

    def __reduce__(self) -> tuple[type, tuple[str, str]]:  # type: ignore[override]
        return type(self), (self.field, self.remedy)


def flag_of(field: str) -> str:
    """The flag of a dotted key.

    >>> flag_of("training.layout.tp")
    '--layout tp=..'
    """
    from planner.run.flags import run_keys  # which knows every section

    flags = {name: flag for name, flag, _ in run_keys()}
    path, _, last = field.rpartition(".")
    return flags[field] if field in flags else f"{flags[path]} {last}=.."
