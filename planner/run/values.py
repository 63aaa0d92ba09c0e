"""Readers of single values of a run file: words, lists, paths, numbers, each with its error."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.errors import PlannerError, nearest
from planner.quantities import Kind, read, read_whole

_LONGEST_WORD = 1000  # characters
_YES = frozenset({"true", "yes", "on", "1"})
_NO = frozenset({"false", "no", "off", "0"})
_AUTO = "auto"


def amount(kind: Kind) -> Callable[[str, object], float]:
    """A quantity of a kind."""
    return lambda field, value: read(kind, field, value)


def whole(kind: Kind, *, most: int | None = None) -> Callable[[str, object], int]:
    """A whole number of things, at most `most`."""

    def reader(field: str, value: object) -> int:
        number = read_whole(kind, field, value)
        if most is not None and number > most:
            raise PlannerError(field, value, f"not believable: at most {most:,}")
        return number

    return reader


def or_auto(reader: Callable[[str, object], Any]) -> Callable[[str, object], Any]:
    """As `reader`, but `auto` is None: left to the planner."""

    def auto_reader(field: str, value: object) -> Any:
        return None if is_auto(value) else reader(field, value)

    return auto_reader


def is_auto(value: object) -> bool:
    return isinstance(value, str) and value.strip().lower() == _AUTO


def word(field: str, value: object) -> str:
    """A name or a path: one line of text."""
    if not isinstance(value, str) or not value.strip():
        raise PlannerError(field, value, "write a name")
    text = value.strip()
    if len(text) > _LONGEST_WORD or not text.isprintable():
        raise PlannerError(field, value, "write a name on one line, without control characters")
    return text


def one_of(words: Sequence[str], aliases: Mapping[str, str] | None = None) -> Callable[..., str]:
    """One of the known words, in any case; no and false mean `none` where that is a word."""

    def reader(field: str, value: object) -> str:
        given = _as_word(value, "none" in words)
        if given is None:
            raise PlannerError(field, value, f"write one of {', '.join(words)}")
        given = (aliases or {}).get(given, given)
        if given in words:
            return given
        near = nearest(given, [*words, *(aliases or {})], count=1)
        guess = f"did you mean {near[0]}? " if near else ""
        raise PlannerError(field, value, f"{guess}known are {', '.join(words)}")

    return reader


def _as_word(value: object, has_none: bool) -> str | None:
    if value is False and has_none:
        return "none"
    if not isinstance(value, str):
        return None
    given = value.strip().lower().replace("_", "-")
    return "none" if given in _NO and has_none else given


def yes_or_no(field: str, value: object) -> bool:
    """A truth value in any of YAML's words."""
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else ""
    if text not in _YES | _NO:
        raise PlannerError(field, value, "write true, false or auto")
    return text in _YES


def words_list(field: str, value: object) -> tuple[str, ...]:
    """Several names: a list, or words with commas between them."""
    return tuple(word(field, item) for item in _items(field, value))


def shape(field: str, value: object) -> tuple[int, ...]:
    """The dimensions of one sample, such as [3, 224, 224] or 3,224,224."""
    from planner.quantities import COUNT

    items = _items(field, value)
    if not 1 <= len(items) <= 8:
        raise PlannerError(field, value, "write 1 to 8 dimensions, such as [3, 224, 224]")
    return tuple(read_whole(COUNT, field, item) for item in items)


def _items(field: str, value: object) -> list[object]:
    if isinstance(value, str):
        inner = value.strip().removeprefix("[").removesuffix("]")
        return [item.strip() for item in inner.split(",") if item.strip()]
    if isinstance(value, list | tuple):
        return list(value)
    raise PlannerError(field, value, "write a list, such as [a, b] or a,b")


def pairs(field: str, value: object) -> dict[str, object]:
    """A mapping, or `tp=8,pp=2` as a flag gives it."""
    if isinstance(value, Mapping):
        return dict(value)
    if not isinstance(value, str):
        raise PlannerError(field, value, "write a mapping, such as tp=8,pp=2")
    found: dict[str, object] = {}
    for item in filter(None, value.strip().strip("{}").split(",")):
        name, given, text = item.replace(":", "=", 1).partition("=")
        if not given or not name.strip():
            raise PlannerError(field, value, "write name=value pairs, such as tp=8,pp=2")
        if name.strip() in found:
            raise PlannerError(field, value, f"{name.strip()} is given twice: keep one")
        found[name.strip()] = text.strip()
    return found
