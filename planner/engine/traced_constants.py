"""The constants that only traced modules need, read from one data file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

FILE = Path(__file__).parent / "data" / "traced.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedConstants:
    """Numbers that measurements decide; their origin: `data/traced.json`."""

    product_rate: float  # convolutions against the large products of transformers


@cache
def traced_constants() -> TracedConstants:
    """The shipped constants."""
    return TracedConstants(**json.loads(FILE.read_text(encoding="utf-8")))
