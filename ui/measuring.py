"""Measuring the machine that serves the page: `python -m profiles` in a child, one at a time."""

from __future__ import annotations

import contextlib
import json
import re
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import profiles
from profiles.errors import ProfileError
from profiles.file import read_profile, samples_path
from profiles.result import Profile
from ui.child import Child
from ui.jobs import Job

DESCRIBE = ("-m", "profiles", "--describe", "--json")  # words after the name of Python
_FOLDER = Path(profiles.__file__).parents[1]  # from which `-m profiles` is found


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """What to measure and where to keep it."""

    device: str  # as torch spells it
    preset: str  # quick | full
    path: Path
    threads: int | None = None  # of the host; None = torch's
    seconds: float | None = None  # limit of the whole; None = the preset's
    clock: str = "wall"  # or cpu, where a profile to continue was measured so
    resume: bool = False

    @property
    def command(self) -> list[str]:
        """The command line."""
        words = [sys.executable, "-m", "profiles", "--device", self.device, f"--{self.preset}"]
        words += ["--out", str(self.path), "--progress", "json", "--clock", self.clock]
        words += ["--threads", str(self.threads)] if self.threads else []
        words += ["--limit", f"{self.seconds:g}"] if self.seconds else []
        return [*words, *(["--resume"] if self.resume else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A measurement under way or at its end."""

    asked: Measurement
    child: Child
    job: Job

    @property
    def running(self) -> bool:
        return self.job.state == "running"

    @property
    def cancelled(self) -> bool:
        return self.job.state == "cancelled"


class Bench:
    """The measuring of one server. Two measurements at once would disturb each other."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._latest: Run | None = None
        self._description: Job | None = None

    @property
    def latest(self) -> Run | None:
        """The measurement under way, or the last one."""
        return self._latest

    def start(self, asked: Measurement) -> bool:
        """Begin; False where one is under way."""
        with self._lock:
            if self._latest is not None and self._latest.running:
                return False
            child = Child(asked.command, folder=_FOLDER)
            job = Job(lambda report: _kept(asked, child, report))
            self._latest = Run(asked=asked, child=child, job=job)
            return True

    def cancel(self) -> None:
        """End the measurement under way; what was measured stays on disk."""
        if self._latest is not None:
            self._latest.child.cancel()

    def description(self) -> Job:
        """What this machine is: a job whose result is a list of `profiles.describe.Description`
        as JSON; asked once."""
        with self._lock:
            if self._description is None:
                child = Child([sys.executable, *DESCRIBE], folder=_FOLDER)
                self._description = Job(lambda report: _devices(child(report)))
            return self._description

    def forget_description(self) -> None:
        """Let the next `description` ask again."""
        with self._lock:
            self._description = None


def _devices(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(text)["devices"]
    return found


def _kept(asked: Measurement, child: Child, report: Any) -> str:
    """Run the child; afterwards nothing half-made and nothing empty lies in the folder."""
    try:
        return child(report)
    finally:
        for left in asked.path.parent.glob(f".{asked.path.name}.*.tmp"):
            left.unlink(missing_ok=True)
        with contextlib.suppress(ProfileError):
            if not read_profile(asked.path).results:
                asked.path.unlink(missing_ok=True)
                samples_path(asked.path).unlink(missing_ok=True)


def new_path(folder: Path, *, name: str, label: str, preset: str) -> Path:
    """A file for a measurement that begins now.

    >>> new_path(Path("p"), name="AMD EPYC", label="cpu", preset="quick").name[:19]
    'amd-epyc-cpu-quick-'
    """
    device = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40] or "device"
    now = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    return folder / f"{device}-{label.replace(':', '')}-{preset}-{now}.json"


def continued(profile: Profile, path: Path) -> Measurement | None:
    """The measurement that continues an unfinished profile; None where it says too little."""
    label, threads = profile.device.get("label"), profile.environment.get("num_threads")
    if not isinstance(label, str) or profile.preset not in ("quick", "full"):
        return None
    return Measurement(
        device=label,
        preset=profile.preset,
        path=path,
        threads=threads if isinstance(threads, int) and threads > 0 else None,
        clock="cpu" if profile.environment.get("clock") == "cpu" else "wall",
        resume=True,
    )
