"""The modules that the guide plans, in one process that really runs their file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="tracing needs torch")

from planner.cli.main import main

MODULES = Path(__file__).parents[2] / "examples" / "modules.py"


def test_a_unet_of_a_file_plans_like_any_preset(capsys: pytest.CaptureFixture[str]) -> None:
    words = f"plan --model {MODULES}:unet --input-shape 3,32,32 --samples 1M --sku a100-sxm4-80gb"
    assert main([*words.split(), "--count", "8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["fits"]
    assert answer["throughput"]["samples_per_second"] > 0
    assert answer["run"]["samples"] == 1_000_000
    assert answer["loss"]["value"] is None
    assert {row["change"] for row in answer["advice"]}  # variants are planned from the same trace
