"""What an installed forerun carries: every file that its modules read lies in a package."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from planner.cli.app import FRAME, frame_options

PROJECT = Path(__file__).resolve().parents[1]
SETUP = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
    "setuptools"
]
PACKAGES = [name.rstrip("*") for name in SETUP["packages"]["find"]["include"]]
CARRIED = {Path(pattern).suffix or pattern for pattern in SETUP["package-data"]["*"]}
MADE = {".pyc", ".py"}


@pytest.mark.parametrize("package", PACKAGES)
def test_the_wheel_carries_every_file_of_a_package(package: str) -> None:
    """Setuptools passes over hidden folders, and over endings that no pattern names."""
    found = [path for path in (PROJECT / package).rglob("*") if path.is_file()]
    read = [path.relative_to(PROJECT) for path in found if path.suffix not in MADE]
    left_out = [
        str(path)
        for path in read
        if (path.name != "README.md" and not ({path.suffix, path.name} & CARRIED))
        or any(part.startswith(".") for part in path.parts)
    ]
    assert not left_out
    assert read, "a package without data would make this test empty"


def test_the_frame_of_the_application_lies_in_a_package() -> None:
    assert FRAME.parent.name in PACKAGES
    assert "app" in SETUP["py-modules"]


def test_streamlit_knows_every_option_of_the_frame() -> None:
    config = pytest.importorskip("streamlit.config")
    known = config.get_config_options()
    options = frame_options()
    assert set(options) <= set(known)
    assert {"theme.light.primaryColor", "theme.dark.primaryColor"} <= set(options)
    assert options["theme.headingFontSizes"].startswith('["1.75rem"')
