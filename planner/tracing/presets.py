"""The operation tables that ship as presets: `python -m planner.tracing.presets` makes them again.

A module of our own, traced by our own tracer; a test traces it again and compares.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[1] / "models" / "presets" / "traced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """A module of this package that becomes a table."""

    module: str  # file:function, beside this file
    input_shape: tuple[int, ...]
    source: str


PRESETS = {
    "resnet-50": Preset(
        module="resnet.py:resnet50",
        input_shape=(3, 224, 224),
        source="He et al. 2015, Deep Residual Learning for Image Recognition, table 1; v1.5",
    )
}


def table_of(
    preset: Preset, formats: Sequence[str], recomputes: Sequence[str] = ("none", "full")
) -> dict[str, Any]:
    """A fresh trace, packed as the stored ones are."""
    from planner.models.traced import packed
    from planner.search.module_file import subject
    from planner.tracing.child import table

    place = Path(__file__).parent / preset.module
    return packed(table(subject(str(place), preset.input_shape), formats, recomputes))


def main() -> int:
    """Trace every preset and store its table."""
    from planner.models.traced import FORMATS

    FOLDER.mkdir(exist_ok=True)
    for name, preset in PRESETS.items():
        about = {
            "source": preset.source,
            "module": f"planner/tracing/{preset.module}",
            "input_shape": preset.input_shape,
        }
        text = json.dumps({**about, **table_of(preset, FORMATS)}, separators=(",", ":"))
        (FOLDER / f"{name}.json").write_text(_lines(text) + "\n", encoding="utf-8")
    return 0


def _lines(text: str) -> str:
    """One operation a line, so that a change shows."""
    return text.replace('],["', '],\n["').replace(',"rows":[[', ',"rows":[\n[')


if __name__ == "__main__":
    sys.exit(main())
