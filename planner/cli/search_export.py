"""`forerun search --export TARGET`: the best, written as the config of a real trainer."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from planner.cli.output import note
from planner.errors import PlannerError
from planner.run import Run
from planner.trainers.registry import TARGETS, Target, target

if TYPE_CHECKING:
    from planner.search.answer import Answer
    from planner.search.restrictions import Restrictions
    from planner.search.space import Space
    from planner.trainers.export import Export


def add_export(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--export",
        metavar="TARGET",
        help="write the best as the config of a trainer, on standard output in place of the "
        f"table: {', '.join(TARGETS)}; only what it can run is searched",
    )
    parser.add_argument(
        "--out", metavar="FILE", help="of --export: write to this file and print the table"
    )
    parser.add_argument(
        "--force", action="store_true", help="of --export --out: overwrite an existing file"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to export and where to: checked before the search, which may take long."""

    target: Target
    path: Path | None  # None = standard output

    def planned(self, run: Run) -> Run:
        """The run on the target's own software, where it names none."""
        if run.training.stack is not None or self.target.stack is None:
            return run
        note(f"planned as {self.target.name} runs it: no training.stack is named")
        return run.changed({"training.stack": self.target.stack})

    def narrowed(self, limits: Restrictions) -> Restrictions:
        """The restrictions, narrowed to what the target can hold. Raises PlannerError."""
        from planner.trainers.narrow import narrowed

        found, says = narrowed(self.target.name, limits)
        if says:
            note(f"searched for {self.target.name}: {'; '.join(says)}")
        return found

    def runnable(self, found: Space) -> Space:
        """What is searched, without what breaks a rule of the target. Raises PlannerError."""
        from planner.trainers.narrow import runnable

        return runnable(self.target.name, found)

    def write(self, made: Export) -> None:
        """To the file, or to standard output; what is left to the user goes to standard error."""
        file = made.file(self.path.suffix if self.path else "")
        if self.path is not None:
            _check_form(self.path, file.name, made.software)
        if self.path is None:
            sys.stdout.write(file.text)
        else:
            _write(self.path, file.text)
            note(f"the best is in {self.path}, for {made.software}")
        for each in made.left:
            note(f"left to you: {each.what}: {each.says}")


def wanted(args: argparse.Namespace) -> Wanted | None:
    """What the flags ask for, None without `--export`. Raises PlannerError."""
    if args.export is None:
        if args.out is not None or args.force:
            flag, value = ("--out", args.out) if args.out is not None else ("--force", True)
            raise PlannerError(flag, value, "goes with --export TARGET")
        return None
    which = target(args.export)
    for flag in ("worker", "measure"):
        if getattr(args, flag):
            raise PlannerError("--export", args.export, f"needs an exact search: no --{flag}")
    if args.force and args.out is None:
        raise PlannerError("--force", True, "goes with --out FILE")
    path = None if args.out is None else Path(args.out)
    if path is not None:
        _check_path(path, args.force)
    return Wanted(target=which, path=path)


def exported(answer: Answer, which: Wanted) -> Export | None:
    """The best as the target's config; None where nothing fits. Raises PlannerError."""
    from planner.search.rows import outline_of
    from planner.trainers import export, job_of

    if answer.best is None:
        note(f"nothing fits within the limits: nothing is written for {which.target.name}")
        return None
    return export(which.target.name, job_of(outline_of(answer.space, answer.best)))


def to_json(made: Export | None) -> dict[str, Any] | None:
    return None if made is None else made.to_json()


def _check_path(path: Path, force: bool) -> None:
    if path.is_dir():
        raise PlannerError("--out", str(path), "is a folder: name a file in it")
    if path.is_fifo():  # writing would wait for a reader without end
        raise PlannerError("--out", str(path), "is a named pipe: name a file")
    if path.exists() and not force:
        raise PlannerError("--out", str(path), "exists: add --force to overwrite it")
    if not path.parent.is_dir():
        raise PlannerError("--out", str(path), f"make the folder {path.parent} first")


def _check_form(path: Path, name: str, software: str) -> None:
    """Refuse to put one format into a file whose ending names another."""
    forms = (".yaml", ".yml", ".json", ".toml", ".py", ".sh", ".sbatch")
    given, form = path.suffix.replace("yml", "yaml"), Path(name).suffix
    if path.suffix in forms and given != form:
        remedy = f"this plan's config for {software} is a {form}: name a file with that ending"
        raise PlannerError("--out", str(path), remedy)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise PlannerError("--out", str(path), f"cannot be written: {error.strerror}") from None
