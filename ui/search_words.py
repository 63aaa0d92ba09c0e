"""What the Search page's form says, in the words of `forerun search`, and what they mean.

The form is translated into flags and the flags are read by the command's own parser, so the page
and the command cannot differ.
"""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NoReturn

from planner.cli.search_options import add_aim, add_restrictions, restrictions_of, weights_of
from planner.errors import PlannerError
from planner.quantities import COUNT, read_whole
from planner.search.learned import Trials
from planner.search.points import OBJECTIVES, Aim
from planner.search.restrictions import Restrictions
from ui.page_fields import SEARCH_NUMBERS, SEARCH_WORDS

FREE_BATCH = "global_batch=1.."
USUAL_TRIALS, MOST_TRIALS = "200", 5000
LONGEST_NAME = 80  # characters of a study's name
_EXPERT = "--fix, --forbid, --bound, --try or --max-devices"


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The form as it stands; texts as typed."""

    by: str = "time"
    weights: str = ""  # of by value
    keep: tuple[str, ...] = ()  # axes that stay as the run says
    chosen: Mapping[str, tuple[str, ...]]  # words to try, by axis
    typed: Mapping[str, str]  # numbers to try (1,2,4) or bounds (1..8), by axis
    free_batch: bool = False
    most_devices: str = ""
    expert: str = ""  # flags, one or more a line
    trials: str | None = None  # None: only the exact search
    seed: str = "0"
    study: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a form asks."""

    aim: Aim
    limits: Restrictions
    trials: Trials | None
    flags: tuple[str, ...]  # of the command, without the study's storage


class _Parser(argparse.ArgumentParser):
    """Says what is wrong instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise PlannerError("expert", message, f"write {_EXPERT}")


def words_of(name: str, text: str) -> list[str]:
    """Numbers or bounds of one axis as flags.

    >>> words_of("tp", "1..8"), words_of("count", "8, 16"), words_of("pp", " ")
    (['--bound', 'tp=1..8'], ['--try', 'count=8,16'], [])
    """
    plain = "".join(text.split())
    if not plain:
        return []
    return ["--bound" if ".." in plain else "--try", f"{name}={plain}"]


def flags_of(form: Form) -> list[str]:
    """The form without its expert's words as flags of `forerun search`."""
    found = [] if form.by == "time" else ["--by", form.by]
    if form.by == "value" and form.weights.strip():
        found += ["--weights", "".join(form.weights.split())]
    for name in form.keep:
        found += ["--fix", name]
    for name in SEARCH_WORDS:
        if form.chosen.get(name):
            found += ["--try", f"{name}={','.join(form.chosen[name])}"]
    for name in SEARCH_NUMBERS:
        found += words_of(name, form.typed.get(name, ""))
    if form.free_batch:
        found += ["--bound", FREE_BATCH]
    if form.most_devices.strip():
        found += ["--max-devices", form.most_devices.strip()]
    return found


def read(form: Form) -> tuple[Wanted | None, dict[str, str]]:
    """What the form asks, or None with the mistakes: message by field.

    A field is "weights", "trials", "seed", "study", "most_devices", "expert", an axis, or "" for
    what comes of several fields together.
    """
    mistakes = _alone(form)
    expert = _expert(form.expert, mistakes)
    trials = _trials(form, mistakes)
    if mistakes:
        return None, mistakes
    flags = [*flags_of(form), *expert]
    try:
        args = parsed(flags)
        weights, limits = weights_of(args), restrictions_of(args)
        aim = Aim(by=args.by) if weights is None else Aim(by=args.by, weights=weights)
    except PlannerError as error:
        return None, {"expert" if expert else "": str(error)}
    return Wanted(aim=aim, limits=limits, trials=trials, flags=tuple(flags)), {}


def parsed(flags: Sequence[str]) -> argparse.Namespace:
    """Flags read as the command reads them. Raises PlannerError."""
    parser = _Parser(allow_abbrev=False, add_help=False)
    add_aim(parser)
    add_restrictions(parser)
    return parser.parse_args(list(flags))


def command(wanted: Wanted) -> str:
    """The same search on the command line."""
    flags = list(wanted.flags)
    if wanted.trials is not None:
        flags += ["--trials", str(wanted.trials.number)]
        flags += ["--seed", str(wanted.trials.seed)] if wanted.trials.seed else []
        flags += ["--study", wanted.trials.name] if wanted.trials.name else []
    return shlex.join(["forerun", "search", "RUN.yaml", *flags])


def _alone(form: Form) -> dict[str, str]:
    """Mistakes that one field makes by itself."""
    parts = {name: words_of(name, form.typed.get(name, "")) for name in SEARCH_NUMBERS}
    parts |= {
        name: ["--try", f"{name}={','.join(words)}"] if words else []
        for name, words in form.chosen.items()
    }
    if form.most_devices.strip():
        parts["most_devices"] = ["--max-devices", form.most_devices.strip()]
    found = {}
    for name, flags in parts.items():
        try:
            restrictions_of(parsed(flags))
        except PlannerError as error:
            found[name] = _said(error)
    if form.by == "value":
        found |= _weights(form.weights)
    assert form.by in OBJECTIVES
    return found


def _weights(text: str) -> dict[str, str]:
    if not text.strip():
        return {}
    try:
        weights = weights_of(parsed(["--by", "value", "--weights", "".join(text.split())]))
        Aim(by="value", weights=weights or {})
    except PlannerError as error:
        return {"weights": _said(error)}
    return {}


def _expert(text: str, mistakes: dict[str, str]) -> list[str]:
    """The expert's words as flags; what they cannot say stands in `mistakes`."""
    try:
        flags = shlex.split(text)
    except ValueError as error:
        mistakes["expert"] = f"{error}: close the quotation mark"
        return []
    try:
        for flag in ("--by", "--weights"):
            if any(word.partition("=")[0] == flag for word in flags):
                raise PlannerError("expert", flag, f"has its own field here: write {_EXPERT}")
        restrictions_of(parsed(flags))
    except PlannerError as error:
        mistakes["expert"] = str(error).removeprefix("expert: ")
    return flags


def _trials(form: Form, mistakes: dict[str, str]) -> Trials | None:
    """How to search by trials; None for the exact search alone."""
    if form.trials is None:
        return None
    found = {"trials": 0, "seed": 0}
    for name, text in (("trials", form.trials or USUAL_TRIALS), ("seed", form.seed or "0")):
        try:
            found[name] = _whole(name, text.strip())
        except PlannerError as error:
            mistakes[name] = _said(error)
    name = form.study.strip()
    if len(name) > LONGEST_NAME or not name.isprintable():
        mistakes["study"] = f"write up to {LONGEST_NAME} printable characters"
    if {"trials", "seed", "study"} & set(mistakes):
        return None
    return Trials(number=found["trials"], seed=found["seed"], name=name or None)


def _whole(name: str, text: str) -> int:
    if (name, text) == ("seed", "0"):
        return 0
    value = read_whole(COUNT, name, text)
    if name == "trials" and value > MOST_TRIALS:
        remedy = f"at most {MOST_TRIALS:,} here: the command line runs more, on many workers"
        raise PlannerError(name, text, remedy)
    return value


def _said(error: PlannerError) -> str:
    """Value and remedy; the field is beside it."""
    return str(error).removeprefix(f"{error.field}: ")
