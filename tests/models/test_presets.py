"""The shipped presets: every one readable, sourced, and of the size that its makers publish."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import planner.models.presets
from planner.models import load_model, preset_ids
from planner.models.presets import preset_source

FOLDER = Path(planner.models.presets.__file__).parent
CONTRACT = (
    "gpt2-124m gpt2-medium gpt2-large gpt2-xl gpt3-1.3b gpt3-13b gpt3-175b llama-7b llama-65b "
    "llama-2-7b llama-2-13b llama-2-70b llama-3-8b llama-3-70b llama-3.1-8b llama-3.1-70b "
    "llama-3.1-405b llama-3.2-1b mistral-7b mixtral-8x7b mixtral-8x22b qwen2.5-7b qwen2.5-32b "
    "qwen3-8b qwen3-30b-a3b qwen3-235b-a22b gemma-7b gemma-2-9b deepseek-v3 gpt-oss-20b "
    "gpt-oss-120b bert-base bert-large t5-small vit-base vit-large"
)


def _published() -> dict[str, int]:
    """Totals of published checkpoints, tied matrices once.

    Recalled from model cards apart from the dimensions, so that exact agreement confirms both;
    a model whose two did not agree has no preset.
    """
    with (Path(__file__).parent / "published_totals.csv").open() as file:
        return {row["preset"]: int(row["params_total"]) for row in csv.DictReader(file)}


@pytest.mark.parametrize("preset", preset_ids())
def test_a_preset_is_read_without_a_doubt(preset: str) -> None:
    content = json.loads((FOLDER / f"{preset}.json").read_text())
    assert set(content) == {"source", "config"}
    assert len(preset_source(preset)) > 10
    model = load_model(preset)
    assert model.name == preset
    assert model.params_total == sum(b.count * b.params for b in model.blocks) + (
        model.params_outside
    )
    assert 0 < model.params_active <= model.params_total
    assert not any("counted with" in warning for warning in model.warnings)


@pytest.mark.parametrize(("preset", "total"), _published().items())
def test_a_preset_has_its_published_size(preset: str, total: int) -> None:
    assert load_model(preset).params_total == total


@pytest.mark.parametrize(
    ("preset", "billions"),
    [("gpt3-125m", 0.125), ("gpt3-1.3b", 1.3), ("gpt3-13b", 13), ("gpt3-175b", 175)],
)
def test_a_gpt3_size_is_near_its_name(preset: str, billions: float) -> None:
    assert load_model(preset).params_total / 1e9 == pytest.approx(billions, rel=0.02)


def test_the_promised_ids_are_there() -> None:
    assert set(CONTRACT.split()) <= set(preset_ids())


def test_loading_a_model_imports_nothing_heavy() -> None:
    """Neither a numerical library nor the hub's client."""
    script = (
        "import sys, planner.models as m; m.load_model('llama-3-8b'); "
        "print(*{'numpy', 'torch', 'transformers', 'huggingface_hub', 'scipy'} & set(sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
