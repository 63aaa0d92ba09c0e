"""Every key of an exported file is one that the trainer's own source knows."""

from __future__ import annotations

import ast
import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from planner.errors import PlannerError
from planner.trainers import TARGETS, Export, export
from tests.trainers.plans import NAMES, plan
from tests.trainers.read_back import arguments

DOCUMENTED: dict[str, dict[str, dict[str, Any]]] = tomllib.loads(
    (Path(__file__).parent / "documented_keys.toml").read_text(encoding="utf-8")
)
OWN_FIELDS = ("activation_checkpoint", "loss", "model_spec")  # of Trainer.Config, set as a whole


def _known(target: str, section: str, keys: Any) -> None:
    unknown = set(keys) - set(DOCUMENTED[target][section]["keys"])
    assert not unknown, f"{target} {section}: {sorted(unknown)}"


@pytest.mark.parametrize(
    "target", [name for name in TARGETS if name not in ("slurm", "hf-trainer")]
)
def test_every_key_is_documented_for_the_release_that_the_file_names(target: str) -> None:
    written = list(_exports(target))
    assert len(written) >= 4, "the plans reach the target"
    for made in written:
        _CHECKS[target](made)


def test_the_guide_has_a_row_for_every_target() -> None:
    guide = Path(__file__).resolve().parents[2] / "docs" / "exporting.md"
    rows = guide.read_text(encoding="utf-8").splitlines()
    for name in TARGETS:
        assert any(row.startswith(f"| `{name}` |") for row in rows)


def _exports(target: str) -> Iterator[Export]:
    for name in NAMES:
        try:
            yield export(target, plan(name))
        except PlannerError:
            continue


def _torchtitan(made: Export) -> None:
    for node in ast.walk(ast.parse(made.files[0].text)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            section, _, key = ast.unparse(node.targets[0]).removeprefix("config.").partition(".")
            if key:
                _known("torchtitan", section, [key])
            else:
                assert section in OWN_FIELDS
    for file in made.files[1:]:
        for section, table in tomllib.loads(file.text).items():
            _known("torchtitan-toml", section, table)


def _megatron(made: Export) -> None:
    flags = set(arguments(made.files[0].text))
    _known("megatron", "flags", flags - set(DOCUMENTED["megatron"]["launcher"]["keys"]))


def _deepspeed(made: Export) -> None:
    said = json.loads(made.files[0].text)
    _known("deepspeed", "top", said)
    for section in ("zero_optimization", "bf16", "fp16", "tensor_parallel"):
        _known("deepspeed", section, said.get(section, {}))
    for section in ("offload_optimizer", "offload_param"):
        _known("deepspeed", section, said["zero_optimization"].get(section, {}))


def _accelerate(made: Export) -> None:
    said = yaml.safe_load(made.files[0].text)
    _known("accelerate", "top", said)
    for value in said.values():
        if isinstance(value, dict):
            _known("accelerate", "nested", value)


def _axolotl(made: Export) -> None:
    said = yaml.safe_load(made.files[0].text)
    _known("axolotl", "top", said)
    _known("axolotl", "fsdp_config", said.get("fsdp_config", {}))


def _skypilot(made: Export) -> None:
    said = yaml.safe_load(made.files[0].text)
    _known("skypilot", "top", said)
    _known("skypilot", "resources", said["resources"])


_CHECKS = {
    "torchtitan": _torchtitan,
    "megatron": _megatron,
    "deepspeed": _deepspeed,
    "accelerate": _accelerate,
    "axolotl": _axolotl,
    "skypilot": _skypilot,
}
