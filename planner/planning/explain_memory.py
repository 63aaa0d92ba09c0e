"""Memory with its numbers put in: bytes per parameter, what is divided, what stays."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from planner.engine.weights import stage_weights
from planner.planning.outline import Outline, named_parts
from planner.quantities import show_bytes, show_count

_TRAINED = (
    ("weights", "weight_bytes"),
    ("gradients", "grad_bytes"),
    ("master_weights", "master_bytes"),
    ("moments", "moment_bytes"),
)
_MEANINGS = {
    "frozen": "base weights under the adapters",
    "gathered": "parameters gathered or cast for compute",
    "buffers": "of gradient communication",
    "activations": "what the forward pass keeps for the backward pass",
    "logits": "logits, their FP32 copies and gradients",
    "working": "temporaries of the backward pass or of the optimizer step",
    "reserve": "what the allocator holds beyond what it hands out",
    "context": "driver context, libraries and communicators",
}


def memory_lines(bones: Outline) -> Iterator[str]:
    """States per parameter, then the other parts of the peak, then the capacity."""
    parts = named_parts(bones.choice.evaluation.memory, bones.choice.index)
    yield from _states(bones, parts)
    for name, meaning in _MEANINGS.items():
        if parts.get(name):
            yield f"{name}: {show_bytes(parts[name])}: {meaning}"
    part = bones.scenario.accelerator
    basis = f" ({part.usable_basis})" if part.usable_basis else ""
    yield (
        f"sum {show_bytes(bones.peak_bytes)} of {show_bytes(bones.capacity_bytes)} usable"
        f"{basis}: {part.usable_source or 'stated in the run'}"
    )
    yield (
        f"fits with probability {bones.fit_probability:.1%}: a log-normal error of "
        f"{bones.memory_spread.sigma:.2f} about the sum"
    )


def _states(bones: Outline, parts: dict[str, float]) -> Iterator[str]:
    """Bytes per parameter of the recipe, and what this device holds of them."""
    recipe = bones.batch.recipe
    held = float(np.ravel(stage_weights(bones.batch, "first").trainable)[0])
    sizes = {name: float(np.ravel(getattr(recipe, column))[0]) for name, column in _TRAINED}
    total = sum(sizes.values())
    listed = " + ".join(f"{name.replace('_', ' ')} {size:g}" for name, size in sizes.items())
    yield f"bytes per trained parameter: {listed} = {total:g}"
    degree = bones.configuration.dp * bones.configuration.cp
    yield (
        f"trained parameters of the first stage on one device before sharding: "
        f"{show_count(held)}; sharding {bones.configuration.sharding} over {degree} ranks"
    )
    for name, _ in _TRAINED:
        if parts.get(name):
            yield f"{name.replace('_', ' ')}: {show_bytes(parts[name])}"
