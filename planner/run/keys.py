"""Keys of a run file: each field of a section carries how its value is read and what it means.

A field's metadata holds a `Key`; the flags, the errors, the help and the conversion to and from
mappings all come from it, so a key is described once.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

from planner.errors import PlannerError, nearest

_NOTHING = frozenset({"", "null", "~"})


class Section(Protocol):
    """A frozen dataclass whose fields were declared with `key`, under the dotted name `PATH`."""

    PATH: str
    __dataclass_fields__: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Key:
    """How one key of a run file is read."""

    read: Callable[[str, object], Any]  # dotted name and given value to the field's value
    help: str
    flag: str | None  # None: a section of its own, given by its keys
    metavar: str


def key(
    read: Callable[[str, object], Any],
    help: str,
    *,
    default: Any = None,
    flag: str | None = "",
    metavar: str = "X",
) -> Any:
    """Declare a field; `flag` is the field's own name in dashes unless another is given."""
    return dataclasses.field(
        default=default,
        metadata={"key": Key(read=read, help=help, flag=flag, metavar=metavar)},
    )


@cache
def keys_of(section: type) -> dict[str, Key]:
    """The keys of a section, in the order of the file."""
    return {field.name: field.metadata["key"] for field in dataclasses.fields(section)}


def read_fields(section: Any) -> None:
    """Replace each field of a new section by its value as read; absent ones keep their default.

    Called from `__post_init__`. Reading a value that was read before changes nothing, so
    `dataclasses.replace` is safe.
    """
    for field in dataclasses.fields(section):
        value = getattr(section, field.name)
        if is_nothing(value):
            value = field.default
        if value is not None:
            value = field.metadata["key"].read(dotted(section.PATH, field.name), value)
        object.__setattr__(section, field.name, value)


def is_nothing(value: object) -> bool:
    """Whether a file says nothing for a key: null, ~ or an empty value."""
    return value is None or (isinstance(value, str) and value.strip().lower() in _NOTHING)


def dotted(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def section_from(section: type, path: str, value: object) -> Any:
    """Build a section from a mapping, refusing keys it does not have."""
    if isinstance(value, section):
        return value
    if not isinstance(value, Mapping):
        known = ", ".join(keys_of(section))
        raise PlannerError(path, value, f"write a mapping with the keys {known}")
    for name in value:
        if name not in keys_of(section):
            raise PlannerError(dotted(path, str(name)), value[name], unknown_key(section, name))
    return section(**value)


def unknown_key(section: Any, name: object) -> str:
    """The remedy for a key that a section does not have."""
    from planner.run.flags import run_keys

    word = str(name).replace("-", "_").lower()
    known = list(keys_of(section))
    elsewhere = [other for other, _, _ in run_keys() if other.rpartition(".")[2] == word]
    if elsewhere:
        return f"unknown key here: did you mean {elsewhere[0]}?"
    near = nearest(word, known, count=1)
    guess = f"did you mean {dotted(section.PATH, near[0])}?" if near else ""
    return f"unknown key: {guess or 'known are ' + ', '.join(known)}"


def section_mapping(section: Any) -> dict[str, Any]:
    """A section as plain words and numbers, which `section_from` reads back to an equal section."""
    return {
        field.name: _plain(getattr(section, field.name)) for field in dataclasses.fields(section)
    }


def _plain(value: Any) -> Any:
    if dataclasses.is_dataclass(value):
        written = getattr(value, "written", None)
        return written() if written else section_mapping(value)
    return list(value) if isinstance(value, tuple) else value
