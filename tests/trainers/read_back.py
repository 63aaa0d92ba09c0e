"""Numbers of an exported file, read back by the file's own parser."""

from __future__ import annotations

import ast
import json
import re
import shlex
import tomllib
from dataclasses import dataclass
from typing import Any

import yaml

from planner.trainers import Export
from planner.trainers.export import File


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """What a file says of devices and batches; None where it says nothing."""

    devices: int | None
    micro_batch: int | None
    accumulation: int | None
    global_batch: int | None
    mesh: int | None = None  # product of the degrees


def sizes(made: Export, file: File, devices: int) -> Sizes:
    """The sizes in a file. `devices` is what the launcher will start."""
    suffix = file.name.rpartition(".")[2]
    if made.target == "torchtitan":
        return _torchtitan(toml(file) if suffix == "toml" else assigned(file.text))
    return _READERS[made.target](file, devices)


def toml(file: File) -> dict[str, Any]:
    """Values by dotted name."""
    return {
        f"{section}.{key}": value
        for section, table in tomllib.loads(file.text).items()
        for key, value in table.items()
    }


def assigned(text: str) -> dict[str, Any]:
    """Literals that a Python module assigns to fields of `config`, by dotted name."""
    found = {}
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Attribute):
            name = ast.unparse(node.targets[0]).removeprefix("config.")
            if isinstance(node.value, ast.Constant):
                found[name] = node.value.value
            else:
                found[name] = ast.unparse(node.value)
    return found


def arguments(text: str) -> dict[str, list[str]]:
    """Flags of a script's arrays and of its launcher, each with its words."""
    body = re.sub(r"^[A-Z_]+=\($|^\)$", "", text.replace("\\\n", " "), flags=re.MULTILINE)
    found: dict[str, list[str]] = {}
    for word in shlex.split(body, comments=True):
        if word.startswith("--"):
            found[word] = []
        elif found:
            found[list(found)[-1]].append(word)
    return found


def _torchtitan(values: dict[str, Any]) -> Sizes:
    degrees = {
        name: values[f"parallelism.{name}"]
        for name in (
            "data_parallel_replicate_degree",
            "data_parallel_shard_degree",
            "tensor_parallel_degree",
            "pipeline_parallel_degree",
            "context_parallel_degree",
        )
    }
    mesh = 1
    for degree in degrees.values():
        mesh *= degree
    local, whole = values["training.local_batch_size"], values["training.global_batch_size"]
    batches = degrees["data_parallel_replicate_degree"] * degrees["data_parallel_shard_degree"]
    assert whole % (local * batches) == 0
    micro = values.get("parallelism.pipeline_parallel_microbatch_size", local)
    return Sizes(
        devices=None,
        micro_batch=micro,
        accumulation=whole // (local * batches) * (local // micro),
        global_batch=whole,
        mesh=mesh,
    )


def _megatron(file: File, devices: int) -> Sizes:
    said = arguments(file.text)
    number = {name: int(words[0]) for name, words in said.items() if words and words[0].isdigit()}
    tp, pp, cp = (
        number[f"--{name}-parallel-size"] for name in ("tensor-model", "pipeline-model", "context")
    )
    micro, whole = number["--micro-batch-size"], number["--global-batch-size"]
    dp = devices // (tp * pp * cp)
    assert dp * tp * pp * cp == devices
    assert whole % (micro * dp) == 0
    nodes = number.get("--nnodes", 1)
    return Sizes(
        devices=nodes * number["--nproc-per-node"],
        micro_batch=micro,
        accumulation=whole // (micro * dp),
        global_batch=whole,
    )


def _deepspeed(file: File, devices: int) -> Sizes:
    return _deepspeed_values(json.loads(file.text), devices)


def _deepspeed_values(said: dict[str, Any], devices: int) -> Sizes:
    micro, steps = said["train_micro_batch_size_per_gpu"], said["gradient_accumulation_steps"]
    tp = said.get("tensor_parallel", {}).get("autotp_size", 1)
    assert said["train_batch_size"] == micro * steps * (devices // tp)
    return Sizes(
        devices=None, micro_batch=micro, accumulation=steps, global_batch=said["train_batch_size"]
    )


def _accelerate(file: File, devices: int) -> Sizes:
    said = yaml.safe_load(file.text)
    mesh = None
    if "parallelism_config" in said:
        mesh = 1
        for degree in said["parallelism_config"].values():
            mesh *= degree
    steps = said.get("deepspeed_config", {}).get("gradient_accumulation_steps")
    return Sizes(
        devices=said["num_processes"],
        micro_batch=None,
        accumulation=steps,
        global_batch=None,
        mesh=mesh,
    )


def _hf_trainer(file: File, devices: int) -> Sizes:
    said = json.loads(file.text)
    micro, steps = said["per_device_train_batch_size"], said["gradient_accumulation_steps"]
    if "deepspeed" in said:
        inside = _deepspeed_values(said["deepspeed"], devices)
        assert (inside.micro_batch, inside.accumulation) == (micro, steps)
    return Sizes(
        devices=None,
        micro_batch=micro,
        accumulation=steps,
        global_batch=micro * steps * devices,
    )


def _axolotl(file: File, devices: int) -> Sizes:
    said = yaml.safe_load(file.text)
    micro, steps = said["micro_batch_size"], said["gradient_accumulation_steps"]
    shared = said.get("tensor_parallel_size", 1) * said.get("context_parallel_size", 1)
    mesh = None
    if "dp_shard_size" in said:
        mesh = said["dp_shard_size"] * said.get("dp_replicate_size", 1) * shared
    return Sizes(
        devices=None,
        micro_batch=micro,
        accumulation=steps,
        global_batch=micro * steps * (devices // shared),
        mesh=mesh,
    )


def _numbers(said: dict[str, str], devices: int) -> Sizes:
    micro, steps, dp = (int(said[name]) for name in ("MICRO_BATCH", "ACCUMULATION", "DP_SIZE"))
    assert micro * steps * dp == int(said["GLOBAL_BATCH"])
    mesh = dp
    for name in ("TP_SIZE", "PP_SIZE", "CP_SIZE"):
        mesh *= int(said[name])
    return Sizes(
        devices=devices,
        micro_batch=micro,
        accumulation=steps,
        global_batch=int(said["GLOBAL_BATCH"]),
        mesh=mesh,
    )


def _slurm(file: File, devices: int) -> Sizes:
    said = dict(re.findall(r"^#SBATCH --([a-z-]+)=(\S+)$", file.text, re.MULTILINE))
    exports = dict(re.findall(r"^export ([A-Z_]+)=(\S+)$", file.text, re.MULTILINE))
    return _numbers(exports, int(said["nodes"]) * int(said["gpus-per-node"]))


def _skypilot(file: File, devices: int) -> Sizes:
    said = yaml.safe_load(file.text)
    per_node = int(said["resources"]["accelerators"].partition(":")[2])
    return _numbers(said["envs"], said["num_nodes"] * per_node)


_READERS = {
    "megatron": _megatron,
    "deepspeed": _deepspeed,
    "accelerate": _accelerate,
    "hf-trainer": _hf_trainer,
    "axolotl": _axolotl,
    "slurm": _slurm,
    "skypilot": _skypilot,
}
