"""How fast training logs are read, and in how much memory.

`python -m benchmarks.log_reading [MEGABYTES]` writes a log of each format to a temporary folder,
reads it in a process of its own and prints megabytes per second (of the clock, and of the
processor: a busy machine slows the first) and peak resident memory.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

_READ = """
import resource, sys, time
from planner.scaling.logs import read_log
base = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
begin, cpu = time.perf_counter(), time.process_time()
log = read_log(sys.argv[1])
seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
points = next(iter(log.metrics.values())).num_points
print(points, seconds, cpu, (peak - base) / 1024, peak / 1024, sep="\\t")
"""


def _loss(step: int) -> float:
    return 3.0 + 2.0 / (1 + step / 1000)


def _megatron(step: int) -> str:
    return (
        f" iteration {step:8d}/  311541 | consumed samples: {step * 1024:12d} | elapsed time per "
        f"iteration (ms): 22306.6 | learning rate: 9.850E-05 | global batch size:  1024 | lm loss: "
        f"{_loss(step):.6E} | loss scale: 32768.0 | grad norm: 0.000 | number of skipped "
        "iterations:   0 | number of nan iterations:   0 |\n"
    )


FORMATS: dict[str, tuple[str, Callable[[int], str], float]] = {
    "llm.c, bare": ("", lambda s: f"s:{s} trl:{_loss(s):.6f}\n", 50),
    "llm.c": ("", lambda s: f"s:{s} trl:{_loss(s):.4f} lr:0.000600 norm:0.24\n", 50),
    "modded-nanoGPT": (
        "",
        lambda s: f"step:{s}/9 train_loss:{_loss(s):.4f} train_time:{s * 216}ms step_avg:216.3ms\n",
        50,
    ),
    "Megatron": ("", _megatron, 50),
    "nanoGPT": ("", lambda s: f"iter {s}: loss {_loss(s):.4f}, time 250.31ms, mfu 30.12%\n", 50),
    "JSON lines": (
        "",
        lambda s: f'{{"step": {s}, "loss": {_loss(s):.4f}, "lr": 0.0003, "elapsed": {s / 4}}}\n',
        50,
    ),
    "CSV": ("step,lr,loss\n", lambda s: f"{s},{3e-4 * (1 - s / 1e9)},{_loss(s):.4f}\n", 20),
}


def _write(path: Path, head: str, line: Callable[[int], str], size: float) -> None:
    with path.open("w") as file:
        written, step = file.write(head), 0
        while written < size:
            written += file.write("".join(map(line, range(step, step + 20_000))))
            step += 20_000


def main(megabytes: float) -> None:
    print(
        f"{'format':16} {'MB/s':>8} {'MB/CPU-s':>9} {'wanted':>7} {'points':>10} {'added MB':>9} "
        f"{'peak MB':>8}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name, (head, line, wanted) in FORMATS.items():
            path = Path(folder) / "log"
            _write(path, head, line, megabytes * 1e6)
            size = path.stat().st_size / 1e6
            done = subprocess.run(
                [sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True
            )
            points, seconds, cpu, added, peak = done.stdout.split("\t")
            print(
                f"{name:16} {size / float(seconds):8.1f} {size / float(cpu):9.1f} {wanted:>7g} "
                f"{int(points):>10,} {float(added):9.0f} {float(peak):8.0f}"
            )


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 100.0)
