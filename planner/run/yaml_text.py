"""Read YAML as plain text in nested mappings: no tags, no aliases, no guessed types.

YAML 1.1 would turn `no` into a boolean and leave `1e12` a string; here every scalar stays the text
that was written, and the run file's keys read it as the word or quantity they expect.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

import yaml

from planner.errors import PlannerError
from planner.named_file import opened

MOST_BYTES = 256 * 1024
_DEEPEST = 12
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in ("str", "seq", "map"))


def read_yaml(path: str | Path) -> dict[str, Any]:
    """The mapping that a YAML file holds, all scalars as text. Raises PlannerError."""
    name = str(path)
    try:
        with opened(path) as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PlannerError("run file", name, f"cannot be read: {reason}") from None
    if len(raw) > MOST_BYTES:
        raise PlannerError(
            "run file", name, f"larger than {MOST_BYTES // 1024} KiB: name a run file"
        )
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise PlannerError("run file", name, "not UTF-8 text: name a run file") from None
    return parse_yaml(text, name)


def parse_yaml(text: str, name: str = "run file") -> dict[str, Any]:
    """The mapping in a YAML text; `name` is the file's, for errors.

    >>> parse_yaml("price: {region: no}")
    {'price': {'region': 'no'}}
    """
    try:
        loader = _PlainLoader(text)
        node = loader.get_single_node()
        value = _value(node) if node is not None else None
    except yaml.MarkedYAMLError as error:
        raise _wrong(error, text, name) from None
    except yaml.YAMLError as error:
        raise PlannerError(name, text[:40], f"not YAML: {_first_line(error)}") from None
    except (ValueError, OverflowError):  # of an escape that no character has, as \U00110000
        raise PlannerError(name, text[:40], "not YAML: an escape names no character") from None
    if not isinstance(value, dict):
        raise PlannerError(name, text[:40], "write a mapping of keys such as model, data, hardware")
    return value


class _PlainLoader(yaml.BaseLoader):
    """Composes nodes, refusing references and deep nesting before they cost anything."""

    _depth = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if getattr(event, "anchor", None):
            _refuse(event.start_mark, "anchors and aliases are not read: write the value out")
        if self._depth >= _DEEPEST:
            _refuse(event.start_mark, f"nested deeper than {_DEEPEST} levels")
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        return node


def _refuse(mark: yaml.Mark, problem: str) -> NoReturn:
    raise yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _wrong(error: yaml.MarkedYAMLError, text: str, name: str) -> PlannerError:
    """The error as a person reads it: the file, the line, what stands there, what is wrong."""
    mark = error.problem_mark or error.context_mark
    number = mark.line if mark else 0
    lines = text.splitlines() or [""]
    line = lines[min(number, len(lines) - 1)].strip()
    return PlannerError(f"{name} line {number + 1}", line, _first_line(error))


def _value(node: yaml.Node) -> Any:
    if node.tag not in _PLAIN_TAGS:
        _refuse(node.start_mark, "tags are not read: write plain text")
    if isinstance(node, yaml.MappingNode):
        return _mapping(node)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item) for item in node.value]
    return node.value


def _mapping(node: yaml.MappingNode) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key_node, value_node in node.value:
        if not isinstance(key_node, yaml.ScalarNode):
            _refuse(key_node.start_mark, "a key must be a word")
        key = _value(key_node)
        if not key.strip() or not key.isprintable():
            _refuse(key_node.start_mark, "a key must be a word")
        if key in found:
            _refuse(key_node.start_mark, f"the key {key} is given twice: keep one")
        found[key] = _value(value_node)
    return found


def _first_line(error: yaml.YAMLError) -> str:
    problem = getattr(error, "problem", None) or getattr(error, "reason", None) or str(error)
    return str(problem).splitlines()[0]
