"""A database that goes away is tried again for a while; then the work stops with a clear word."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, TypeVar

from planner.errors import PlannerError
from planner.store.place import without_password

Result = TypeVar("Result")

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0  # s between two tries


def patient(
    call: Callable[..., Result], url: str, *, seconds: float, lost: tuple[type[Exception], ...]
) -> Callable[..., Result]:
    """`call`, tried again for `seconds` while it raises one of `lost`; then PlannerError."""

    @functools.wraps(call)
    def tried(*args: Any, **settings: Any) -> Result:
        until, pause = time.monotonic() + seconds, FIRST_PAUSE
        while True:
            try:
                return call(*args, **settings)
            except lost as error:
                if time.monotonic() + pause > until:
                    raise lost_database(url, error, seconds) from None
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)

    return tried


def lost_database(url: str, error: Exception, seconds: float) -> PlannerError:
    """What a person can do about a database that does not answer."""
    first = str(getattr(error, "orig", None) or error).strip().splitlines() or [""]
    tried = f" (tried for {seconds:g} s)" if seconds else ""
    remedy = (
        f"cannot be reached{tried}: {first[0][:120]}; what was finished is stored: "
        "start again with the same --study to go on"
    )
    return PlannerError("--storage", without_password(url), remedy)
