"""`forerun plan` on the command line."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import PROJECT, Answer

EXAMPLE = PROJECT / "examples" / "llama-3-8b.yaml"
HEAVY = ("torch", "streamlit", "pynvml", "optuna", "scipy", "pandas", "plotly", "sqlalchemy")
KEYS = {
    "": {"schema", "fits", "verdict", "fit_probability", "shortfall", "model", "step",
         "throughput", "memory", "chosen", "run", "cost", "energy", "loss", "stop", "evidence",
         "warnings", "advice"},
    "model": {"params_total", "params_active", "params_trainable", "flops_per_token"},
    "step": {"seconds", "low", "high", "parts"},
    "throughput": {"tokens_per_second", "tokens_per_second_per_device", "mfu", "hfu",
                   "tflops_per_device"},
    "memory": {"peak_bytes", "low", "high", "capacity_bytes", "parts", "stages"},
    "chosen": {"micro_batch", "accumulation", "layout"},
    "run": {"steps", "seconds", "low", "high", "parts", "device_hours", "goodput",
            "finish_by_deadline"},
    "cost": {"usd", "low", "high", "per_device_hour", "provider", "price_date", "breakdown"},
    "energy": {"kwh", "kgco2e"},
    "loss": {"value", "low", "high", "law", "reason", "optimum"},
    "evidence": {"grade", "reasons"},
}  # fmt: skip


@pytest.fixture
def answer(forerun: Callable[..., Answer]) -> Any:
    return forerun("plan", EXAMPLE, "--json").json


def test_the_json_has_every_key_of_the_contract(answer: Any) -> None:
    for name, keys in KEYS.items():
        part = answer[name] if name else answer
        assert keys <= set(part), name
    assert set(answer["run"]["parts"]) == {
        "training", "evaluation", "checkpoints", "startup", "failures"
    }  # fmt: skip


def test_the_worked_example_is_sensible(answer: Any) -> None:
    assert answer["verdict"] == "fits"
    assert 0.25 < answer["throughput"]["mfu"] < 0.55
    assert 15 < answer["run"]["seconds"] / 86_400 < 45
    assert answer["run"]["finish_by_deadline"] is True
    assert 1.8 < answer["loss"]["value"] < 2.4


def test_the_readable_answer_fits_eighty_columns_and_has_no_colour(
    forerun: Callable[..., Answer],
) -> None:
    found = forerun("plan", EXAMPLE, "--explain")
    assert found.status == 0
    assert max(map(len, found.out.splitlines())) <= 80
    assert "\x1b" not in found.out
    assert "FITS" in found.out
    assert "GB " not in found.out.replace("GB/s", "")


def test_a_plan_that_does_not_fit_is_an_answer(forerun: Callable[..., Answer]) -> None:
    found = forerun("plan", EXAMPLE, "--count", 1, "--per-node", 1, "--layout", "auto")
    assert found.status == 0
    assert "DOES NOT FIT" in found.out
    assert "nearest that fits" in found.out


def test_flags_win_over_the_file(forerun: Callable[..., Answer]) -> None:
    found = forerun("plan", EXAMPLE, "--count", 128, "--precision", "fp8", "--json").json
    assert (found["chosen"]["count"], found["chosen"]["precision"]) == (128, "fp8")


def test_flags_alone_are_enough(forerun: Callable[..., Answer], shared: Path) -> None:
    config = shared / "data" / "configs" / "Qwen--Qwen3-8B.json"
    found = forerun(
        "plan", "--model", config, "--tokens", "20B", "--seq-len", 4096, "--sku",
        "a100-sxm4-80gb", "--count", 8, "--global-batch", 256, "--json", "--no-advice",
    )  # fmt: skip
    assert found.json["model"]["params_total"] == 8_190_735_360
    assert found.json["advice"] == []


def test_a_reported_rate_is_judged(forerun: Callable[..., Answer]) -> None:
    found = forerun("plan", EXAMPLE, "--reported", "500M", "--no-advice")
    assert "impossible" in found.out


@pytest.mark.parametrize(
    ("words", "field"),
    [
        ((), "RUN.yaml"),
        (("nothing.yaml",), "run file"),
        ((EXAMPLE, "--sku", "H100"), "hardware.sku"),
        ((EXAMPLE, "--tokens", "nan"), "data.tokens"),
        ((EXAMPLE, "--tokens", "-5"), "data.tokens"),
        ((EXAMPLE, "--count", "0"), "hardware.count"),
        ((EXAMPLE, "--layout", "tp=3"), "training.layout"),
        ((EXAMPLE, "--epochs", "3"), "data.epochs"),
        ((EXAMPLE, "--micro-batch", "3"), "training.global_batch"),
        ((EXAMPLE, "--precision", "fp7"), "training.precision"),
        ((EXAMPLE, "--reported", "-1"), "--reported"),
        ((EXAMPLE, "--contry", "x"), "plan"),
    ],
)
def test_a_mistake_is_one_line_and_status_two(
    forerun: Callable[..., Answer], words: tuple[object, ...], field: str
) -> None:
    found = forerun("plan", *words)
    assert found.status == 2
    assert found.out == ""
    assert found.err.startswith(f"forerun: {field}")
    assert found.err.count("\n") == 1


def test_a_file_with_tags_is_refused_with_its_line(
    forerun: Callable[..., Answer], tmp_path: Path
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("model: !!python/object:os.system x\n", encoding="utf-8")
    found = forerun("plan", file)
    assert found.status == 2
    assert "line 1" in found.err
    assert "tags are not read" in found.err


def test_planning_brings_nothing_heavy() -> None:
    script = (
        "import sys; from planner.cli.main import main; "
        f"main(['plan', {str(EXAMPLE)!r}, '--json', '--explain']); "
        f"sys.exit(' '.join(set({HEAVY}) & set(sys.modules)) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def plain(forerun: Callable[..., Answer], *words: str) -> str:
    """The readable answer on one line."""
    done = forerun("plan", *words)
    assert done.status == 0, done.err
    return " ".join(done.out.split())


ADAPTERS = ("--model", "qwen3-8b", "--task", "lora", "--samples", "1k", "--seq-len", "4096",
            "--sku", "rtx-4090", "--count", "1")  # fmt: skip


def test_a_change_that_fits_is_printed_as_flags_and_pasting_them_fits(
    forerun: Callable[..., Answer],
) -> None:
    lines = forerun("plan", *ADAPTERS, "--loss", "eager").out.splitlines()
    flags = next(line.split()[1:] for line in lines if line.startswith("    add  "))
    assert flags == ["--loss", "chunked", "--recompute", "full"]
    assert "FITS, probability" in plain(forerun, *ADAPTERS, *flags)


def test_a_loss_is_named_as_chosen_only_where_there_was_a_choice(
    forerun: Callable[..., Answer],
) -> None:
    chosen = forerun("plan", *ADAPTERS, "--json").json["chosen"]["by_planner"]
    assert "loss" in chosen
    alone = forerun("plan", *ADAPTERS, "--stack", "torchtune", "--json").json["chosen"]
    assert "loss" not in alone["by_planner"]
    assert alone["loss"] == "chunked", "the only one that torchtune offers"


def test_images_are_counted_as_images(forerun: Callable[..., Answer]) -> None:
    words = ("--model", "vit-large", "--samples", "1M", "--sku", "a100-sxm4-40gb", "--count", "8")
    text = plain(forerun, *words)
    assert "images = micro-batch" in text
    assert "images/s" in text
    assert "Brown" not in text, "GPT-3's batches are no evidence for images"


def test_one_link_that_joins_all_is_named_instead_of_the_network(
    forerun: Callable[..., Answer],
) -> None:
    words = ("--model", "llama-3-8b", "--tokens", "1B", "--seq-len", "4096", "--sku", "tpu-v5p")
    assert "ICI joins all 256" in plain(forerun, *words, "--count", "256")
