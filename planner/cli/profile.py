"""`forerun profile`: measure this machine, a size-scaling study, or a real training step."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from planner.cli.output import note, print_json, warn
from planner.errors import PlannerError
from profiles import command

if TYPE_CHECKING:
    from profiles.result import Profile

HELP = "measure this machine, write a profile"


# options that a training step has no use for, and those that only it has, with their defaults
_OF_KERNELS: dict[str, object] = {
    **dict.fromkeys(("describe", "resume", "overwrite", "quick", "full"), False),
    **dict.fromkeys(("show", "study", "figure", "out"), None),
    "progress": "text",
}
_OF_STEPS: dict[str, object] = {
    "micro_batch": "1",
    "seq_len": None,
    "input_shape": None,
    "precision": "fp32",
    "optimizer": "adamw",
    "compile": "none",
    "steps": "10",
}


def configure(parser: argparse.ArgumentParser) -> None:
    command.configure(parser)
    parser.add_argument(
        "--model",
        metavar="NAME",
        help="measure training steps of this model: a preset, a config, or FILE.py:FUNCTION",
    )
    parser.add_argument(
        "--micro-batch", metavar="N", default="1", help="of the model, or `largest` (default: 1)"
    )
    parser.add_argument("--seq-len", metavar="TOKENS", help="of the model")
    parser.add_argument("--input-shape", metavar="C,H,W", help="of one sample of FILE.py:FUNCTION")
    parser.add_argument(
        "--precision", default="fp32", help="fp32 (default), tf32, bf16, fp16, pure-bf16, fp64"
    )
    parser.add_argument(
        "--optimizer",
        default="adamw",
        help="adamw (default), adamw-foreach, adamw-fused, sgd, sgd-momentum, none",
    )
    parser.add_argument("--compile", default="none", help="none (default), regional, full")
    parser.add_argument("--steps", metavar="N", default="10", help="steady steps to time (10)")


def _refuse_idle(args: argparse.Namespace) -> None:
    """An option of the other kind of measurement would do nothing."""
    if args.model is None:
        others, remedy = _OF_STEPS, "is of a model's training step: add --model, or leave it out"
    else:
        others, remedy = _OF_KERNELS, "is of a profile of kernels: leave it or --model out"
    for name, usual in others.items():
        value = getattr(args, name)
        if value == usual:
            continue
        shown = "given" if value is True else value
        raise PlannerError(f"--{name.replace('_', '-')}", shown, remedy)


def run(args: argparse.Namespace) -> int:
    _refuse_idle(args)
    if args.model is not None:
        from planner.cli.profile_step import step_answer

        found = step_answer(args)
    else:
        found = command.answer(args)
    quality = _quality(found.profile)
    if args.json:
        print_json(found.found | ({} if found.profile is None else {"quality": quality}))
        return 0
    sys.stdout.write("\n".join(found.lines) + "\n")
    for text in _quality_lines(quality):
        note(text)
    for text in found.warnings:
        warn(text)
    return 0


def _quality(profile: Profile | None) -> dict[str, Any] | None:
    """What the profile errs by on products that it was not shown; None where it holds too few."""
    if profile is None:
        return None
    from planner.profile_device.figures import figures_of
    from planner.profile_device.quality import left_out

    try:
        return left_out(figures_of(profile.device, profile.results))
    except PlannerError:
        return None


def _quality_lines(quality: dict[str, Any] | None) -> list[str]:
    if not quality:
        return []
    return [
        f"{name} products left out of the fit: median error {100 * row['median']:.1f} %, "
        f"90 % under {100 * row['p90']:.1f} % ({row['n']} shapes)"
        for name, row in quality.items()
    ]
