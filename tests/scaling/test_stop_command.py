"""`forerun stop`: what a person reads and what a program gets."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SAMPLES = Path(__file__).parent / "logs"
CONTRACT = {
    "format", "steps", "points", "metric", "smoothed_last", "gain_per_doubling", "gain_per_hour",
    "gain_per_usd", "forecast", "verdict", "verdicts", "stop_at", "next_validation", "freed",
    "warnings",
}  # fmt: skip
VERDICTS = {"continue", "stop", "stopped-learning", "diverged", "too-early"}

Forerun = Callable[..., Any]


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_format_gets_an_answer_with_the_names_of_the_contract(
    forerun: Forerun, path: Path
) -> None:
    done = forerun("stop", path, "--json")
    assert done.status == 0, done.err
    answer = done.json
    assert set(answer) >= CONTRACT
    assert answer["verdict"] in VERDICTS
    assert set(answer["forecast"]) >= {"final_loss", "low", "high", "schedule_aware"}
    assert set(answer["stop_at"]) == {"step", "seconds", "loss"}
    assert set(answer["freed"]) >= {"device_hours", "usd", "use"}
    assert set(answer["verdicts"]) >= {"per_doubling", "per_hour", "per_usd"}
    assert json.loads(json.dumps(answer, allow_nan=False)) == answer


@pytest.mark.parametrize("path", sorted(SAMPLES.iterdir()), ids=lambda path: path.name)
def test_every_format_gets_a_page_to_read(forerun: Forerun, path: Path) -> None:
    done = forerun("stop", path)
    assert done.status == 0, done.err
    assert "Marginal gain" in done.out
    assert done.out.split(":")[0].lower() in VERDICTS


def test_json_is_alone_on_standard_output(forerun_process: Forerun) -> None:
    done = forerun_process("stop", SAMPLES / "megatron.log", "--json")
    assert done.status == 0
    assert done.json["format"] == "megatron"
    assert done.err == ""


def test_the_chart_shows_the_run_and_the_forecast(forerun: Forerun) -> None:
    done = forerun(
        "stop", SAMPLES / "megatron.log", "--metric", "lm loss", "--schedule", "constant"
    )
    assert "•" in done.out
    assert "○" in done.out
    assert "log scale" in done.out
    assert "80 %" in done.out


def test_a_shared_curve_is_forecast_to_its_end(forerun: Forerun, shared: Path) -> None:
    curve = shared / "data/scaling/multipower/100M_cosine_72000.csv"
    answer = forerun("stop", curve, "--total-steps", "100000", "--json").json
    assert answer["verdict"] == "continue"
    finished = forerun("stop", curve, "--total-steps", "71920", "--json").json
    assert finished["forecast"]["schedule_aware"]
    low, high = finished["forecast"]["low"], finished["forecast"]["high"]
    assert low < 2.8632 < high


def test_a_third_of_a_run_is_forecast_with_an_interval(
    forerun: Forerun, shared: Path, tmp_path: Path
) -> None:
    lines = (shared / "data/scaling/multipower/100M_cosine_24000.csv").read_text().splitlines()
    path = tmp_path / "part.csv"
    path.write_text("\n".join(lines[:80]) + "\n")
    answer = forerun("stop", path, "--total-steps", "23920", "--json").json
    assert answer["forecast"]["schedule_aware"]
    assert answer["forecast"]["low"] < 2.9791 < answer["forecast"]["high"]
    assert answer["forecast"]["final_loss"] == pytest.approx(2.9791, rel=0.02)
    assert answer["next_validation"][-1] == 23920
    assert all(isinstance(step, int) for step in answer["next_validation"])
    assert any("replan" in text for text in answer["advice"])


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--threshold", "0"], "threshold"),
        (["--threshold", "abc"], "threshold"),
        (["--threshold", "15"], "threshold"),
        (["--unit", "hours"], "unit"),
        (["--unit", "usd"], "usd-per-hour"),
        (["--metric", "nonesuch"], "metric"),
        (["--total-steps", "10"], "already reaches"),
        (["--schedule", "cosin"], "cosine"),
        (["--seconds-per-step", "-1"], "seconds-per-step"),
        (["--tresh", "1"], "threshold"),
    ],
)
def test_what_the_user_can_mend_is_one_line(
    forerun: Forerun, words: list[str], message: str
) -> None:
    done = forerun("stop", SAMPLES / "plain.csv", *words)
    assert done.status == 2
    assert message in done.err
    assert done.err.count("\n") == 1
    assert done.out == ""


def test_a_threshold_may_be_said_in_per_cent(forerun: Forerun) -> None:
    share, cent = (
        forerun("stop", SAMPLES / "plain.csv", "--threshold", text, "--json").json["threshold"]
        for text in ("0.02", "2%")
    )
    assert share == pytest.approx(cent)


def test_every_option_has_help(forerun: Forerun) -> None:
    done = forerun("stop", "--help")
    assert done.status == 0
    for word in ("--threshold", "--unit", "--metric", "--usd-per-hour", "--schedule"):
        assert word in done.out


def test_stopping_needs_neither_torch_nor_pandas() -> None:
    import subprocess
    import sys

    code = (
        "import sys; from planner.cli.main import main; "
        f"main(['stop', {str(SAMPLES / 'plain.csv')!r}, '--json']); "
        "heavy = {'torch', 'pandas', 'streamlit', 'optuna', 'plotly', 'transformers'}; "
        "sys.exit(len(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == 0
