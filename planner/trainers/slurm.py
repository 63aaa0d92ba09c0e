"""A batch script for Slurm that starts torchrun once a node.

Options after the page of `sbatch` (slurm.schedmd.com/sbatch.html) and of torchrun (torch 2.13,
docs.pytorch.org/docs/stable/elastic/run.html), both read November 2026.
Nodes · devices of a node are the plan's devices.
"""

from __future__ import annotations

import math

from planner.trainers.export import Export, File, Left, remarked
from planner.trainers.job import Job
from planner.trainers.launch import numbers, trainer

SOFTWARE = "Slurm"


def write(job: Job) -> Export:
    """The script; the training script and its arguments follow its name."""
    remarks = (*trainer(job), *_left(job))
    return Export(
        target="slurm",
        software=SOFTWARE,
        files=(File(name=f"{job.name}.sbatch", text=_script(job, remarks)),),
        left=remarks,
    )


def check(job: Job) -> None:
    """Every plan can be launched."""


def time_limit(seconds: float) -> str:
    """Days-hours:minutes:seconds, rounded up to a minute.

    >>> time_limit(90061)
    '1-01:02:00'
    """
    minutes = math.ceil(seconds / 60)
    days, rest = divmod(minutes, 24 * 60)
    return f"{days}-{rest // 60:02d}:{rest % 60:02d}:00"


def _script(job: Job, remarks: tuple[Left, ...]) -> str:
    made = job.made
    options = [
        f"--job-name={job.name}",
        f"--nodes={job.nodes}",
        "--ntasks-per-node=1",
        f"--gpus-per-node={made.devices_per_node}",
        f"--time={time_limit(job.longest_seconds)}",
        "--exclusive",
        "--output=%x-%j.log",
    ]
    exports = [f"export {name}={value}" for name, value in numbers(job).items()]
    return "\n".join(
        [
            "#!/bin/bash",
            *(f"#SBATCH {option}" for option in options),
            remarked(job.heading(SOFTWARE), remarks).rstrip(),
            "",
            "set -euo pipefail",
            f': "${{1:?usage: sbatch {job.name}.sbatch train.py ARGUMENTS}}"',
            *exports,
            'HEAD=$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)',
            f"srun torchrun --nnodes {job.nodes} --nproc-per-node {made.devices_per_node} \\",
            '    --rdzv-id "$SLURM_JOB_ID" --rdzv-backend c10d \\',
            '    --rdzv-endpoint "$HEAD:${MASTER_PORT:-29500}" "$@"',
            "",
        ]
    )


def _left(job: Job) -> list[Left]:
    return [
        Left(what="account", says="--partition and --account, and --constraint for the GPU"),
        Left(
            what="time",
            says="--time is the upper end of the plan's interval: a partition may allow less",
        ),
    ]
