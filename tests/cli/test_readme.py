"""What the README shows is what the commands print."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

PROJECT = Path(__file__).resolve().parents[2]
README = (PROJECT / "README.md").read_text()


def _forerun(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "planner.cli", *arguments],
        cwd=PROJECT,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_sample_plan_is_what_the_worked_example_prints() -> None:
    (shown,) = re.findall(r"^```\n(llama-3-8b on .*?)^```$", README, re.DOTALL | re.MULTILINE)
    printed = _forerun("plan", "examples/llama-3-8b.yaml")
    assert printed.returncode == 0, printed.stderr
    assert printed.stdout.lstrip("\n").startswith(shown.rstrip("\n"))


def test_worked_example_in_the_readme_is_the_file_it_links() -> None:
    (shown,) = re.findall(
        r"^```yaml\n(model: llama-3-8b.*?)^```$", README, re.DOTALL | re.MULTILINE
    )
    kept = (PROJECT / "examples" / "llama-3-8b.yaml").read_text()
    lines = [line for line in kept.splitlines() if not line.startswith("#")]
    assert shown.strip().splitlines() == [line for line in lines if line.strip()]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_port_in_use_is_refused_in_one_line(host: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        refused = _forerun("app", "--no-browser", "--host", host, "--port", str(port))
    assert refused.returncode == 2
    assert refused.stdout == ""
    (line,) = refused.stderr.splitlines()
    assert "in use" in line
    assert f"--port: {port}" in line
