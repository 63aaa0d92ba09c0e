"""Setting up says what it does: with pip's own progress on a terminal, quietly in a log."""

from __future__ import annotations

import os
import pty
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[1]
PYTHON = """#!/bin/sh
# Makes a virtual environment whose python writes down what it is asked.
[ "$2" = venv ] || exit 0
mkdir -p "$3/bin"
printf '#!/bin/sh\\necho "$@" > "%s/asked"\\n' "$3" > "$3/bin/python"
chmod +x "$3/bin/python"
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    if not shutil.which("make"):
        pytest.skip("make is not installed")
    python = tmp_path / "python"
    python.write_text(PYTHON)
    python.chmod(0o755)
    place = tmp_path / "venv"
    return ["make", f"PYTHON={python}", f"VENV={place}", f"{place}/.installed"]


def test_setting_up_says_how_long_it_takes_and_how_much_it_downloads(
    command: list[str], tmp_path: Path
) -> None:
    done = subprocess.run(
        command, cwd=PROJECT, capture_output=True, text=True, check=True, timeout=30
    )
    first = done.stdout.index("some minutes, about 3 GB")
    assert first < done.stdout.index("pip install")
    assert "--quiet" in (tmp_path / "venv" / "asked").read_text(), "a log has no progress bar"


def test_pip_shows_its_progress_on_a_terminal(command: list[str], tmp_path: Path) -> None:
    mine, other = pty.openpty()
    try:
        subprocess.run(command, cwd=PROJECT, stdout=other, stderr=other, check=True, timeout=30)
    finally:
        os.close(mine)
        os.close(other)
    asked = (tmp_path / "venv" / "asked").read_text()
    assert asked.startswith("-m pip install")
    assert "--quiet" not in asked
