"""Measurements of the shipped table, made once for all tests."""

from __future__ import annotations

import pytest

from planner.fidelity.validate import Measurements, gather, measure


@pytest.fixture(scope="session")
def measurements() -> Measurements:
    """The shipped table with every source left out; a minute where constants must be refitted."""
    return measure(gather())
