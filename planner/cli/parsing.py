"""An argument parser whose complaints are one line with a remedy, as all our errors are."""

from __future__ import annotations

import argparse
import re
from typing import Any, NoReturn

from planner.errors import PlannerError, nearest

_ARGUMENT = re.compile(r"argument (?P<name>[^:]+): (?P<problem>.*)", re.DOTALL)
_CHOICE = re.compile(r"invalid choice: '?(?P<value>.*?)'? \(choose from (?P<words>.*)\)", re.DOTALL)
_NOT_A = re.compile(r"invalid (?P<kind>\w+) value: '?(?P<value>.*?)'?", re.DOTALL)
_MISSING = re.compile(r"the following arguments are required: (?P<names>.*)")

_KINDS = {"int": "a whole number", "float": "a number"}


class Parser(argparse.ArgumentParser):
    """As argparse's, but unusable arguments raise PlannerError instead of printing and leaving.

    Every parser, those of sub-commands included, has `--json`.
    """

    def __init__(self, **settings: Any) -> None:
        settings.setdefault("formatter_class", HelpFormatter)
        super().__init__(allow_abbrev=False, **settings)
        self.add_argument(
            "--json",
            action="store_true",
            default=argparse.SUPPRESS,
            help="print one JSON object and nothing else",
        )

    @property
    def command(self) -> str:
        """What the user typed after `forerun`."""
        return self.prog.removeprefix("forerun ")

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        found, extra = self.parse_known_args(args, namespace)
        if extra:
            self._refuse_extra(extra[0])
        found.json = getattr(found, "json", False)
        return found

    def error(self, message: str) -> NoReturn:
        see = f"see {self.prog} --help"
        if missing := _MISSING.fullmatch(message):
            raise PlannerError(missing["names"], None, f"give it: {see}")
        argument = _ARGUMENT.fullmatch(message)
        if argument is None:
            raise PlannerError(self.command, None, f"{message}: {see}")
        if choice := _CHOICE.fullmatch(argument["problem"]):
            words = choice["words"].replace("'", "")
            near = nearest(choice["value"], words.split(", "), count=1)
            guess = f"did you mean {near[0]}? " if near else ""
            raise PlannerError(argument["name"], choice["value"], f"{guess}known are {words}")
        if wrong := _NOT_A.fullmatch(argument["problem"]):
            kind = _KINDS.get(wrong["kind"], wrong["kind"])
            raise PlannerError(argument["name"], wrong["value"], f"write {kind}: {see}")
        raise PlannerError(argument["name"], None, f"{argument['problem']}: {see}")

    def with_sub_commands(self) -> list[Parser]:
        """This parser and those of its sub-commands."""
        found = [self]
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction):
                for sub in action.choices.values():
                    found += sub.with_sub_commands()
        return found

    def _options(self) -> list[str]:
        actions = [action for parser in self.with_sub_commands() for action in parser._actions]
        return [option for action in actions for option in action.option_strings]

    def _refuse_extra(self, word: str) -> NoReturn:
        name, _, _ = word.partition("=")
        near = nearest(name, self._options(), count=1) if name.startswith("-") else []
        if near:
            raise PlannerError(self.command, word, f"unknown option: did you mean {near[0]}?")
        kind = "option" if name.startswith("-") else "argument"
        raise PlannerError(self.command, word, f"unknown {kind}: see {self.prog} --help")


class HelpFormatter(argparse.HelpFormatter):
    """Wide enough that an option and its help share a line."""

    def __init__(self, prog: str, **settings: Any) -> None:
        settings.setdefault("max_help_position", 32)
        super().__init__(prog, **settings)


def command_parser(name: str, about: str) -> Parser:
    """The parser of one command."""
    return Parser(prog=f"forerun {name}", description=f"{about[:1].upper()}{about[1:]}.")
