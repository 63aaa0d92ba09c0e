"""The prepared script profiles a machine whole, within its budget."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from profiles.file import read_profile
from tests.conftest import PROJECT

SCRIPT = PROJECT / "scripts" / "profile_gpu_machine.sh"


@pytest.mark.skipif(shutil.which("timeout") is None, reason="coreutils' timeout is absent")
def test_the_script_keeps_its_budget_and_leaves_readable_profiles(tmp_path: Path) -> None:
    wanted = {"DEVICE": "cpu", "BUDGET": "20", "PYTHON": sys.executable, "OMP_NUM_THREADS": "1"}
    started = time.monotonic()
    done = subprocess.run(
        [str(SCRIPT), str(tmp_path)],
        env={**os.environ, **wanted},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert time.monotonic() - started < 20 + 30  # a busy machine starts torch slowly
    assert "all in" in done.stdout
    assert read_profile(tmp_path / "profile.json").results
