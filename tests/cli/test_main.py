"""The frame of the command line: choosing a command, refusing in one line, statuses."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from planner import __version__
from planner.cli import commands
from planner.cli.commands import COMMANDS
from planner.errors import PlannerError

PROJECT = Path(__file__).resolve().parents[2]
NAMES = [name for name, _ in COMMANDS]


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Register a command `probe` that does what a test says."""

    def register(
        run: Callable[[Any], int], configure: Callable[[Any], None] = lambda _: None
    ) -> None:
        module = SimpleNamespace(HELP="a probe", configure=configure, run=run)
        monkeypatch.setitem(sys.modules, "planner.cli.probe", module)
        monkeypatch.setattr(commands, "COMMANDS", (*COMMANDS, ("probe", "a probe")))

    return register


def raiser(error: BaseException) -> Callable[[Any], int]:
    def run(_: Any) -> int:
        raise error

    return run


@pytest.mark.parametrize("words", [[], ["--help"], ["-h"], ["help"]])
def test_help_lists_the_commands(forerun: Any, words: list[str]) -> None:
    answer = forerun(*words)
    assert answer.status == 0
    assert all(name in answer.out for name in NAMES)


def test_the_version_is_the_project_s(forerun: Any) -> None:
    import tomllib

    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    assert forerun("--version").out == f"forerun {__version__}\n"
    assert project["version"] == __version__


@pytest.mark.parametrize("name", NAMES)
def test_a_command_s_module_keeps_the_agreement(name: str) -> None:
    module = import_module(f"planner.cli.{name}")
    assert module.HELP.strip()
    assert callable(module.configure)
    assert callable(module.run)


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_for_every_option(forerun: Any, name: str) -> None:
    from planner.cli.parsing import command_parser

    answer = forerun(name, "--help")
    assert answer.status == 0
    assert answer.out.startswith(f"usage: forerun {name}")
    assert "--json" in answer.out
    module = import_module(f"planner.cli.{name}")
    parser = command_parser(name, module.HELP)
    module.configure(parser)
    for each in parser.with_sub_commands():
        silent = [action for action in each._actions if not action.help]
        assert all(isinstance(action, argparse._SubParsersAction) for action in silent), silent


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["pln"], "forerun: command: 'pln': did you mean plan?"),
        (["zzzzzz"], "forerun: command: 'zzzzzz': known are plan"),
        (["--json", "plan"], "name the command first"),
        (
            ["probe", "--nmae", "x"],
            "forerun: probe: '--nmae': unknown option: did you mean --name?",
        ),
        (["probe", "--name"], "forerun: --name: nothing given: expected one argument"),
        (
            ["probe", "--size", "bgi"],
            "--size: 'bgi': did you mean big? known are small, big",
        ),
        (["probe", "--depth", "1e3"], "forerun: --depth: '1e3': write a whole number"),
        (["probe", "extra"], "forerun: probe: 'extra': unknown argument"),
        (["probe", "--na", "x"], "unknown option"),
    ],
)
def test_a_wrong_command_line_is_refused_in_one_line(
    forerun: Any, command: Any, words: list[str], says: str
) -> None:
    def configure(parser: Any) -> None:
        parser.add_argument("--name", help="a name")
        parser.add_argument("--size", choices=["small", "big"], help="a size")
        parser.add_argument("--depth", type=int, help="a number")

    command(lambda _: 0, configure)
    answer = forerun(*words)
    assert answer.status == 2
    assert answer.out == ""
    assert says in answer.err
    assert answer.err.count("\n") == 1


class NameRefusedError(LookupError):
    """As a part that may not know PlannerError would raise."""

    field, value, remedy = "sku", "h999", "did you mean h200?"


