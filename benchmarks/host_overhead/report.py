"""The committed result: medians over separate processes, with their spread."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.host_overhead.launches import launches
from benchmarks.host_overhead.parts import parts
from benchmarks.host_overhead.style import Style
from benchmarks.host_overhead.styles import STYLE_OF_STACK, STYLES
from benchmarks.host_overhead.timing import OPERATION, cost, run, towers

PATH = Path(__file__).parents[2] / "planner" / "engine" / "data" / "host_overhead.json"
COMMAND = "python -m benchmarks.host_overhead"
ROUNDS, PROCESSES = 16, 3
PASSES = ("forward", "backward", "recompute")


def measured(styles: tuple[Style, ...], rounds: int) -> dict[str, Any]:
    """One process's measurement: operations by style and pass, operations by part."""
    seconds = run({each.name: towers(each) for each in styles}, rounds)
    operation = float(seconds[OPERATION][0, 0])
    costs = {each.name: cost(seconds[each.name], operation) for each in styles}
    return {
        "operation_seconds": operation,
        "operation_backward": float(seconds[OPERATION][0, 1]) / operation,
        "styles": {
            name: {each: getattr(row, each) for each in PASSES} for name, row in costs.items()
        },
        "parts": {name: value / operation for name, value in parts().items()},
    }


def child() -> dict[str, Any]:
    """The measurement of a fresh process on one thread."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.host_overhead", "--once"]
    out = subprocess.run(
        command,
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    result: dict[str, Any] = json.loads(out.stdout.splitlines()[-1])
    return result


def table() -> dict[str, Any]:
    """Measures in PROCESSES processes and sums up."""
    runs = [child() for _ in range(PROCESSES)]
    operation = median(each["operation_seconds"] for each in runs)
    rows = {style.name: row(style, runs, operation) for style in STYLES}
    return {
        "schema": 1,
        "measured": datetime.now(UTC).date().isoformat(),
        "command": COMMAND,
        "unit": "one operation: the forward host time of a small operation under autograd, "
        "mean of 24 different ones",
        "machine": machine(),
        "runs": PROCESSES,
        "operation_spread": round(_spread([each["operation_seconds"] for each in runs]), 3),
        "operation_microseconds": round(operation * 1e6, 3),
        "operation_backward_ops": round(median(each["operation_backward"] for each in runs), 2),
        "styles": rows,
        "increments": increments(rows),
        "parts_ops": {
            name: round(median(each["parts"][name] for each in runs), 2)
            for name in runs[0]["parts"]
        },
        "stacks": STYLE_OF_STACK,
    }


def machine() -> dict[str, str]:
    """What it was measured on."""
    return {
        "cpu": processor(),
        "python": platform.python_version(),
        "torch": version("torch"),
        "transformers": version("transformers"),
    }


def processor() -> str:
    """The processor's name as the system gives it."""
    info = Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()


def row(style: Style, runs: list[dict[str, Any]], operation: float) -> dict[str, Any]:
    """One style: operations, microseconds, spread over the runs, launches."""
    result: dict[str, Any] = {"title": style.title, "synchronises": style.synchronises}
    for each in PASSES:
        values = [run["styles"][style.name][each] for run in runs]
        known = None not in values
        middle = median(values) if known else None
        result[f"{each}_ops"] = round(middle, 1) if known else None
        result[f"{each}_microseconds"] = round(middle * operation * 1e6, 1) if known else None
        result[f"{each}_spread"] = round(_spread(values), 3) if known else None
    return {**result, **launches(style)}


def _spread(values: list[float]) -> float:
    return (max(values) - min(values)) / median(values)


def increments(rows: dict[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """What each derived style adds to the one that it builds on, operations by pass."""
    result: dict[str, dict[str, Any]] = {}
    for style in STYLES:
        if style.base is None:
            continue
        pairs = {each: (rows[style.name][each], rows[style.base][each]) for each in _OPS}
        result[style.name] = {"base": style.base} | {
            each: None if None in pair else round(pair[0] - pair[1], 1)
            for each, pair in pairs.items()
        }
    return result


_OPS = tuple(f"{each}_ops" for each in PASSES)


def write(path: Path) -> dict[str, Any]:
    """Measures and writes the result."""
    result = table()
    path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    return result
