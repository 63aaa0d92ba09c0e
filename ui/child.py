"""A child process as the work of a job: its progress, its one line of error, its end on request."""

from __future__ import annotations

import atexit
import contextlib
import json
import subprocess
import tempfile
import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ui.jobs import NotWantedError

PATIENCE = 5.0  # s between asking a process to end and ending it
_KEPT = 40  # lines of standard error


class ChildError(Exception):
    """The process ended with an error; the text is its last word."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What the process said last about how far it is."""

    done: int
    planned: int
    doing: str
    left_seconds: float


class Child:
    """A command that runs when the job calls it and answers with its standard output.

    A line of JSON on standard error is progress, any other is kept as a remark. The process ends
    with this one: it is asked to at exit, and finds its standard error closed after a kill.
    """

    def __init__(self, command: Sequence[str], *, folder: Path) -> None:
        self.command = tuple(command)
        self.progress: Progress | None = None
        self._folder = folder
        self._remarks: deque[str] = deque(maxlen=_KEPT)
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._cancelled = False

    def __call__(self, report: Callable[[int, int], None]) -> str:
        """Run to the end. Raises ChildError, or NotWantedError once it was cancelled."""
        with tempfile.TemporaryFile() as out:
            process = self._begin(out.fileno())
            atexit.register(self.cancel)
            try:
                self._follow(process, report)
                status = process.wait()
            finally:
                atexit.unregister(self.cancel)
            out.seek(0)
            text = out.read().decode("utf-8", errors="replace")
        if self._cancelled:
            raise NotWantedError
        if status != 0:
            raise ChildError(self._last_word(status))
        return text

    def cancel(self) -> None:
        """Ask the process to end, and end it where it does not."""
        with self._lock:
            self._cancelled = True
            process = self._process
        if process is None or process.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()

    def _begin(self, out: int) -> subprocess.Popen[bytes]:
        with self._lock:
            if self._cancelled:
                raise NotWantedError
            self._process = subprocess.Popen(
                self.command,
                cwd=self._folder,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
            )
            return self._process

    def _follow(self, process: subprocess.Popen[bytes], report: Callable[[int, int], None]) -> None:
        assert process.stderr is not None
        with process.stderr as lines:
            for raw in lines:
                line = raw.decode("utf-8", errors="replace").strip()
                found = progress_of(line)
                if found is None:
                    self._remarks.append(line)
                else:
                    self.progress = found
                    report(found.done, found.planned)

    def _last_word(self, status: int) -> str:
        said = [line for line in self._remarks if line]
        if status < 0:
            return f"ended by signal {-status}"
        return said[-1][:300] if said else f"exit status {status}"


def progress_of(line: str) -> Progress | None:
    """A line of `--progress json`, None for any other.

    >>> progress_of('{"done": 3, "planned": 9, "doing": "gemm", "left_s": 4.5}').left_seconds
    4.5
    >>> progress_of("warning: 7 kernels failed")
    """
    if not line.startswith("{"):
        return None
    try:
        found = json.loads(line)
        return Progress(
            done=int(found["done"]),
            planned=int(found["planned"]),
            doing=str(found["doing"]),
            left_seconds=float(found["left_s"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
