"""What tests share: the command line, the folder of facts beside the project, browser, database."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import pytest
from hypothesis import settings

PROJECT = Path(__file__).resolve().parents[1]

settings.register_profile("forerun", deadline=None)  # a busy machine is not a failure
settings.load_profile("forerun")


def unavailable(reason: str) -> NoReturn:
    """Skip for want of something the machine lacks; on CI, which must have it, fail."""
    if os.environ.get("CI"):
        pytest.fail(f"on CI this must be there: {reason}")
    pytest.skip(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command line left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture
def forerun(capsys: pytest.CaptureFixture[str]) -> Callable[..., Answer]:
    """Run a command line in this process: `forerun("plan", path, "--json").json`."""
    from planner.cli.main import main

    def run(*words: object) -> Answer:
        capsys.readouterr()
        status = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return Answer(status=status, out=out, err=err)

    return run


@pytest.fixture
def forerun_process() -> Callable[..., Answer]:
    """As `forerun`, in a process of its own, without a terminal."""

    def run(*words: object, **environment: str) -> Answer:
        done = subprocess.run(
            [sys.executable, "-m", "planner.cli", *map(str, words)],
            cwd=PROJECT,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Answer(status=done.returncode, out=done.stdout, err=done.stderr)

    return run


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published facts that may lie beside the project."""
    folder = PROJECT.parent / "shared"
    if not folder.is_dir():
        pytest.skip("the folder ../shared is absent")
    return folder


@pytest.fixture(scope="session")
def chromium() -> tuple[str, str]:
    """Paths of a Chromium and of its driver."""
    browser, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if browser is None or driver is None:
        unavailable("chromium and chromedriver are not installed")
    return browser, driver


@pytest.fixture(scope="session")
def postgres_url() -> str:
    """SQLAlchemy URL of a PostgreSQL database that tests may fill and empty."""
    url = os.environ.get("FORERUN_TEST_POSTGRES")
    if not url:
        unavailable("FORERUN_TEST_POSTGRES does not name a PostgreSQL database")
    return url


@pytest.fixture(autouse=True)
def _plain_output(monkeypatch: pytest.MonkeyPatch) -> None:
    """The terminal of whoever runs the tests does not shape what they see."""
    for name in ("COLUMNS", "NO_COLOR", "FORERUN_DEBUG"):
        monkeypatch.delenv(name, raising=False)
