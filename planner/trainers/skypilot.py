"""A task for SkyPilot: machines, and torchrun on each.

Fields after SkyPilot 0.14.1 (November 2026): `sky/utils/schemas.py`, `sky/task.py` (an environment
variable without a value must be given at launch), `sky/skylet/constants.py` (`SKYPILOT_*`);
docs.skypilot.co, Task YAML and distributed jobs. Accelerators by the names of the catalogue v8
(skypilot-org/skypilot-catalog at 001ca54, `common/accelerators.csv`), each with the part that the
name means there.
"""

from __future__ import annotations

from typing import Any

from planner.errors import PlannerError
from planner.trainers.export import Export, File, Left, remarked, yaml_text
from planner.trainers.job import Job
from planner.trainers.launch import numbers, trainer

SOFTWARE = "SkyPilot 0.14"
ACCELERATORS = {
    "h100-sxm5-80gb": "H100",
    "h100-pcie-80gb": "H100",
    "h100-nvl-94gb": "H100-NVL",
    "h200-sxm5-141gb": "H200",
    "b200-sxm6-180gb": "B200",
    "gh200-96gb": "GH200",
    "a100-sxm4-40gb": "A100",
    "a100-pcie-40gb": "A100",
    "a100-sxm4-80gb": "A100-80GB",
    "a100-pcie-80gb": "A100-80GB",
    "a10": "A10",
    "a10g": "A10G",
    "a30": "A30",
    "a40": "A40",
    "rtx-a6000": "RTXA6000",
    "rtx-a5000": "RTXA5000",
    "rtx-a4000": "RTXA4000",
    "l4": "L4",
    "l40": "L40",
    "l40s": "L40S",
    "rtx-6000-ada": "RTX6000-Ada",
    "rtx-3090": "RTX3090",
    "rtx-4090": "RTX4090",
    "rtx-5090": "RTX5090",
    "v100-sxm2-16gb": "V100",
    "v100-sxm2-32gb": "V100-32GB",
    "t4": "T4",
    "p100-pcie-16gb": "P100",
    "mi300x-192gb": "MI300X",
}
_RUN = """\
HEAD=$(echo "$SKYPILOT_NODE_IPS" | head -n 1)
torchrun --nnodes "$SKYPILOT_NUM_NODES" --nproc-per-node "$SKYPILOT_NUM_GPUS_PER_NODE" \\
    --node-rank "$SKYPILOT_NODE_RANK" --master-addr "$HEAD" --master-port 29500 $TRAIN
"""


def write(job: Job) -> Export:
    """The task. Raises PlannerError for an accelerator that the catalogue does not name."""
    check(job)
    remarks = (*trainer(job), *_left(job))
    text = remarked(job.heading(SOFTWARE), remarks) + yaml_text(config_of(job))
    return Export(
        target="skypilot",
        software=SOFTWARE,
        files=(File(name=f"{job.name}-sky.yaml", text=text),),
        left=remarks,
    )


def check(job: Job) -> None:
    """Refuse an accelerator without a name in the catalogue. Raises PlannerError."""
    _accelerator(job.made.sku)


def config_of(job: Job) -> dict[str, Any]:
    """The task as plain values."""
    made, price = job.made, job.run.price
    resources: dict[str, Any] = {
        "accelerators": f"{_accelerator(made.sku)}:{made.devices_per_node}",
        "use_spot": price.mode == "spot",
    }
    return {
        "name": job.name,
        "num_nodes": job.nodes,
        "resources": resources,
        "envs": {"TRAIN": None, **numbers(job)},
        "run": _RUN,
    }


def _accelerator(sku: str) -> str:
    name = ACCELERATORS.get(sku)
    if name is None:
        remedy = "SkyPilot's catalogue has no name for it: export to slurm, or name another part"
        raise PlannerError("hardware.sku", sku, remedy)
    return name


def _left(job: Job) -> list[Left]:
    found = [
        Left(what="TRAIN", says='sky launch FILE --env TRAIN="train.py ARGUMENTS"'),
        Left(what="setup", says="add setup, workdir and file_mounts: the code and the data"),
        Left(what="cloud", says=_cloud(job)),
    ]
    twins = [sku for sku, name in ACCELERATORS.items() if name == ACCELERATORS[job.made.sku]]
    if len(twins) > 1:
        says = f"the name stands for {' and '.join(twins)}: the plan is of {job.made.sku}"
        found.append(Left(what="accelerator", says=says))
    return found


def _cloud(job: Job) -> str:
    price = job.run.price
    if not price.provider:
        return "add resources.infra, or SkyPilot takes the cheapest"
    where = f"{price.provider}{f' in {price.region}' if price.region else ''}"
    return f"the plan's price is of {where}: add resources.infra by SkyPilot's name of it"
