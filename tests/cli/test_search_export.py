"""`forerun search --export`: where the config goes, and what stops before the search."""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.cli.main import main
from planner.cli.search_export import _check_path
from planner.errors import PlannerError
from planner.trainers import TARGETS

RUN = {
    "model": "qwen3-0.6b",
    "data": {"tokens": 10**9, "seq_len": 2048},
    "hardware": {"sku": "h100-sxm5-80gb", "count": 4},
    "training": {"global_batch": 64},
}
QUICK = ("--fix", "count", "--fix", "precision=bf16", "--fix", "compile", "--fix", "attention")


@pytest.fixture
def run_file(tmp_path: Path) -> str:
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(RUN), encoding="utf-8")
    return str(path)


def _search(run_file: str, *words: str) -> int:
    return main(["search", run_file, *QUICK, *words])


@pytest.mark.parametrize("target", sorted(TARGETS))
def test_the_config_alone_goes_to_standard_output(
    target: str, run_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _search(run_file, "--export", target) == 0
    printed = capsys.readouterr()
    read: dict[str, Any] = {
        "deepspeed": json.loads,
        "hf-trainer": json.loads,
        "accelerate": yaml.safe_load,
        "axolotl": yaml.safe_load,
        "skypilot": yaml.safe_load,
    }
    assert read[target](printed.out) if target in read else "qwen3-0.6b on 4" in printed.out
    assert "left to you: " in printed.err
    assert "candidates" not in printed.out


def test_a_file_is_written_beside_the_table_and_never_overwritten_unasked(
    run_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ds.json"
    assert _search(run_file, "--export", "deepspeed", "--out", str(file)) == 0
    printed = capsys.readouterr()
    assert json.loads(file.read_text())["train_batch_size"] == 64
    assert "train_batch_size" not in printed.out
    assert printed.out.strip(), "the table"
    file.write_text("mine", encoding="utf-8")
    assert _search(run_file, "--export", "deepspeed", "--out", str(file)) == 2
    assert "exists: add --force" in capsys.readouterr().err
    assert file.read_text() == "mine"
    assert _search(run_file, "--export", "deepspeed", "--out", str(file), "--force") == 0
    assert json.loads(file.read_text())["train_batch_size"] == 64


def test_the_ending_of_the_file_picks_the_form(run_file: str, tmp_path: Path) -> None:
    for name in ("run.toml", "run.py"):
        path = str(tmp_path / name)
        words = ("--export", "torchtitan", "--out", path, "--fix", "loss=eager")
        assert _search(run_file, *words) == 0
    said = tomllib.loads((tmp_path / "run.toml").read_text())
    assert said["training"]["global_batch_size"] == 64
    assert "global_batch_size = 64" in (tmp_path / "run.py").read_text()


def test_an_ending_of_another_format_is_refused(
    run_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    only_new = ("--export", "torchtitan", "--fix", "loss=chunked")
    for words in (only_new, ("--export", "accelerate")):
        file = tmp_path / "run.toml"
        assert _search(run_file, *words, "--out", str(file)) == 2
        assert "name a file with that ending" in capsys.readouterr().err
        assert not file.exists()
    assert _search(run_file, "--export", "accelerate", "--out", str(tmp_path / "run.yml")) == 0


def test_json_holds_the_export(run_file: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _search(run_file, "--export", "accelerate", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    made = said["export"]
    assert made["target"] == "accelerate"
    assert made["files"][0]["name"] == "accelerate.yaml"
    chosen = said["best"]["chosen"]
    assert yaml.safe_load(made["files"][0]["text"])["num_processes"] == chosen["count"]
    assert {each["what"] for each in made["left"]} >= {"batch", "learning rate", "data"}


def test_the_best_is_planned_on_the_targets_software(
    run_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _search(run_file, "--export", "megatron", "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["best"]["chosen"]["stack"] == "megatron"
    assert "planned as megatron runs it" in printed.err
    assert _search(run_file, "--export", "megatron", "--stack", "torchtitan", "--json") == 0
    assert json.loads(capsys.readouterr().out)["best"]["chosen"]["stack"] == "torchtitan"


def test_nothing_that_fits_is_no_file(
    run_file: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ds.json"
    words = ("--usd", "0.001", "--export", "deepspeed", "--out", str(file), "--json")
    assert _search(run_file, *words) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["export"] is None
    assert "nothing fits" in printed.err
    assert not file.exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--export", "megatrn"), "did you mean megatron"),
        (("--export", ""), "known are torchtitan"),
        (("--out", "x.json"), "goes with --export"),
        (("--export", "slurm", "--force"), "goes with --out"),
        (("--export", "slurm", "--out", "/no/such/folder/x"), "make the folder"),
        (("--export", "slurm", "--out", "."), "is a folder"),
        (("--export", "slurm", "--worker", "--trials", "2"), "needs an exact search"),
        (("--export", "deepspeed", "--fix", "pp=2"), "cannot hold it"),
    ],
)
def test_a_slip_is_refused_in_one_line_before_the_search(
    words: tuple[str, ...], says: str, run_file: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _search(run_file, *words) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    refusals = [line for line in printed.err.splitlines() if not line.startswith("note: ")]
    assert len(refusals) == 1
    assert says in refusals[0]


def test_a_named_pipe_is_not_written_to(tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(PlannerError, match="named pipe"):
        _check_path(tmp_path / "pipe", force=True)
