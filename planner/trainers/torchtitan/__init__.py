"""A configuration of torchtitan: a Python function for 0.3, and a TOML for 0.2.

torchtitan 0.3.0 (2026) has no config file: a run is a function that gives a `Trainer.Config`,
started with `--module FILE --config FUNCTION`; the TOML ended with 0.2.2. Fields after
`torchtitan/config/configs.py`, `trainer.py`, `components/optimizer/`, `components/loss.py`,
`components/quantization/`, `distributed/activation_checkpoint.py`, `distributed/parallel_dims.py`
and the models' `config_registry.py` of 0.3.0; the TOML's keys after `torchtitan/config/
job_config.py` of 0.2.2.

Ranks are dp_replicate · dp_shard · cp · tp · pp, and weights are shared by dp_shard · cp. A local
batch is the micro-batch; under pipeline parallelism it holds all micro-batches of a step, and
`pipeline_parallel_microbatch_size` is the micro-batch. Experts borrow ranks of dp_shard · cp · tp.
"""

from __future__ import annotations

from planner.trainers import left
from planner.trainers.export import Export, File, Left, remarked
from planner.trainers.holds import refusal
from planner.trainers.job import Job
from planner.trainers.torchtitan.models import Shipped, shipped
from planner.trainers.torchtitan.module_text import python_text
from planner.trainers.torchtitan.sections import OLDER, SOFTWARE, converted, stem
from planner.trainers.torchtitan.toml_text import toml_text

_DEFAULTS = (
    "0.2's own defaults stand: optimizer.lr 8e-4, lr_scheduler.warmup_steps 200,",
    "training.dataset c4_test, model.hf_assets_path ./tests/assets/tokenizer",
)


def write(job: Job) -> Export:
    """A Python module, and for 0.2 a TOML. Raises PlannerError."""
    check(job)
    model = shipped(job)
    remarks = _left(job, model)
    name = f"{stem(job)}_torchtitan"
    files = [File(name=f"{name}.py", text=python_text(job, model, remarks))]
    if model is not None and not _newer(job):
        heading = [*job.heading(OLDER), "", *_DEFAULTS]
        text = remarked(heading, remarks) + toml_text(job, model)
        files.append(File(name=f"{name}.toml", text=text))
    return Export(target="torchtitan", software=SOFTWARE, files=tuple(files), left=tuple(remarks))


def _newer(job: Job) -> bool:
    """Whether only 0.3 can run it."""
    made = job.made
    return made.precision == "nvfp4" or job.adapters or made.loss == "chunked"


def check(job: Job) -> None:
    """Refuse what no word alone rules out. Raises PlannerError."""
    made = job.made
    if made.sharding == "none" and made.cp > 1:
        why = f"with cp={made.cp}: weights are always shared by context ranks"
        raise refusal("torchtitan", "sharding", "none", instead=("zero3",), why=why)
    if made.sharding == "none" and made.offload != "none":
        why = "without sharding: only sharded states are offloaded"
        raise refusal("torchtitan", "offload", made.offload, instead=("none",), why=why)
    if made.ep > 1 and (job.data_shard_degree * made.cp * made.tp) % made.ep:
        why = f"as it must divide dp_shard·cp·tp, {job.data_shard_degree * made.cp * made.tp}"
        raise refusal("torchtitan", "ep", made.ep, instead=("sharding=zero3",), why=why)


def _left(job: Job, model: Shipped | None) -> list[Left]:
    made = job.made
    return [
        left.learning_rate("the shipped configuration's stand"),
        *_base(job, model),
        *left.data_and_weights(job, "the shipped configuration's stand"),
        Left(
            what="launch", says=f"{made.num_devices} ranks: {job.nodes} x {made.devices_per_node}"
        ),
        Left(what="attention", says="the model's own backend, flex unless you name another"),
        *_schedule(job),
        *_low_precision(job),
        *_converters(job, model),
        *_experts(job),
        *_adapters(job),
        *left.tf32(job),
        *left.hsdp(job),
        *left.reduce_dtype(job, "fp32"),
        *left.other_software(job, "torchtitan"),
    ]


def _base(job: Job, model: Shipped | None) -> list[Left]:
    if model is not None and model.base is not None:
        return []
    says = f"torchtitan ships no configuration of {job.model.name}: give the function your own"
    return [Left(what="model", says=says)]


def _schedule(job: Job) -> list[Left]:
    if job.run.training.schedule != "wsd":
        return []
    says = "set DECAY_RATIO, the share of the steps that decays: a run does not say it"
    return [Left(what="schedule", says=says)]


def _low_precision(job: Job) -> list[Left]:
    if job.made.precision not in ("fp8", "nvfp4"):
        return []
    says = "row-wise scaling, torchtitan's usual" if job.made.precision == "fp8" else "in layers"
    return [Left(what=job.made.precision, says=f"{says}: a run does not say the scaling")]


def _experts(job: Job) -> list[Left]:
    if job.made.ep == 1 or job.made.tp == 1:
        return []
    says = "torchtitan does not split experts by tp as the plan does: they take its ranks"
    return [Left(what="experts", says=says)]


def _adapters(job: Job) -> list[Left]:
    if not job.adapters:
        return []
    says = "LoRAConverter's alpha stays its 16: a run does not say the scale"
    return [Left(what="lora_alpha", says=says)]


def _converters(job: Job, model: Shipped | None) -> list[Left]:
    if model is not None or not converted(job):
        return []
    says = "give your model_registry the converter of fp8, nvfp4 or LoRA: settings() cannot"
    return [Left(what="converters", says=says)]
