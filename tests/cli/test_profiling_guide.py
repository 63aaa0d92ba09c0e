"""What the guide to measuring shows is what the commands print."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
GUIDE = (PROJECT / "docs" / "profiling.md").read_text()
BLOCK = re.compile(r"^```\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def test_the_plan_of_the_guide_is_what_its_command_prints() -> None:
    command, *shown = BLOCK.findall(GUIDE.partition("## From a profile to a plan")[2])[:3]
    words = command.replace("\\\n", " ").split()
    assert words[:2] == ["forerun", "plan"]
    printed = subprocess.run(
        [sys.executable, "-m", "planner.cli", *words[1:]],
        cwd=PROJECT,
        env={**os.environ, "COLUMNS": "80"},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    for block in shown:
        assert block in printed