@pytest.mark.parametrize(
    ("error", "status", "says"),
    [
        (PlannerError("data.tokens", "x", "write 1T"), 2, "data.tokens: 'x': write 1T"),
        (PlannerError("f", "a\nb\u2028c", "two\nlines"), 2, "two lines"),
        (NameRefusedError("sku: 'h999': did you mean h200?"), 2, "sku: 'h999': did you mean h200?"),
        (FileNotFoundError(2, "No such file or directory", "/x/log.csv"), 2, "/x/log.csv"),
        (FileNotFoundError(2, "No", "/x/" + "y" * 5000), 2, "yyy..."),
        (PlannerError("\x1b[31mred\u202e", 1, "mend"), 2, "forerun: \\x1b[31mred\\u202e: 1: mend"),
        (OSError(28, "No space left on device"), 2, "output: 'standard output': cannot be written"),
        (FileNotFoundError(2, "No", str(PROJECT / "planner" / "own.csv")), 1, "our fault"),
        (
            ZeroDivisionError("division by zero"),
            1,
            "ZeroDivisionError: division by zero: our",
        ),
        (AssertionError(), 1, "AssertionError: our fault"),
        (RecursionError("deep"), 1, "our fault"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_a_failure_is_one_line_and_a_status(
    forerun: Any, command: Any, error: BaseException, status: int, says: str
) -> None:
    command(raiser(error))
    answer = forerun("probe")
    assert answer.status == status
    assert says in answer.err
    assert answer.err.count("\n") == 1
    assert answer.out == ""


def test_a_loop_of_links_is_refused(forerun: Any, tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    for words in (["plan", loop], ["stop", loop], ["scaling", "fit", loop], ["model", loop]):
        answer = forerun(*words)
        assert (answer.status, answer.err.count("\n"), answer.out) == (2, 1, "")


def test_a_traceback_is_shown_only_on_request(
    forerun: Any, command: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    command(raiser(ZeroDivisionError("oops")))
    monkeypatch.setenv("FORERUN_DEBUG", "1")
    assert "Traceback" in forerun("probe").err


def test_json_is_an_option_before_and_after_a_sub_command(forerun: Any, command: Any) -> None:
    def configure(parser: Any) -> None:
        sub = parser.add_subparsers(dest="action", metavar="list|show", required=True, help="what")
        sub.add_parser("list", help="list").add_argument("--all", action="store_true", help="all")

    seen: list[tuple[str, bool]] = []
    command(lambda args: seen.append((args.action, args.json)) or 0, configure)
    for words in (["list", "--json"], ["--json", "list"], ["list"]):
        assert forerun("probe", *words).status == 0
    assert seen == [("list", True), ("list", True), ("list", False)]
    assert "did you mean --all" in forerun("probe", "list", "--al").err


def test_a_reader_that_goes_away_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "planner.cli", "--help"],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    with process.stderr:
        assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 141


@pytest.mark.skipif(os.name != "posix", reason="a shell closes the streams")
@pytest.mark.parametrize(
    ("words", "closed", "status"),
    [
        ("--version", ">&-", 0),
        ("model gpt2-xl --json", ">&-", 0),
        ("model gpt2-xl --json", "2>&-", 0),
        ("model gpt2-xxl", "2>&-", 2),
        ("model gpt2-xl", "<&-", 0),
    ],
)
def test_a_closed_stream_is_no_fault_of_ours(words: str, closed: str, status: int) -> None:
    line = f'"{sys.executable}" -m planner.cli {words} {closed}'
    done = subprocess.run(["sh", "-c", line], cwd=PROJECT, capture_output=True, check=False)
    assert done.returncode == status
    assert b"fault" not in done.stderr + done.stdout
    assert status == 0 or done.stdout == b""


def test_a_full_disk_is_said_in_one_line() -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("needs a device that is always full")
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "planner.cli", "--version"],
            cwd=PROJECT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr.startswith("forerun: output: ")
    assert done.stderr.count("\n") == 1


def test_a_terminal_without_our_characters_still_gets_an_answer(forerun_process: Any) -> None:
    answer = forerun_process("☃", PYTHONIOENCODING="ascii")
    assert answer.status == 2
    assert "command: '?'" in answer.err


def test_an_interrupt_ends_quietly() -> None:
    script = (
        "import sys, time, types; from planner.cli import commands, main\n"
        "probe = types.ModuleType('probe'); probe.HELP = 'x'; probe.configure = lambda p: None\n"
        "probe.run = lambda a: (print('ready', flush=True), time.sleep(60))\n"
        "sys.modules['planner.cli.probe'] = probe; commands.COMMANDS = (('probe', 'x'),)\n"
        "sys.exit(main.main(['probe']))"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (130, "forerun: interrupted\n")


def test_choosing_a_command_imports_nothing_heavy() -> None:
    script = (
        "import sys, planner; from planner.cli.main import main; main(['--help'])\n"
        "heavy = {'torch', 'streamlit', 'pynvml', 'optuna', 'scipy', 'pandas', 'plotly',\n"
        "         'sqlalchemy', 'rich', 'numpy', 'yaml', 'argparse', 'planner.run'}\n"
        "sys.exit(', '.join(heavy & set(sys.modules)) or None)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=PROJECT, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_the_frame_starts_faster_than_numpy() -> None:
    def fastest(*words: str) -> float:
        times = []
        for _ in range(3):
            started = time.perf_counter()
            subprocess.run([sys.executable, *words], cwd=PROJECT, check=True, capture_output=True)
            times.append(time.perf_counter() - started)
        return min(times)

    assert fastest("-m", "planner.cli", "app", "--help") < 1.5 * fastest("-c", "import numpy")


@pytest.mark.skipif(os.name != "posix", reason="the process is replaced on POSIX only")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--port", "0"], "--port: '0'"),
        (["--port", "http"], "--port: 'http'"),
        (["absent.yaml"], "cannot be read"),
    ],
)
def test_the_application_is_not_started_on_a_wrong_word(
    forerun: Any, words: list[str], says: str
) -> None:
    answer = forerun("app", *words)
    assert answer.status == 2
    assert says in answer.err


def test_the_application_listens_on_this_machine_only(
    forerun: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(os, "execv", lambda _, command: started.append(command))
    run_file = tmp_path / "run.yaml"
    run_file.write_text("model: gpt2-xl")
    forerun("app", run_file, "--port", "8600", "--no-browser")
    assert "--server.address=127.0.0.1" in started[0]
    assert "--server.port=8600" in started[0]
    assert started[0][-2:] == ["--", str(run_file)]
