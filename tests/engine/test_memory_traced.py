"""The closed forms against traced training steps."""

from __future__ import annotations

import numpy as np
import pytest

from planner.engine.activations import formats, layer_bytes
from planner.engine.constants import constants
from planner.engine.memory import memory_bytes, states, step_of
from planner.engine.operations import tokens
from planner.engine.weights import stage_weights
from planner.fidelity.traced import traced_batch, traced_steps

STEPS = traced_steps()
BATCH = traced_batch(STEPS)


def errors(predicted: object, actual: list[float]) -> np.ndarray:
    """|predicted / actual - 1|."""
    return np.abs(np.broadcast_to(predicted, (len(STEPS),)) / np.array(actual) - 1)


def test_peaks_agree_within_the_stated_error() -> None:
    held = memory_bytes(BATCH, constants())
    found = errors(held.allocated, [step.peak_bytes for step in STEPS])
    assert len(found) >= 200
    assert np.median(found) < 0.001
    assert np.quantile(found, 0.9) < 0.03


def test_a_layer_keeps_what_the_tracker_saw() -> None:
    kept = (layer_bytes(BATCH, formats(BATCH)).kept * tokens(BATCH))[0]
    found = errors(kept, [step.saved_bytes for step in STEPS])
    assert np.median(found) < 1e-4
    assert np.quantile(found, 0.9) < 0.01


@pytest.mark.parametrize("moment", ["head", "layers_backward", "optimizer"])
def test_every_moment_agrees_not_only_the_highest(moment: str) -> None:
    step = step_of(BATCH, "first")
    standing = sum(states(BATCH, stage_weights(BATCH, "first")).values())
    standing = standing + step.standing_gradients
    moments = {
        "head": np.maximum(step.head_forward.total, step.head_backward.total),
        "layers_backward": step.layers_backward.total,
        "optimizer": step.optimizer.total,
    }
    actual = [getattr(each, f"{moment}_bytes") for each in STEPS]
    found = errors(standing + moments[moment], actual)
    assert np.median(found) < 0.01
    assert np.quantile(found, 0.9) < 0.06
