"""Whether the array result is the single-plan result: largest difference over random candidates.

`python -m benchmarks.search_agreement [N]` plans N random candidates one by one; 10,000 take
some minutes.
"""

from __future__ import annotations

import sys

import numpy as np

from planner.engine.constants import constants
from planner.planning.outline import outline
from planner.planning.scenario import scenario
from planner.run import Run
from planner.search.restrictions import restrictions
from planner.search.space import Space, space
from planner.search.trials import point_of

RUNS = {
    "llama-3-8b": {"hardware.sku": "h100-sxm5-80gb", "hardware.count": 64},
    "gpt3-175b": {"hardware.sku": "a100-sxm4-80gb", "hardware.count": 1024},
    "mixtral-8x7b": {"hardware.sku": "b200-sxm6-180gb", "hardware.count": 128},
    "deepseek-v3": {"hardware.sku": "h200-sxm5-141gb", "hardware.count": 512},
    "gpt2-xl": {"hardware.sku": "rtx-4090", "hardware.count": 8},
}
COMMON = {"data.tokens": 10**12, "data.seq_len": 2048, "training.global_batch": 1024}


def main() -> None:
    each_model = int(sys.argv[1] if len(sys.argv) > 1 else "1000") // len(RUNS)
    generator = np.random.default_rng(0)
    print(f"{'model':<14} {'candidates':>10} {'time':>9} {'memory':>9} {'cost':>9} {'energy':>9}")
    for model, machine in RUNS.items():
        found = space(Run(model=model).changed(COMMON | machine), restrictions())
        worst = np.zeros(4)
        for _ in range(each_model):
            number = int(generator.integers(len(found.groups)))
            index = int(generator.integers(found.groups[number].table.size))
            worst = np.maximum(worst, _difference(found, number, index))
        shown = " ".join(f"{value:>9.1e}" for value in worst)
        print(f"{model:<14} {each_model:>10,} {shown}", flush=True)


def _difference(
    found: Space, number: int, index: int
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Relative differences of time, memory, cost and energy."""
    group = found.groups[number]
    point = point_of(found, (number, index), constants())
    bones = outline(scenario(group.run(index, point.mode), model=group.scenario.model))
    pairs = (
        (point.seconds, bones.run.seconds),
        (point.ratio, bones.peak_bytes / bones.capacity_bytes),
        (point.usd, bones.cost.usd),
        (point.kwh, bones.energy.kwh),
    )
    return np.array([0.0 if a is None or b is None else abs(a / b - 1) for a, b in pairs])


if __name__ == "__main__":
    main()
