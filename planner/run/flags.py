"""Flags of a run: every key of a run file has one of the same name, and a flag wins."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from planner.run.keys import Key, dotted, is_nothing, keys_of, section_mapping
from planner.run.layout import Layout
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


_LAYOUT = Layout.PATH


def flags_of(run: Run, changes: Mapping[str, object]) -> str:
    """The flags that make `changes` to `run`, to be pasted behind the command that made it.

    A layout is written whole, since the flag replaces what a file or an earlier flag says of it.

    >>> run = Run(model="qwen3-8b", training={"layout": "tp=2"})
    >>> flags_of(run, {"training.recompute": "full", "training.layout.sharding": "zero1"})
    '--recompute full --layout tp=2,sharding=zero1'
    """
    flags = {name: flag for name, flag, _ in run_keys()}
    changed = run.changed(changes)
    names = dict.fromkeys(_LAYOUT if name.startswith(_LAYOUT) else name for name in changes)
    said = [
        f"{flags[name]} {shlex.quote(_said(changed, name))}"
        for name in names
        if not (is_nothing(_at(changed, name)) and is_nothing(_at(run, name)))
    ]
    return " ".join(said)


def _at(run: Run, name: str) -> Any:
    """The value of a dotted key."""
    found: Any = run
    for part in name.split("."):
        found = getattr(found, part)
    return found


def _said(run: Run, name: str) -> str:
    """A key's value as its flag takes it; what is left to the planner is auto, or null."""
    value = _at(run, name)
    if isinstance(value, Layout):
        usual = section_mapping(Layout())
        stated = {key: each for key, each in section_mapping(value).items() if each != usual[key]}
        pairs = [f"{key}={str(each).lower()}" for key, each in stated.items()]
        return ",".join(pairs) or f"tp={value.tp}"
    if value is None:
        return "auto" if name in _OR_AUTO else "null"
    return str(value)


_OR_AUTO = (_LAYOUT, "training.micro_batch", "training.accumulation", "training.global_batch")
