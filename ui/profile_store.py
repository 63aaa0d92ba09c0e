"""Profiles at hand: measured here and kept, shipped with forerun, uploaded."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import profiles
from planner.errors import PlannerError
from planner.profile_device.reader import recorded_of
from planner.store.place import data_folder
from profiles.check import profile_of
from profiles.errors import ProfileError
from profiles.file import read_profile, write_profile
from profiles.result import Profile

MOST_MEGABYTES = 8  # of an upload: a full profile takes a few hundred kilobytes
MOST_LISTED = 100
_FIELD = "profile"


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """A profile that can be shown."""

    key: str  # which one it is, as long as it is there
    origin: str  # stored | measured | uploaded
    profile: Profile
    path: Path | None = None  # where it lies, None for an upload

    @property
    def num_measured(self) -> int:
        return sum(each.measured for each in self.profile.results)


def folder() -> Path:
    """Where measurements of this machine are kept. It need not exist yet."""
    return data_folder() / "profiles"


def shipped_folder() -> Path:
    """Profiles of other machines that come with forerun."""
    return Path(profiles.__file__).parent / "measured"


def known(uploads: Sequence[Known] = ()) -> list[Known]:
    """Uploads, then what was measured here, newest first, then what is shipped; files that are no
    profiles are passed over."""
    return [
        *uploads,
        *_read(folder(), "stored", newest_first=True),
        *_read(shipped_folder(), "measured", newest_first=False),
    ]


def _read(place: Path, origin: str, *, newest_first: bool) -> list[Known]:
    found = list(_each(place, origin))[:MOST_LISTED]
    return sorted(found, key=lambda each: each.profile.created, reverse=newest_first)


def _each(place: Path, origin: str) -> Iterable[Known]:
    for path in sorted(place.rglob("*.json"), reverse=True):
        if path.name.startswith("."):
            continue
        try:
            stat = path.stat()
            found = _profile(path, (stat.st_mtime_ns, stat.st_size))
        except (OSError, ProfileError):
            continue
        key = f"{origin}:{path.relative_to(place)}"
        yield Known(key=key, origin=origin, profile=found, path=path)


@lru_cache(maxsize=2 * MOST_LISTED)
def _profile(path: Path, version: tuple[int, int]) -> Profile:
    return read_profile(path)


def holds(path: str) -> bool:
    """Whether a path is one of the profiles that the application offers: no other file of the
    server can be named by a link."""
    try:
        found = Path(path).resolve()
        places = (folder().resolve(), shipped_folder().resolve())
        inside = any(found.is_relative_to(place) for place in places)
        return inside and found.suffix == ".json" and found.is_file()
    except (OSError, ValueError):
        return False


def keep(upload: Known) -> Path:
    """Write an upload among the profiles measured here. Raises PlannerError where that fails."""
    place = make_folder()
    name = re.sub(r"[^A-Za-z0-9_-]+", "-", Path(upload.key.partition(":")[2]).stem).strip("-")
    path = place / f"{name or 'profile'}.json"
    for turn in range(2, MOST_LISTED):
        if not path.exists():
            break
        path = place / f"{name or 'profile'}-{turn}.json"
    try:
        write_profile(path, upload.profile)
    except ProfileError as error:
        raise PlannerError(error.field, error.value, error.remedy) from None
    return path


def make_folder() -> Path:
    """The folder of profiles, made where it is missing. Raises PlannerError where it cannot be."""
    place = folder()
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = f"cannot be made: {error.strerror}; name another place with XDG_DATA_HOME"
        raise PlannerError("folder of profiles", str(place), remedy) from error
    return place


@lru_cache(maxsize=16)
def uploaded(name: str, content: bytes) -> Known:
    """The profile in an uploaded file: parsed as JSON, checked field by field, never executed.

    Raises PlannerError for anything else.
    """
    name = "".join(each for each in Path(name).name if each.isprintable())[:60] or "upload"
    if len(content) > MOST_MEGABYTES * 10**6:
        raise PlannerError(_FIELD, name, f"larger than {MOST_MEGABYTES} MB: no profile")
    try:
        found = json.loads(content, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise PlannerError(_FIELD, name, "is no JSON: measure with forerun profile") from None
    return Known(key=f"uploaded:{name}", origin="uploaded", profile=_checked(found, name))


def _checked(found: Any, name: str) -> Profile:
    """What planning reads of it and what this page shows of it are both in order."""
    recorded_of(found, name)
    try:
        return profile_of(found)
    except ProfileError as error:
        raise PlannerError(error.field, error.value, error.remedy) from None


def _no_constant(word: str) -> None:
    raise ValueError(f"{word} is no number")
