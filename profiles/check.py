"""Is a parsed JSON file a profile? Every field by name, type and range; nothing is executed."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from profiles.errors import ProfileError
from profiles.links import follows_shape
from profiles.result import SCHEMA, Profile, Result

MOST_RESULTS = 20_000
LONGEST_TEXT = 2_000  # characters
_LARGEST = 1e24  # of any number in a profile


class _Reader:
    """Reads the fields of one object and says where something is wrong."""

    def __init__(self, where: str, found: object) -> None:
        if not isinstance(found, dict):
            raise ProfileError(where, _kind(found), "must be an object")
        self.where = where
        self.found: dict[str, Any] = found

    def get(self, name: str, read: Callable[[str, Any], Any], *, default: Any = ...) -> Any:
        path = f"{self.where}.{name}"
        if name not in self.found:
            if default is ...:
                raise ProfileError(path, None, "missing: the profile is incomplete or damaged")
            return default
        return read(path, self.found[name])


def profile_of(found: object) -> Profile:
    """The profile in a parsed JSON value. Raises ProfileError naming the field that is wrong."""
    reader = _Reader("profile", found)
    schema = reader.get("schema", _text)
    if schema != SCHEMA:
        raise ProfileError("profile.schema", schema, f"this version reads {SCHEMA}: measure again")
    results = reader.get("results", _list)
    if len(results) > MOST_RESULTS:
        raise ProfileError("profile.results", len(results), f"at most {MOST_RESULTS}")
    return Profile(
        schema=schema,
        created=reader.get("created", _text),
        complete=reader.get("complete", _truth, default=True),
        preset=reader.get("preset", _text, default=""),
        environment=reader.get("environment", _facts),
        device=_device(reader),
        results=tuple(_result(i, each) for i, each in enumerate(results)),
        findings=reader.get("findings", _texts, default=()),
        warnings=reader.get("warnings", _texts, default=()),
    )


def _device(reader: _Reader) -> Mapping[str, Any]:
    device: dict[str, Any] = reader.get("device", _facts)
    inner = _Reader("profile.device", device)
    inner.get("name", _text)
    inner.get("kind", _text, default=None)
    inner.get("sku_id", _maybe(_text))
    inner.get("memory_bytes", _maybe(_number))
    return device


def _result(index: int, found: object) -> Result:
    reader = _Reader(f"profile.results[{index}]", found)
    median = reader.get("median_s", _maybe(_positive))
    kernel, shape = reader.get("kernel", _text), reader.get("shape", _shape)
    moved = reader.get("bytes", _number)
    if median is not None and not follows_shape(kernel, shape, moved):
        remedy = f"not the traffic of {kernel} of that shape: the profile is damaged"
        raise ProfileError(f"{reader.where}.bytes", moved, remedy)
    return Result(
        kernel=kernel,
        format=reader.get("format", _text),
        shape=shape,
        mode=reader.get("mode", _mode),
        median_s=median,
        iqr_s=reader.get("iqr_s", _maybe(_number)),
        n=int(reader.get("n", _number)),
        flops=reader.get("flops", _number),
        bytes=moved,
        energy_j=reader.get("energy_j", _maybe(_positive), default=None),
        flags=reader.get("flags", _texts, default=()),
        unsynchronised_s=reader.get("unsynchronised_s", _maybe(_number), default=None),
        error=reader.get("error", _maybe(_number), default=None),
        estimate_s=reader.get("estimate_s", _maybe(_number), default=None),
        reason=reader.get("reason", _maybe(_text), default=None),
        state=reader.get("state", _object, default={}),
    )


def _kind(found: object) -> str:
    return "null" if found is None else type(found).__name__


def _text(path: str, found: Any) -> str:
    if not isinstance(found, str) or len(found) > LONGEST_TEXT or not found.isprintable():
        raise ProfileError(path, found, "must be a printable text")
    return found


def _number(path: str, found: Any) -> float:
    if isinstance(found, bool) or not isinstance(found, int | float):
        raise ProfileError(path, found, "must be a number")
    if not (0 <= found <= _LARGEST) or not math.isfinite(found):
        raise ProfileError(path, found, "must be a finite number, not below zero")
    return float(found)


def _positive(path: str, found: Any) -> float:
    value = _number(path, found)
    if value == 0:
        raise ProfileError(path, found, "must be above zero (unknown is null)")
    return value


def _truth(path: str, found: Any) -> bool:
    if not isinstance(found, bool):
        raise ProfileError(path, found, "must be true or false")
    return found


def _mode(path: str, found: Any) -> str:
    if found not in ("cold", "steady"):
        raise ProfileError(path, found, "must be cold or steady")
    return str(found)


def _list(path: str, found: Any) -> list[Any]:
    if not isinstance(found, list):
        raise ProfileError(path, _kind(found), "must be a list")
    return found


def _texts(path: str, found: Any) -> tuple[str, ...]:
    return tuple(_text(f"{path}[{i}]", each) for i, each in enumerate(_list(path, found)))


def _object(path: str, found: Any) -> dict[str, Any]:
    return _Reader(path, found).found


def _facts(path: str, found: Any) -> dict[str, Any]:
    """An object whose texts may be shown, however deep they lie."""
    facts = _object(path, found)
    for name, each in facts.items():
        _text(path, name)
        _fact(f"{path}.{name}", each)
    return facts


def _fact(path: str, found: Any) -> None:
    if isinstance(found, dict):
        _facts(path, found)
    elif isinstance(found, list):
        for i, each in enumerate(found):
            _fact(f"{path}[{i}]", each)
    elif isinstance(found, str):
        _text(path, found)


def _shape(path: str, found: Any) -> dict[str, int | str]:
    sizes = _object(path, found)
    for name, size in sizes.items():
        whole = isinstance(size, int) and not isinstance(size, bool) and 0 <= size < 2**62
        if not whole and not (isinstance(size, str) and len(size) < 40 and size.isprintable()):
            raise ProfileError(f"{path}.{name}", size, "must be a whole number or a word")
    return sizes


def _maybe(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda path, found: None if found is None else read(path, found)
