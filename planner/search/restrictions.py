"""What the user fixes, forbids, bounds or adds to the values that a search tries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from planner.errors import PlannerError
from planner.search.axes import Axis, Value, axis

KEEP = "as the run says"  # value of `--fix NAME` without one


@dataclass(frozen=True, slots=True, kw_only=True)
class Restrictions:
    """By axis name; a bound is (lowest, highest), None = open."""

    fixed: Mapping[str, Value] = field(default_factory=dict)
    forbidden: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)
    bounds: Mapping[str, tuple[float | None, float | None]] = field(default_factory=dict)
    tried: Mapping[str, tuple[Value, ...]] = field(default_factory=dict)  # instead of the usual

    def __post_init__(self) -> None:
        for name, value in self.fixed.items():
            self._check_fixed(name, value)

    def _check_fixed(self, name: str, value: Value) -> None:
        if name in self.tried:
            raise PlannerError("--fix", f"{name}={value}", f"conflicts with --try {name}: keep one")
        if value in self.forbidden.get(name, ()):
            raise PlannerError("--fix", f"{name}={value}", "is forbidden too: keep one of the two")
        if value != KEEP and not self._inside(name, value):
            bound = show_bound(self.bounds[name])
            raise PlannerError("--fix", f"{name}={value}", f"lies outside --bound {name}={bound}")

    def says(self, name: str) -> bool:
        """Whether anything is said of an axis."""
        return any(name in part for part in (self.fixed, self.forbidden, self.bounds, self.tried))

    def allows(self, name: str, value: Value) -> bool:
        """Whether bounds and bans let a value pass."""
        return value not in self.forbidden.get(name, ()) and self._inside(name, value)

    def kept(self, name: str, usual: Sequence[Value]) -> list[Value]:
        """The values to try of an axis, `usual` unless told otherwise. PlannerError for none."""
        fixed = self.fixed.get(name)
        if fixed is not None and fixed != KEEP:
            return [fixed]
        values = list(self.tried.get(name, usual))
        left = [value for value in values if self.allows(name, value)]
        if not left:
            flag = "--bound" if name in self.bounds else "--forbid"
            listed = ", ".join(map(str, values)) or "none"
            raise PlannerError(flag, name, f"leaves no value of {name}: it could be {listed}")
        return left

    def _inside(self, name: str, value: Value) -> bool:
        low, high = self.bounds.get(name, (None, None))
        if isinstance(value, str):
            return True
        return (low is None or value >= low) and (high is None or value <= high)


def restrictions(
    *,
    fix: Sequence[str] = (),
    forbid: Sequence[str] = (),
    bound: Sequence[str] = (),
    tries: Sequence[str] = (),
) -> Restrictions:
    """From the words of the command line. Raises PlannerError.

    >>> made = restrictions(fix=["tp=8"], forbid=["precision=fp8,fp16"], bound=["pp=1..4"])
    >>> made.fixed, made.bounds
    ({'tp': 8}, {'pp': (1, 4)})
    """
    return Restrictions(
        fixed=_fixed(fix),
        forbidden={which.name: values for which, values in _lists("--forbid", forbid)},
        bounds=_bounds(bound),
        tried={which.name: values for which, values in _lists("--try", tries)},
    )


def _fixed(words: Sequence[str]) -> dict[str, Value]:
    found: dict[str, Value] = {}
    for word in words:
        name, given, text = word.partition("=")
        which = axis("--fix", name)
        value = which.read(f"--fix {which.name}", text) if given else KEEP
        if found.get(which.name, value) != value:
            raise PlannerError("--fix", word, f"{which.name} is fixed twice: keep one")
        found[which.name] = value
    return found


def _lists(flag: str, words: Sequence[str]) -> list[tuple[Axis, tuple[Value, ...]]]:
    found: dict[str, tuple[Axis, tuple[Value, ...]]] = {}
    for word in words:
        name, given, text = word.partition("=")
        which = axis(flag, name)
        if not given or not text.strip():
            raise PlannerError(flag, word, f"write NAME=VALUE,.. such as {_example(which)}")
        before = found.get(which.name, (which, ()))[1]
        found[which.name] = (which, tuple(dict.fromkeys((*before, *_values(flag, which, text)))))
    return list(found.values())


def _values(flag: str, which: Axis, text: str) -> tuple[Value, ...]:
    if flag == "--try" and text.strip().lower() == "all" and which.words:
        return which.words
    parts = [part for part in text.split(",") if part.strip()]
    return tuple(which.read(f"{flag} {which.name}", part) for part in parts)


def _bounds(words: Sequence[str]) -> dict[str, tuple[float | None, float | None]]:
    found: dict[str, tuple[float | None, float | None]] = {}
    for word in words:
        name, given, text = word.partition("=")
        which = axis("--bound", name)
        low_text, dots, high_text = text.partition("..")
        if not given or not dots or not which.bounded or not (low_text or high_text).strip():
            remedy = "write NAME=LOW..HIGH of a number, such as tp=1..8 or pp=..4"
            raise PlannerError("--bound", word, remedy)
        low, high = (
            float(which.read(f"--bound {which.name}", part)) if part.strip() else None
            for part in (low_text, high_text)
        )
        if low is not None and high is not None and low > high:
            raise PlannerError("--bound", word, "the lower bound is above the upper one")
        if which.name in found:
            raise PlannerError("--bound", word, f"{which.name} is bounded twice: keep one")
        found[which.name] = (_whole(low), _whole(high))
    return found


def _whole(value: float | None) -> float | None:
    return int(value) if value is not None and value.is_integer() else value


def _example(which: Axis) -> str:
    return f"{which.name}={which.words[0]}" if which.words else f"{which.name}=8,16"


def show_bound(bound: tuple[float | None, float | None]) -> str:
    """
    >>> show_bound((None, 4))
    '..4'
    """
    return "..".join("" if each is None else f"{each:g}" for each in bound)
