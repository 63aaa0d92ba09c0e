"""`python -m profiles` and `forerun profile` on real input and on input that is wrong."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from profiles import command
from profiles.errors import ProfileError
from profiles.file import read_profile, write_profile
from tests.conftest import PROJECT
from tests.profiles.test_profile_file import profile


@pytest.fixture(autouse=True)
def _same_threads() -> Iterator[None]:
    """`--threads` is for a whole process; what this one had comes back."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


def profiles(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "profiles", *words],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_the_module_alone_measures_and_prints_json(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    done = profiles("--device", "cpu", "--limit", "1", "--out", str(path), "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["schema"] == "forerun-profile/1"
    assert len(found["results"]) == len(read_profile(path).results)


def test_measuring_needs_nothing_of_the_planner() -> None:
    code = (
        "import sys, profiles.command, profiles.collectives;"
        "print([name for name in sys.modules if name.startswith('planner')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_reading_a_profile_needs_no_torch(tmp_path: Path) -> None:
    path = tmp_path / "p.json"
    write_profile(path, profile())
    code = (
        "import sys; from profiles import read_profile; read_profile(sys.argv[1]);"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"


def test_without_torch_the_remedy_is_said(tmp_path: Path) -> None:
    code = (
        "import sys, importlib.util as u; find = u.find_spec;"
        "u.find_spec = lambda name, *a: None if name == 'torch' else find(name, *a);"
        "from profiles.__main__ import main; sys.exit(main(['--out', sys.argv[1]]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "p.json")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "pip install -c constraints.txt -e '.[profile]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--device", "cuda:7"], "--device"),
        (["--device", "../../etc"], "--device"),
        (["--device", "tpu"], "--device"),
        (["--limit", "0"], "--limit"),
        (["--limit", "nan"], "--limit"),
        (["--threads", "-1"], "--threads"),
        (["--device", "cpu", "--clock", "cpu", "--threads", "2"], "--clock"),
        (["--device", "cpu", "--study", "fluid"], "--study"),
        (["--show", "no-such-file.json"], "profile"),
        (["--device", "cpu", "--out", "/no/such/folder/p.json"], "--out"),
        (["--device", "cpu", "--model", "gpt2-124m"], "--seq-len"),
        (["--device", "cpu", "--model", "gpt2-123m", "--seq-len", "64"], "model"),
        (["--device", "cpu", "--model", "mixtral-8x7b", "--seq-len", "64"], "--model"),
        (["--device", "cpu", "--model", "nothing.py:make", "--input-shape", "3"], "--model"),
    ],
)
def test_wrong_input_is_refused_in_one_line(
    forerun: Callable[..., Any], words: list[str], said: str
) -> None:
    answer = forerun("profile", *words)
    assert answer.status == 2
    assert answer.out == ""
    assert answer.err.startswith("forerun: ")
    assert said in answer.err
    assert answer.err.count("\n") == 1


def test_a_profile_is_shown_with_what_did_not_run(
    forerun: Callable[..., Any], tmp_path: Path
) -> None:
    path = tmp_path / "p.json"
    write_profile(path, profile())
    answer = forerun("profile", "--show", path)
    assert answer.status == 0
    assert "1 kernels measured, 1 not run" in answer.out


def test_a_module_of_ones_own_is_measured(forerun: Callable[..., Any], tmp_path: Path) -> None:
    file = tmp_path / "net.py"
    file.write_text(
        "import torch\n"
        "def net():\n"
        "    return torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten(),"
        " torch.nn.LazyLinear(10))\n"
        "def plain():\n"
        "    return torch.nn.Linear(6, 10)\n"
        "def broken():\n"
        "    return 1\n"
    )
    words = ("--device", "cpu", "--steps", "3", "--limit", "5", "--json")
    shape = ("--input-shape", "6", "--micro-batch", "4")
    found = forerun("profile", "--model", f"{file}:plain", *shape, *words).json
    assert found["step"]["step_s"] > 0
    assert found["step"]["peak_bytes"] > 0
    assert found["params"] == 6 * 10 + 10
    refused = forerun("profile", "--model", f"{file}:broken", *shape, *words)
    assert refused.status == 2
    assert "not a torch module" in refused.err


@pytest.mark.parametrize(
    ("words", "field"),
    [
        (("--model", "gpt2-124m", "--describe"), "--describe"),
        (("--model", "gpt2-124m", "--out", "x.json"), "--out"),
        (("--model", "gpt2-124m", "--full"), "--full"),
        (("--model", "gpt2-124m", "--progress", "json"), "--progress"),
        (("--micro-batch", "4"), "--micro-batch"),
        (("--input-shape", "3,8,8", "--describe"), "--input-shape"),
    ],
)
def test_an_option_of_the_other_measurement_is_refused(
    forerun: Callable[..., Any], words: tuple[str, ...], field: str
) -> None:
    refused = forerun("profile", *words)
    assert refused.status == 2
    assert field in refused.err
    assert "leave" in refused.err


def test_the_study_prints_its_table(forerun: Callable[..., Any], tmp_path: Path) -> None:
    figure = tmp_path / "d.svg"
    words = ("--device", "cpu", "--study", "diffusion", "--limit", "2", "--figure", figure)
    answer = forerun("profile", *words)
    assert answer.status == 0
    assert "speed-up" in answer.out
    assert figure.exists()


def test_profile_is_a_command_of_the_overview(forerun: Callable[..., Any]) -> None:
    assert "profile" in forerun("--help").out


def test_a_transformer_is_measured_with_its_exact_parameters(forerun: Callable[..., Any]) -> None:
    from planner.cli.profile_step import dimensions_of
    from planner.models import load_model
    from profiles.device import open_device
    from profiles.transformer import make_model

    torch = open_device("cpu").torch
    for name in ("gpt2-124m", "llama-3.2-1b"):
        model = load_model(name)
        with torch.device("meta"):
            built = make_model(dimensions_of(model, 128))
        assert sum(each.numel() for each in built.parameters()) == model.params_total


@pytest.mark.parametrize(
    "words",
    [
        ("--describe", "--out", "x.json"),
        ("--describe", "--limit", "nan"),
        ("--describe", "--show", "x.json"),
        ("--show", "x.json", "--device", "cpu"),
        ("--show", "x.json", "--full"),
    ],
)
def test_what_measures_nothing_takes_no_option_of_measuring(words: tuple[str, ...]) -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    with pytest.raises(ProfileError, match="measures nothing"):
        command.answer(parser.parse_args(words))
