"""`forerun`: choose a command, run it, and turn every failure into one line and a status.

0 answered (also when the answer is "does not fit"), 2 the user can mend it, 1 our fault.
"""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from planner import __version__
from planner.cli.commands import COMMANDS, load
from planner.errors import PlannerError

ANSWERED, OUR_FAULT, MENDABLE, INTERRUPTED, NO_READER = 0, 1, 2, 130, 141
_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
_PACKAGE = Path(__file__).resolve().parents[1]


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    _open_closed_streams()
    _never_fail_to_print()
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except PlannerError as error:
        return _say(str(error), MENDABLE)
    except BrokenPipeError:
        return _leave_quietly()
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except OSError as error:
        return _unreadable(error)
    except Exception as error:
        return _say(str(error), MENDABLE) if _names_a_field(error) else _our_fault(error)


def _run(words: list[str]) -> int:
    if not words or words[0] in ("-h", "--help", "help"):
        print(_overview())
        return ANSWERED
    if words[0] in ("-V", "--version"):
        print(f"forerun {__version__}")
        return ANSWERED
    if words[0].startswith("-"):
        raise PlannerError("forerun", words[0], "name the command first: see forerun --help")
    command = load(words[0])
    from planner.cli.parsing import command_parser  # argparse, which `--version` does without

    parser = command_parser(words[0], command.HELP)
    command.configure(parser)
    try:
        args = parser.parse_args(words[1:])
    except SystemExit as leaving:  # after --help
        return int(leaving.code or 0)
    return command.run(args)


def _overview() -> str:
    width = max(len(name) for name, _ in COMMANDS)
    lines = [f"  {name:<{width}}  {help_}" for name, help_ in COMMANDS]
    return "\n".join(
        [
            "usage: forerun COMMAND [options]",
            "",
            "Resource planning and scaling laws for people who train neural networks.",
            "",
            *lines,
            "",
            "forerun COMMAND --help shows a command's options; --json prints one JSON object.",
        ]
    )


def _open_closed_streams() -> None:
    """Started without an output (`>&-`), the program writes to nowhere."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 - till exit


def _never_fail_to_print() -> None:
    """A terminal that lacks a character shows another one instead of ending the program."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


def _names_a_field(error: Exception) -> bool:
    """Whether an error of a part that may not know PlannerError says what the user can mend."""
    return all(hasattr(error, name) for name in ("field", "value", "remedy"))


def _say(text: str, status: int) -> int:
    """One line on standard error, whatever the text holds; control characters are shown."""
    line = " ".join(text.split())
    if not line.isprintable():
        line = "".join(each if each.isprintable() else repr(each)[1:-1] for each in line)
    with suppress(OSError):  # nobody reads it, or there is no room for it
        print(f"forerun: {line}", file=sys.stderr, flush=True)
    return status


def _leave_quietly() -> int:
    """The reader of our output has gone."""
    _drop_output()
    return NO_READER


def _drop_output() -> None:
    """Let the interpreter flush what is left into nothing."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _unreadable(error: OSError) -> int:
    """A file the user named and a full disk are mendable; a file of our own is not."""
    name = error.filename
    if name is None and error.errno in _NO_ROOM:
        _drop_output()
        full = PlannerError("output", "standard output", f"cannot be written: {error.strerror}")
        return _say(str(full), MENDABLE)
    if not isinstance(name, str) or Path(os.path.realpath(name)).is_relative_to(_PACKAGE):
        return _our_fault(error)
    return _say(str(PlannerError("file", name, f"cannot be opened: {error.strerror}")), MENDABLE)


def _our_fault(error: Exception) -> int:
    if os.environ.get("FORERUN_DEBUG"):
        import traceback

        traceback.print_exception(error)
    what = f"{type(error).__name__}: {error}".rstrip(": ")
    return _say(f"{what}: our fault, please report it; FORERUN_DEBUG=1 shows where", OUR_FAULT)


if __name__ == "__main__":
    sys.exit(main())
