"""The package starts fast and knows nobody."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import hardware_db

PROJECT = Path(__file__).resolve().parents[2]

_ASK = """
import json, sys
before = set(sys.modules)
import hardware_db
hardware_db.accelerator("h100-sxm5-80gb")
print(json.dumps(sorted(set(sys.modules) - before)))
"""


def _modules_after_one_question() -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", _ASK], cwd=PROJECT, capture_output=True, text=True, check=True
    )
    found: list[str] = json.loads(done.stdout)
    return found


def test_a_question_about_one_accelerator_loads_no_prices_and_nothing_heavy():
    loaded = _modules_after_one_question()
    for absent in ("hardware_db._prices", "hardware_db._grids", "numpy", "pandas", "pathlib"):
        assert absent not in loaded
    assert not [name for name in loaded if name.split(".")[0] in ("planner", "profiles", "ui")]


def test_the_public_names_all_load():
    for name in hardware_db.__all__:
        assert getattr(hardware_db, name) is not None
    assert set(hardware_db.__all__) <= set(dir(hardware_db))
    assert set(hardware_db.__all__) == set(hardware_db._HOME_OF)


def test_no_source_cell_names_a_local_path():
    for file in (PROJECT / "hardware_db" / "data").glob("*.csv"):
        text = file.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w:/.)%])/\w+/\w", text), "an absolute path"
        assert "../shared" not in text
