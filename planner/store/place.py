"""Where the database is: in the user's data folder unless a URL says otherwise."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

VARIABLE = "FORERUN_STORAGE"  # a URL for everything that forerun stores
_PASSWORD = re.compile(r"(://[^:/@]*):[^@]*@")


def data_folder() -> Path:
    """The user's folder for forerun's data, by the habit of the platform. It need not exist yet."""
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData/Local") / "forerun"
    if sys.platform == "darwin":
        return Path.home() / "Library/Application Support/forerun"
    return Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local/share") / "forerun"


def default_url() -> str:
    """`FORERUN_STORAGE`, or a SQLite file in the user's data folder, which is created."""
    given = os.environ.get(VARIABLE)
    if given:
        return given
    folder = data_folder()
    folder.mkdir(parents=True, exist_ok=True)
    return f"sqlite:///{folder / 'forerun.db'}"


def without_password(url: str) -> str:
    """A URL that may be shown.

    >>> without_password("postgresql://anna:secret@db/forerun")
    'postgresql://anna:***@db/forerun'
    """
    return _PASSWORD.sub(r"\1:***@", url)
