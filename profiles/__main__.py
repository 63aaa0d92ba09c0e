"""`python -m profiles`: measure this machine, with nothing installed but torch and numpy."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from typing import TextIO

from profiles.command import ABOUT, answer, configure
from profiles.errors import ProfileError


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command line and return its exit status: 0 answered, 2 the user can mend it."""
    parser = argparse.ArgumentParser(prog="python -m profiles", description=ABOUT)
    configure(parser)
    parser.add_argument("--json", action="store_true", help="print one JSON object, nothing else")
    args = parser.parse_args(argv)
    try:
        found = answer(args)
    except ProfileError as error:
        sys.stderr.write(" ".join(f"profiles: {error}".split()) + "\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("profiles: interrupted\n")
        return 130
    except BrokenPipeError:  # whoever watched the progress has gone
        return _unread(sys.stderr)
    for each in found.warnings:
        sys.stderr.write(f"warning: {each}\n")
    return _printed(
        json.dumps(found.found, indent=2, allow_nan=False) if args.json else "\n".join(found.lines)
    )


def _printed(text: str) -> int:
    try:
        print(text, flush=True)
    except BrokenPipeError:  # whoever read has gone
        return _unread(sys.stdout)
    return 0


def _unread(stream: TextIO) -> int:
    """Nobody reads `stream` any more: what is still in it must not fail a second time."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return 141


if __name__ == "__main__":
    sys.exit(main())
