"""The examples in the docstrings of the application hold."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest

UI = Path(__file__).parents[2] / "ui"
MODULES = [
    ".".join(("ui", *path.relative_to(UI).with_suffix("").parts))
    for path in sorted(UI.rglob("*.py"))
    if path.parent.name != "pages" and path.name != "__init__.py"
]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name: str) -> None:
    assert doctest.testmod(import_module(name)).failed == 0
