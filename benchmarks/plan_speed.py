"""How fast planning is: a cold command, a plan in process, candidates a second of the engine.

    python -m benchmarks.plan_speed

A cold command is compared with an interpreter that only imports NumPy, both at their best of
several starts in turn, so that a busy machine and the disk's first read do not count. Both run from
compiled bytecode, as an installed package does, also where the environment forbids to write it.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import numpy as np

from planner.engine.constants import constants
from planner.engine.evaluate import evaluate
from planner.planning.advice import advice_of
from planner.planning.candidates import candidates
from planner.planning.outline import outline
from planner.planning.plan import plan
from planner.planning.scenario import scenario
from planner.run import Run

EXAMPLE = Path(__file__).resolve().parents[1] / "examples" / "llama-3-8b.yaml"
STARTS, CALLS, CHUNK = 9, 400, 20_000
FORBIDS_BYTECODE = "PYTHONDONTWRITEBYTECODE"
MOST_COLD, MOST_MILLISECONDS, LEAST_PER_SECOND = 3.5, 2.0, 200_000


def main() -> None:
    """Print each figure beside its target."""
    run = Run.from_yaml(EXAMPLE)
    is_open = run.changed({"training.layout": "auto", "training.micro_batch": "auto"})
    plain = ("-m", "planner.cli", "plan", str(EXAMPLE))
    numpy_only, cold, quick = starts(("-c", "import numpy"), plain, (*plain, "--no-advice"))
    print(f"import numpy             {numpy_only * 1e3:8.0f} ms")
    print(
        f"forerun plan             {cold * 1e3:8.0f} ms   {cold / numpy_only:.2f} x"
        f" (target {MOST_COLD})"
    )
    print(f"forerun plan --no-advice {quick * 1e3:8.0f} ms   {quick / numpy_only:.2f} x")
    decided = best(lambda: plan(run))
    print(f"plan(run), decided       {decided * 1e3:8.2f} ms   (target {MOST_MILLISECONDS})")
    print(f"plan(run), layout open   {best(lambda: plan(is_open), 20) * 1e3:8.2f} ms")
    bones = outline(scenario(run))
    print(f"advice                   {best(lambda: advice_of(bones), 5) * 1e3:8.2f} ms")
    print(
        f"candidates a second      {candidates_per_second(is_open):8,.0f}"
        f"      (target {LEAST_PER_SECOND:,})"
    )


def starts(*commands: tuple[str, ...]) -> list[float]:
    """Best wall time of a fresh interpreter for each command, taken in turn, seconds."""
    with tempfile.TemporaryDirectory() as compiled:
        kept = {name: text for name, text in os.environ.items() if name != FORBIDS_BYTECODE}
        environment = kept | {"PYTHONPYCACHEPREFIX": compiled}
        spent = [[_start(words, environment) for words in commands] for _ in range(STARTS + 1)]
    return [min(times) for times in zip(*spent[1:], strict=True)]  # the first one compiles


def _start(words: tuple[str, ...], environment: dict[str, str]) -> float:
    begun = time.perf_counter()
    subprocess.run([sys.executable, *words], capture_output=True, check=True, env=environment)
    return time.perf_counter() - begun


def best(call: Callable[[], object], times: int = CALLS) -> float:
    """Least wall time of several calls, seconds."""
    call()
    spent = []
    for _ in range(times):
        begun = time.perf_counter()
        call()
        spent.append(time.perf_counter() - begun)
    return min(spent)


def candidates_per_second(run: Run) -> float:
    """Time and memory of a chunk of candidates that differ in layout, batch and sharding."""
    pool = candidates(scenario(run)).batch
    arrays = {item.name: getattr(pool.parallel, item.name) for item in fields(pool.parallel)}
    many = {name: np.resize(each, CHUNK) for name, each in arrays.items() if each.size > 1}
    chunk = pool.vary(CHUNK, **many)
    seconds = best(lambda: evaluate(chunk, constants()), 10)
    return CHUNK / seconds


if __name__ == "__main__":
    main()
