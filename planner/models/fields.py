"""Reading one config: every value checked, every refusal names its key."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from planner.errors import PlannerError, nearest

MAX_LAYERS = 10_000
MAX_WIDTH = 2**24  # elements of one dimension: widths, vocabulary, experts
MAX_TOKENS = 2**31  # tokens of a sequence

_STATED = "the config does not state it and no default is safe"


class Fields:
    """The keys of a model config, read by name with their older names as alternatives.

    `name` is what errors call the config: a preset id or a path.
    """

    def __init__(self, values: Mapping[str, object], *, name: str) -> None:
        self._values = values
        self.name = name
        self.warnings: list[str] = []

    def __contains__(self, key: str) -> bool:
        return self._values.get(key) is not None

    def warn(self, message: str) -> None:
        if message not in self.warnings:
            self.warnings.append(message)

    def error(self, key: str, value: object, remedy: str) -> PlannerError:
        return PlannerError(f"{self.name}: {key}", value, remedy)

    def count(self, *keys: str, maximum: int = MAX_WIDTH) -> int:
        """A whole number from 1 on that the config must state under one of `keys`."""
        found = self.optional(*keys, maximum=maximum)
        if found is None:
            raise self._missing(keys)
        return found

    def optional(self, *keys: str, minimum: int = 1, maximum: int = MAX_WIDTH) -> int | None:
        """As `count`, but None where the config says nothing or null."""
        key = self._stated(keys)
        if key is None:
            return None
        value = self._values[key]
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, value, "must be a whole number")
        if not minimum <= value <= maximum:
            raise self.error(key, value, f"must lie between {minimum} and {maximum}")
        return value

    def layers(self, *keys: str) -> int:
        return self.count(*keys, maximum=MAX_LAYERS)

    def flag(self, key: str, *, absent: bool) -> bool:
        """True or false; `absent` is what the architecture does when the key is left out."""
        value = self._values.get(key)
        if value is None:
            return absent
        if not isinstance(value, bool):
            raise self.error(key, value, "must be true or false")
        return value

    def word(self, key: str, words: Iterable[str] | None = None) -> str | None:
        """A text, one of `words` when given; None where the config says nothing."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, str):
            raise self.error(key, value, "must be a text")
        if words is not None and value not in words:
            raise self.error(key, value, f"must be one of {', '.join(words)}")
        return value

    def items(self, key: str) -> tuple[object, ...] | None:
        """A list; None where the config says nothing."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.error(key, value, "must be a list")
        return tuple(value)

    def table(self, key: str) -> Mapping[str, object] | None:
        """A nested object; None where the config says nothing."""
        value = self._values.get(key)
        if value is None:
            return None
        if not isinstance(value, Mapping):
            raise self.error(key, value, "must be an object")
        return value

    def divided(self, whole: int, whole_key: str, parts: int, parts_key: str) -> int:
        """`whole` / `parts`, which must come out even."""
        if whole % parts:
            raise self.error(
                parts_key, parts, f"does not divide {whole_key} {whole}; state head_dim if it may"
            )
        return whole // parts

    def _stated(self, keys: tuple[str, ...]) -> str | None:
        """The first of `keys` that the config states; two that disagree are refused."""
        stated = [key for key in keys if self._values.get(key) is not None]
        if not stated:
            return None
        value = self._values[stated[0]]
        for other in stated[1:]:
            if self._values[other] != value:
                raise self.error(other, self._values[other], f"disagrees with {stated[0]} {value}")
        return stated[0]

    def _missing(self, keys: tuple[str, ...]) -> PlannerError:
        near = [key for key in nearest(keys[0], map(str, self._values)) if key not in keys]
        hint = f"; nearest keys there: {', '.join(near)}" if near else ""
        return self.error(keys[0], None, f"{_STATED}; add it{hint}")
