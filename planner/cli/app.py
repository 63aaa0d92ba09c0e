"""`forerun app`: the application in a browser, on this machine only unless told otherwise."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import socket
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from planner.cli.output import print_json
from planner.errors import PlannerError

HELP = "the application in a browser"

_SCRIPT = Path(__file__).resolve().parents[2] / "app.py"
FRAME = _SCRIPT.parent / "ui" / "streamlit.toml"  # beside the pages in a wheel too


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("run_file", metavar="RUN.yaml", nargs="?", help="open on this run")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (127.0.0.1)")
    parser.add_argument("--port", default="8501", metavar="N", help="port to listen on (8501)")
    parser.add_argument(
        "--no-browser", action="store_true", help="do not open a browser, only print the address"
    )


def run(args: argparse.Namespace) -> int:
    port = _port(args.port)
    if args.run_file:
        from planner.run import Run

        Run.from_yaml(args.run_file)  # a wrong file is refused here, in the terminal
    if importlib.util.find_spec("streamlit") is None:
        raise PlannerError("streamlit", None, "the application needs it: pip install streamlit")
    _refuse_taken(args.host, port)
    if args.json:
        print_json({"url": f"http://{args.host}:{port}", "host": args.host, "port": port})
    return _replace_process(_command(args, port))


def _port(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 65536):
        raise PlannerError("--port", text, "write a port from 1 to 65535")
    return int(text)


def _refuse_taken(host: str, port: int) -> None:
    """Say in one line that something listens there already, which the server would not."""
    try:
        with socket.create_connection((host, port), timeout=1):
            pass
    except OSError:
        return
    other = port + 1 if port < 65535 else 8501
    raise PlannerError("--port", port, f"in use: name another, such as --port {other}")


def _command(args: argparse.Namespace, port: int) -> list[str]:
    options = frame_options() | {"server.address": args.host, "server.port": str(port)}
    if args.no_browser or args.json:
        options["server.headless"] = "true"
    flags = [f"--{name}={value}" for name, value in options.items()]
    script = ["--", str(Path(args.run_file).resolve())] if args.run_file else []
    return [sys.executable, "-m", "streamlit", "run", str(_SCRIPT), *flags, *script]


def frame_options() -> dict[str, str]:
    """Streamlit's options of the application, by dotted name, as its flags take them.

    >>> frame_options()["theme.dark.backgroundColor"]
    '#12161c'
    """
    return dict(_flat(tomllib.loads(FRAME.read_text(encoding="utf-8")), ()))


def _flat(table: Mapping[str, Any], path: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        here = (*path, name)
        if isinstance(value, Mapping):
            yield from _flat(value, here)
        else:
            yield ".".join(here), value if isinstance(value, str) else json.dumps(value)


def _replace_process(command: list[str]) -> int:
    """Become the server, so that a signal to us reaches it and nothing is left behind."""
    sys.stdout.flush()
    start = os.execv if os.name == "posix" else _call
    start(command[0], command)
    return 0


def _call(_: str, command: list[str]) -> None:
    raise SystemExit(subprocess.call(command))
