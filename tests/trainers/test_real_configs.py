"""The real trainers' own config objects take the exported files, where they are installed."""

from __future__ import annotations

import importlib
import json
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from planner.errors import PlannerError
from planner.trainers import Export, export
from tests.trainers.plans import NAMES, plan


def _package(name: str) -> ModuleType:
    """The module, or a skip that says what is missing."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name.partition('.')[0]} is not installed here: {error}")


def _exports(target: str) -> Iterator[tuple[str, Export]]:
    for name in NAMES:
        try:
            made = export(target, plan(name))
        except PlannerError:
            continue
        yield name, made


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_transformers_reads_the_training_arguments(tmp_path: Path) -> None:
    transformers = _package("transformers")
    _package("accelerate")
    parser = transformers.HfArgumentParser(transformers.TrainingArguments)
    seen = 0
    for name, made in _exports("hf-trainer"):
        said: dict[str, Any] = json.loads(made.files[0].text)
        if "deepspeed" in said:  # its integration asks for the installed package
            continue
        for needs_gpu in ("fp16", "tf32"):
            said.pop(needs_gpu, None)
        said["output_dir"] = str(tmp_path)
        (read,) = parser.parse_dict({**said, "use_cpu": True})
        job = plan(name)
        assert read.gradient_accumulation_steps == job.made.accumulation
        assert read.per_device_train_batch_size == job.made.micro_batch
        assert read.max_steps == job.steps
        assert bool(read.fsdp) == (job.made.sharding == "zero3")
        seen += 1
    assert seen >= 5


def test_accelerate_launches_with_the_yaml(tmp_path: Path) -> None:
    config_args = _package("accelerate.commands.config.config_args")
    launch = _package("accelerate.commands.launch")
    parallelism = _package("accelerate.parallelism_config")
    flags = {action.dest for action in launch.launch_command_parser()._actions}
    for name, made in _exports("accelerate"):
        file = tmp_path / "accelerate.yaml"
        file.write_text(made.files[0].text, encoding="utf-8")
        read = config_args.ClusterConfig.from_yaml_file(str(file))
        assert read.num_processes == plan(name).made.num_devices
        said = yaml.safe_load(made.files[0].text)
        for section in ("fsdp_config", "parallelism_config", "deepspeed_config", "dynamo_config"):
            assert set(said.get(section, {})) <= flags
        if "parallelism_config" in said:
            degrees = {
                key.removeprefix("parallelism_config_"): value
                for key, value in said["parallelism_config"].items()
            }
            mesh = parallelism.ParallelismConfig(**degrees)
            assert mesh.total_size == read.num_processes


@pytest.mark.filterwarnings("ignore")
def test_deepspeed_reads_the_json() -> None:
    zero = _package("deepspeed.runtime.zero.config")
    precision = _package("deepspeed.runtime.precision_config")
    for name, made in _exports("deepspeed"):
        said = json.loads(made.files[0].text)
        read = zero.DeepSpeedZeroConfig(**said["zero_optimization"])
        assert f"zero{int(read.stage)}".replace("zero0", "none") == plan(name).made.sharding
        precision.DeepSpeedBF16Config(**said.get("bf16", {}))
        precision.DeepSpeedFP16Config(**said.get("fp16", {}))


@pytest.mark.filterwarnings("ignore")
def test_torchtitan_builds_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    _package("torchtitan.trainer")
    _package("torchtitan.models.llama3.config_registry")
    monkeypatch.setenv("DECAY_RATIO", "0.1")
    for name, made in _exports("torchtitan"):
        job, names = plan(name), {}
        if job.made.precision != "bf16" or job.adapters or job.run.model != "llama-3-8b":
            continue
        exec(compile(made.files[0].text, made.files[0].name, "exec"), names)
        config = names["llama_3_8b_forerun"]()
        assert config.training.global_batch_size == job.made.global_batch
        assert type(config)(training=config.training, parallelism=config.parallelism)


@pytest.mark.filterwarnings("ignore")
def test_axolotl_accepts_the_yaml_with_what_it_leaves_to_the_user() -> None:
    schema = _package("axolotl.utils.schemas.config").AxolotlInputConfig
    own = {"base_model": "x", "learning_rate": 1e-4, "datasets": [{"path": "x", "type": "alpaca"}]}
    for name, made in _exports("axolotl"):
        if plan(name).made.cp == 1:  # rings ask for a package of their own
            schema(**{**own, **yaml.safe_load(made.files[0].text)})


@pytest.mark.filterwarnings("ignore")
def test_skypilot_accepts_the_task() -> None:
    schemas = _package("sky.utils.schemas")
    jsonschema = _package("jsonschema")
    for _, made in _exports("skypilot"):
        said = yaml.safe_load(made.files[0].text)
        jsonschema.validate(said, schemas.get_task_schema())
        jsonschema.validate(said["resources"], schemas.get_resources_schema())
