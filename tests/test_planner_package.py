"""What `import planner` promises."""

from __future__ import annotations

import subprocess
import sys

import pytest

import planner

HEAVY = ["torch", "streamlit", "pynvml", "optuna", "scipy", "pandas", "plotly", "sqlalchemy"]


@pytest.mark.parametrize("name", planner.__all__)
def test_every_public_name_can_be_imported(name: str) -> None:
    assert getattr(planner, name).__name__ == name
    assert name in dir(planner)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Plam"):
        planner.Plam  # noqa: B018 - the access is the test


@pytest.mark.parametrize("statement", ["import planner", "from planner import Run; Run()"])
def test_importing_brings_nothing_heavy(statement: str) -> None:
    script = f"import sys; {statement}; sys.exit(' '.join(set({HEAVY}) & set(sys.modules)) or None)"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
