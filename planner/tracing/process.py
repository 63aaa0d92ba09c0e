"""Traces a user's module in a process with limits: what runs there is the user's code."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from planner.errors import PlannerError

_LOG = logging.getLogger(__name__)  # to standard error, unless a program says otherwise
GIB = 1 << 30
MOST_BYTES = 64 << 20  # of an answer
NO_TORCH = "needs torch: pip install -c constraints.txt -e '.[profile]' in forerun's folder"
FORMATS = ("fp32", "mixed")  # traced unless more are asked for
_PATIENCE = 8.0  # s before a person is told what they wait for
_KEPT = 4096  # bytes of what the process says


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What the process may take."""

    seconds: float = 180.0  # of wall time, and of each processor
    address_bytes: int = 12 * GIB  # torch alone takes some


def trace_module(
    model: str,
    input_shape: tuple[int, ...] | None,
    *,
    formats: tuple[str, ...] = FORMATS,
    limits: Limits | None = None,
) -> dict[str, Any]:
    """The table of `path/to/file.py:function`, as `child.table` makes it.

    The file runs in a process of its own, which has no terminal and ends with its limits. Weights
    are never allocated. Raises PlannerError for whatever the user can mend.
    """
    if importlib.util.find_spec("torch") is None:
        raise PlannerError("model", model, NO_TORCH)
    path, _, _ = model.rpartition(":")
    try:
        stamp = Path(path).stat()
    except (OSError, ValueError):
        raise PlannerError("model", model, f"there is no file {path}") from None
    key = (stamp.st_mtime_ns, stamp.st_size, os.getcwd())
    text = _traced(model, input_shape, formats, limits or Limits(), key)
    answer: dict[str, Any] = json.loads(text)
    return answer


@lru_cache(maxsize=8)
def _traced(
    model: str,
    input_shape: tuple[int, ...] | None,
    formats: tuple[str, ...],
    limits: Limits,
    key: tuple[object, ...],
) -> str:
    """The answer's text; asking again for a file that has not changed costs nothing."""
    with tempfile.TemporaryDirectory(prefix="forerun-trace-") as folder:
        request, answer = Path(folder) / "request.json", Path(folder) / "answer.json"
        asked = {"model": model, "input_shape": input_shape, "formats": formats}
        request.write_text(json.dumps(asked), encoding="utf-8")
        said = _run(model, [str(request), str(answer)], limits)
        if not answer.is_file():
            raise PlannerError("model", model, _died(said, limits))
        if answer.stat().st_size > MOST_BYTES:
            raise PlannerError("model", model, f"its table is larger than {MOST_BYTES >> 20} MiB")
        text = answer.read_text(encoding="utf-8")
    error = json.loads(text).get("error")
    if error:
        raise PlannerError(error["field"], error["value"], error["remedy"])
    return text


def _run(model: str, files: list[str], limits: Limits) -> tuple[int, str]:
    """Exit status and the last line that the process said."""
    command = [sys.executable, "-m", "planner.tracing.child", *files]
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=_environment(),
        start_new_session=True,
        preexec_fn=_limited(limits) if os.name == "posix" else None,
    )
    tail = _Tail(process)
    try:
        status = _waited(process, model, limits)
    except subprocess.TimeoutExpired:
        remedy = f"takes longer than {limits.seconds:g} s to trace: an endless loop?"
        raise PlannerError("model", model, remedy) from None
    finally:
        _end(process)
    return status, tail.last_line()


class _Tail(threading.Thread):
    """The end of what a process says, however much that is and whoever else holds the pipe."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        super().__init__(daemon=True)
        assert process.stderr is not None
        self._pipe = process.stderr.fileno()
        self._stream = process.stderr  # held open for as long as it is read
        self._said = b""
        self.start()

    def run(self) -> None:
        while piece := os.read(self._pipe, 1 << 16):
            self._said = (self._said + piece)[-_KEPT:]
        self._stream.close()

    def last_line(self) -> str:
        self.join(timeout=1.0)
        said = self._said.decode("utf-8", "replace")
        lines = [each for each in said.splitlines() if each.strip()]
        return lines[-1][:300] if lines else ""


def _waited(process: subprocess.Popen[bytes], model: str, limits: Limits) -> int:
    """Its exit status; a wait that a person would notice is told on standard error."""
    soon = min(_PATIENCE, limits.seconds)
    try:
        return process.wait(soon)
    except subprocess.TimeoutExpired:
        if soon < limits.seconds:
            _LOG.warning("note: tracing %s, for %g s at most", model, limits.seconds)
    return process.wait(limits.seconds - soon)


def _environment() -> dict[str, str]:
    """One thread, no accelerator, and our own packages wherever the file lies."""
    root = str(Path(__file__).resolve().parents[2])
    paths = [root, os.environ.get("PYTHONPATH", "")]
    return os.environ | {
        "CUDA_VISIBLE_DEVICES": "",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join(each for each in paths if each),
    }


def _limited(limits: Limits) -> Any:
    import resource

    def limit() -> None:
        for what, most in (
            (resource.RLIMIT_AS, limits.address_bytes),
            (resource.RLIMIT_CPU, int(limits.seconds) + 1),
            (resource.RLIMIT_CORE, 0),
        ):
            with contextlib.suppress(OSError, ValueError):  # a lower limit holds already
                resource.setrlimit(what, (most, most))

    return limit


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the process and whatever it started."""
    if os.name == "posix":
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.wait()


def _died(said: tuple[int, str], limits: Limits) -> str:
    status, last = said
    memory = f"at most {limits.address_bytes / GIB:g} GiB of memory and {limits.seconds:g} s"
    why = f": {last}" if last else ""
    return f"ended its process (status {status}) without an answer; tracing takes {memory}{why}"
