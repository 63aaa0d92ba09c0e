"""Flags of a run: every key of a run file has one of the same name, and a flag wins."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Iterator

from planner.run.keys import Key, dotted, keys_of
from planner.run.lora import Lora
from planner.run.mapping import mapping_from_yaml, overlay
from planner.run.run import SECTIONS, Run

_DEST = "run."
_FILE = "run_file"


def run_keys() -> Iterator[tuple[str, str, Key]]:
    """Dotted name, flag and key of everything a run file can say."""
    for path, section in (("", Run), *SECTIONS.items(), ("training.lora", Lora)):
        for name, key in keys_of(section).items():
            if key.flag is not None:
                yield dotted(path, name), f"--{key.flag or name.replace('_', '-')}", key


def add_run_flags(
    parser: argparse.ArgumentParser,
    *,
    file: str = "optional",
    without: Collection[str] = (),
) -> None:
    """Add RUN.yaml (`file`: optional, required or none) and a flag for each of its keys.

    `without` leaves out sections or keys by dotted name, for commands that give those words
    another meaning.
    """
    assert file in ("optional", "required", "none")
    if file != "none":
        nargs = "?" if file == "optional" else None
        parser.add_argument(
            _FILE, metavar="RUN.yaml", nargs=nargs, help="run file; flags win over its keys"
        )
    groups: dict[str, argparse._ArgumentGroup] = {}
    for name, flag, key in run_keys():
        section = name.rpartition(".")[0].partition(".")[0] or "model"
        if name in without or section in without:
            continue
        group = groups.setdefault(section, parser.add_argument_group(f"run: {section}"))
        group.add_argument(
            flag,
            dest=_DEST + name,
            metavar=key.metavar,
            help=key.help.replace("%", "%%"),
            default=argparse.SUPPRESS,
        )


def run_from_args(args: argparse.Namespace) -> Run:
    """The run that a file and flags describe together. Raises PlannerError."""
    file = getattr(args, _FILE, None)
    given = {
        name.removeprefix(_DEST): value
        for name, value in vars(args).items()
        if name.startswith(_DEST)
    }
    return Run.from_mapping(overlay(mapping_from_yaml(file) if file else {}, given))
