"""Shell scripts: bash reads them, they stop where something is left out, and pass all arguments."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from planner.errors import PlannerError
from planner.trainers import export
from planner.trainers.megatron import asked
from planner.trainers.slurm import time_limit
from tests.trainers.plans import NAMES, plan
from tests.trainers.read_back import arguments

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="bash is not installed here")

_ECHO = '#!/usr/bin/env bash\nprintf "%s\\n" "$@" >> "$RECORD"\n'


def _run(script: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    path = f"{script.parent}:{os.environ['PATH']}"
    return subprocess.run(
        [str(BASH), str(script), *words],
        env={"PATH": path, **variables},
        capture_output=True,
        text=True,
        timeout=20,
        check=False,
    )


@pytest.mark.parametrize("target", ["megatron", "slurm"])
def test_bash_reads_every_script(target: str, tmp_path: Path) -> None:
    written = 0
    for name in NAMES:
        try:
            text = export(target, plan(name)).files[0].text
        except PlannerError:
            continue
        (tmp_path / f"{written}.sh").write_text(text, encoding="utf-8")
        written += 1
    assert written >= 5
    for file in tmp_path.iterdir():
        done = subprocess.run(
            [str(BASH), "-n", str(file)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr


def test_megatron_script_stops_and_names_what_it_lacks(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text(export("megatron", plan("pipeline")).files[0].text, encoding="utf-8")
    stopped = _run(script)
    assert stopped.returncode != 0
    assert "set MEGATRON: the folder of Megatron-LM" in stopped.stderr


def test_megatron_script_hands_every_argument_to_the_launcher(tmp_path: Path) -> None:
    script, torchrun, record = (tmp_path / name for name in ("run.sh", "torchrun", "record"))
    job = plan("pipeline")
    text = export("megatron", job).files[0].text
    script.write_text(text, encoding="utf-8")
    torchrun.write_text(_ECHO, encoding="utf-8")
    torchrun.chmod(0o755)
    given = {name: f"my {name}" for name in asked(job)}
    done = _run(script, "--tp-comm-overlap", **given, RECORD=str(record))
    assert done.returncode == 0, done.stderr
    words = record.read_text(encoding="utf-8").splitlines()
    assert words[-1] == "--tp-comm-overlap"
    assert set(arguments(text)) <= set(words)
    assert words[words.index("--data-path") + 1] == "my DATA_PATH", "a path with a space stays one"
    assert words[words.index("--tensor-model-parallel-size") + 1] == "2"


def test_a_models_name_is_never_run(tmp_path: Path) -> None:
    job = plan("zero1")
    hostile = f"it's/$(touch {tmp_path / 'ran'});`touch {tmp_path / 'ran'}`\"/config.json"
    named = replace(job, model=replace(job.model, name=hostile, family="unknown"))
    for target in ("megatron", "slurm"):
        script = tmp_path / "run.sh"
        script.write_text(export(target, named).files[0].text, encoding="utf-8")
        given = {name: "x" for name in asked(named) if name != "MODEL_ARGS_FILE"}
        stopped = _run(script, **given)
        assert stopped.returncode != 0
        if target == "megatron":
            assert "set MODEL_ARGS_FILE: a file with Megatron's arguments" in stopped.stderr
    assert not (tmp_path / "ran").exists()


def test_slurm_script_starts_torchrun_with_the_training_script(tmp_path: Path) -> None:
    script, record = tmp_path / "run.sbatch", tmp_path / "record"
    job = plan("zero3")
    script.write_text(export("slurm", job).files[0].text, encoding="utf-8")
    for command, text in (("srun", _ECHO), ("scontrol", "#!/usr/bin/env bash\necho node1\n")):
        (tmp_path / command).write_text(text, encoding="utf-8")
        (tmp_path / command).chmod(0o755)
    given = {"SLURM_JOB_NODELIST": "node[1-2]", "SLURM_JOB_ID": "7", "RECORD": str(record)}
    assert "usage: sbatch" in _run(script, **given).stderr
    done = _run(script, "train.py", "--lr", "1e-4", **given)
    assert done.returncode == 0, done.stderr
    words = record.read_text(encoding="utf-8").splitlines()
    assert words[:5] == ["torchrun", "--nnodes", "2", "--nproc-per-node", "8"]
    assert words[words.index("--rdzv-endpoint") + 1] == "node1:29500"
    assert words[-3:] == ["train.py", "--lr", "1e-4"]


def test_a_time_limit_is_never_shorter_than_the_run() -> None:
    assert time_limit(1) == "0-00:01:00"
    assert time_limit(86_400) == "1-00:00:00"
    assert time_limit(86_401) == "1-00:01:00"
