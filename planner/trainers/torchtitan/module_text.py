"""The Python form of a torchtitan configuration: `settings` for any base, and a ready function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from planner.trainers.export import Left, remarked
from planner.trainers.job import Job
from planner.trainers.torchtitan import sections
from planner.trainers.torchtitan.models import Shipped

_RECOMPUTES = {"none": "None", "selective": "SelectiveAC.Config()", "full": "FullAC.Config()"}
_CONVERTERS = {
    "fp8": ("Float8LinearConverter", "model_compile_enabled={compiled}"),
    "nvfp4": ("NVFP4LinearConverter", 'fqns=["layers"], model_compile_enabled={compiled}'),
}


def python_text(job: Job, model: Shipped | None, remarks: Sequence[Left]) -> str:
    """The module's text."""
    blocks = [
        remarked([*job.heading(sections.SOFTWARE), "", *_use(job, model)], remarks),
        "\n".join(_imports(job, model)) + "\n",
        _settings(job),
    ]
    if model is not None:
        blocks.append(_ready(job, model))
    return "\n\n".join(block.rstrip("\n") + "\n" for block in blocks)


def _use(job: Job, model: Shipped | None) -> list[str]:
    if model is None or model.base is None:
        return ["call settings() on your own configuration"]
    module, function = f"{sections.stem(job)}_torchtitan", _function(job)
    return [f"NGPU={job.made.devices_per_node} MODULE={module} CONFIG={function} ./run_train.sh"]


def _function(job: Job) -> str:
    """Its name, which none of torchtitan's own configurations has."""
    return f"{sections.stem(job)}_forerun"


def _imports(job: Job, model: Shipped | None) -> list[str]:
    made = job.made
    found = ["from torchtitan.trainer import Trainer"]
    if made.recompute != "none":
        name = {"full": "FullAC", "selective": "SelectiveAC"}[made.recompute]
        found.append(f"from torchtitan.distributed.activation_checkpoint import {name}")
    found += _loss_imports(job)
    if model is not None:
        found += _model_imports(job, model)
    if job.run.training.schedule == "wsd":
        found.insert(0, "import os\n")
    return sorted(found, key=lambda line: (line.startswith("from"), line))


def _loss_imports(job: Job) -> list[str]:
    return [
        f"from torchtitan.components.loss import {', '.join(_losses(job))}",
        "from torchtitan.models.common.config_utils import decoder_vocab_size",
    ]


def _losses(job: Job) -> list[str]:
    wrapper = ["ChunkedLossWrapper"] if job.made.loss == "chunked" else []
    return [*wrapper, "CrossEntropyLoss"]


def _model_imports(job: Job, model: Shipped) -> list[str]:
    home = f"torchtitan.models.{model.module}"
    found = []
    if model.base is not None:
        found.append(f"from {home}.config_registry import {model.base}")
    if sections.converted(job):
        found.append(f"from {home} import model_registry")
    if job.made.precision in _CONVERTERS:
        name = _CONVERTERS[job.made.precision][0]
        found.append(f"from torchtitan.components.quantization import {name}")
    if job.adapters:
        found.append("from torchtitan.components.lora import LoRAConverter")
    return found


def _settings(job: Job) -> str:
    """The function that sets the plan's numbers on any configuration."""
    made = job.made
    disabled = made.pp > 1 or made.ep > 1 or not job.stack.cuda_graphs
    lines = [
        "def settings(config: Trainer.Config) -> Trainer.Config:",
        *_assigned("training", sections.training(job)),
        f"    config.training.disable_cuda_graphs = {disabled}",
        *_assigned("parallelism", sections.parallelism(job)),
        f"    config.activation_checkpoint = {_RECOMPUTES[made.recompute]}",
        f"    config.compile.enable = {made.compile != 'none'}",
        f"    config.optimizer.implementation = {sections.implementation(job)!r}",
        *_assigned("lr_scheduler", sections.scheduler(job)),
        *_extra(job),
        "    config.loss = " + _loss(job),
        "    return config",
    ]
    return "\n".join(lines) + "\n"


def _extra(job: Job) -> list[str]:
    found = []
    if job.run.training.schedule == "wsd":
        found.append('    config.lr_scheduler.decay_ratio = float(os.environ["DECAY_RATIO"])')
    if job.made.tp > 1 and not job.made.sequence_parallel:
        found.append("    config.parallelism.enable_sequence_parallel = False")
    if job.made.precision == "nvfp4":
        found.append('    config.parallelism.spmd_backend = "spmd_types"')
    if job.save_steps is not None:
        found.append("    config.checkpoint.enable = True")
        found.append(f"    config.checkpoint.interval = {job.save_steps}")
    return found


def _loss(job: Job) -> str:
    plain = "CrossEntropyLoss.Config(global_vocab_size=decoder_vocab_size(config.model_spec))"
    if job.made.loss != "chunked":
        return plain
    return f"ChunkedLossWrapper.Config(\n        loss_fn={plain}\n    )"


def _assigned(section: str, values: Mapping[str, Any]) -> list[str]:
    return [f"    config.{section}.{name} = {value!r}" for name, value in values.items()]


def _ready(job: Job, model: Shipped) -> str:
    """The function that `--config` names, on torchtitan's own configuration of the model."""
    argument = "" if model.base is not None else "config: Trainer.Config"
    lines = [f"def {_function(job)}({argument}) -> Trainer.Config:"]
    if model.base is not None:
        lines.append(f"    config = {model.base}()")
    if sections.converted(job):
        lines.append(f"    config.model_spec = model_registry(\n        {model.flavor!r},")
        lines.append(f"        converters=[{', '.join(_converters(job))}],\n    )")
    return "\n".join([*lines, "    return settings(config)"]) + "\n"


def _converters(job: Job) -> list[str]:
    made, found = job.made, []
    if made.precision in _CONVERTERS:
        name, arguments = _CONVERTERS[made.precision]
        found.append(f"{name}.Config({arguments.format(compiled=made.compile != 'none')})")
    if job.adapters:
        lora = job.run.training.lora
        every = lora.targets == ("all-linear",)
        targets = "None" if every else repr([*lora.targets])
        found.append(f"LoRAConverter.Config(rank={lora.rank}, target_modules={targets})")
    return found
