"""`python -m profiles` and `forerun profile`: what both offer."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from profiles.device import Device, open_device
from profiles.errors import ProfileError
from profiles.file import read_profile
from profiles.measure import Job, measure
from profiles.progress import Progress, ProgressObjects
from profiles.result import Profile
from profiles.sizes import PRESETS

ABOUT = "Measure this machine and write a profile."
STUDIES = ("diffusion",)
_MOST_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, for a program and for a person."""

    found: dict[str, Any]
    lines: list[str]
    warnings: tuple[str, ...] = ()
    profile: Profile | None = None


def configure(parser: argparse.ArgumentParser) -> None:
    """The options of both commands."""
    parser.add_argument("--device", metavar="NAME", help="cpu, cuda:0, ... (default: first GPU)")
    speed = parser.add_mutually_exclusive_group()
    speed.add_argument("--quick", action="store_true", help="under a minute (default)")
    speed.add_argument("--full", action="store_true", help="more sizes and formats, eight minutes")
    parser.add_argument("--limit", metavar="SECONDS", help="time limit of the whole measurement")
    parser.add_argument("--threads", metavar="N", help="host threads that torch may use")
    parser.add_argument(
        "--clock",
        choices=("wall", "cpu"),
        default="wall",
        help="cpu: processor time instead, where others share the CPU (needs --threads 1)",
    )
    parser.add_argument("--out", metavar="FILE", help="profile file to write")
    parser.add_argument("--resume", action="store_true", help="continue the file where it ended")
    parser.add_argument("--overwrite", action="store_true", help="measure anew into a file there")
    parser.add_argument("--show", metavar="FILE", help="print a profile file, measure nothing")
    parser.add_argument(
        "--describe",
        action="store_true",
        help="the devices here and how they compute each format; measure nothing",
    )
    parser.add_argument(
        "--progress",
        choices=("text", "json"),
        default="text",
        help="json: one object a kernel on standard error, for programs",
    )
    parser.add_argument(
        "--study", metavar="NAME", help="a size-scaling study instead of a profile: diffusion"
    )
    parser.add_argument("--figure", metavar="FILE", help="the study's figure, as SVG")


_OF_MEASURING = ("limit", "threads", "out", "resume", "overwrite", "study", "figure", "full")


def _refuse_idle(args: argparse.Namespace) -> None:
    """What measures nothing takes no option of measuring."""
    asked = "describe" if args.describe else "show" if args.show is not None else None
    others = ("show",) if asked == "describe" else ("device",)
    for name in (*others, *_OF_MEASURING) if asked else ():
        value = getattr(args, name)
        if value not in (None, False):
            shown = "given" if value is True else value
            raise ProfileError(f"--{name}", shown, f"--{asked} measures nothing: leave it out")


def answer(args: argparse.Namespace) -> Answer:
    """Do what the options say."""
    _refuse_idle(args)
    if args.show is not None:
        return _shown(read_profile(args.show))
    if args.describe:
        return _described(args.device)
    limit = seconds_of(args.limit)
    device = opened(args)
    if args.study is not None:
        return _study(args, device, limit)
    return _profiled(args, device, limit)


def opened(args: argparse.Namespace) -> Device:
    """The device, with the host threads that were asked for."""
    device = open_device(args.device)
    if args.threads is not None:
        if not (args.threads.isascii() and args.threads.isdigit() and 0 < int(args.threads) < 4096):
            raise ProfileError("--threads", args.threads, "write a number from 1 to 4095")
        device.torch.set_num_threads(int(args.threads))
    if args.clock == "cpu":
        if device.kind != "cpu" or device.torch.get_num_threads() != 1:
            raise ProfileError("--clock", "cpu", "counts one thread on a CPU: add --threads 1")
        device.clock = "cpu"
    return device


def seconds_of(text: str | None) -> float | None:
    """A time limit in seconds."""
    if text is None:
        return None
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 1 <= seconds <= _MOST_SECONDS:
        raise ProfileError("--limit", text, "write seconds, from 1 to 86400")
    return seconds


def default_path(device: Device) -> Path:
    """Where a profile goes when nothing is said: beside the user, named after the device."""
    name = re.sub(r"[^a-z0-9]+", "-", device.name.lower()).strip("-")[:60] or device.kind
    return Path(f"profile-{name}-{device.label.replace(':', '')}.json")


def _profiled(args: argparse.Namespace, device: Device, limit: float | None) -> Answer:
    progress = ProgressObjects(sys.stderr) if args.progress == "json" else Progress(sys.stderr)
    path = Path(args.out) if args.out else default_path(device)
    job = Job(
        device=device,
        preset=PRESETS[1] if args.full else PRESETS[0],
        path=path,
        seconds=limit,
        resume=args.resume,
        overwrite=args.overwrite,
        report=progress,
    )
    try:
        profile = measure(job)
    except KeyboardInterrupt:
        progress.close()
        sys.stderr.write(f"note: {path} holds what was measured; --resume continues it\n")
        raise
    finally:
        progress.close()
    shown = _shown(profile)
    lines = [*shown.lines, f"written to {path}"]
    return dataclasses.replace(shown, found=shown.found | {"path": str(path)}, lines=lines)


def _shown(profile: Profile) -> Answer:
    from profiles.report import profile_lines

    found = dataclasses.asdict(profile)
    return Answer(
        found=found, lines=profile_lines(profile), warnings=profile.warnings, profile=profile
    )


def _described(label: str | None) -> Answer:
    from profiles.describe import described, description_lines

    devices = described(label)
    found = {"devices": [dataclasses.asdict(each) for each in devices]}
    return Answer(found=found, lines=description_lines(devices))


def _study(args: argparse.Namespace, device: Device, limit: float | None) -> Answer:
    if args.study not in STUDIES:
        raise ProfileError("--study", args.study, f"known is {', '.join(STUDIES)}")
    from profiles.diffusion import diffusion_study
    from profiles.report import study_lines

    study = diffusion_study(device, seconds=limit or 60.0)
    lines = study_lines(study)
    if args.figure is not None:
        from profiles.diffusion_figure import write_figure

        write_figure(study, Path(args.figure))
        lines.append(f"figure written to {args.figure}")
    found = dataclasses.asdict(study) | {"saturated_side": study.saturated_side}
    for row, each in zip(found["rows"], study.rows, strict=True):
        row |= {"speedup": each.speedup, "wrong_speedup": each.wrong_speedup}
    return Answer(found={"study": "diffusion"} | found, lines=lines)
