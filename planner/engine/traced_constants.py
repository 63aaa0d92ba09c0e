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

    convolution_rate: float  # in 16 bits and TF32, against the large products of transformers
    convolution_rate_fp32: float  # the same in FP32, where Winograd's algorithm saves products
    channels_first_traffic: float  # factor on a convolution's bytes: tensor cores want the
    # channels last, so its images are turned on the way in and out
    norm_traffic: float  # factor on the counted bytes of norms


@cache
def traced_constants() -> TracedConstants:
    """The shipped constants."""
    table = json.loads(FILE.read_text(encoding="utf-8"))["constants"]
    return TracedConstants(**{name: float(value) for name, value in table.items()})
