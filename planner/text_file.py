"""Lines of a text file that somebody names: bounded, whatever the file turns out to be."""

from __future__ import annotations

from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path

from planner.errors import PlannerError
from planner.named_file import opened

LONGEST_LINE = 1 << 20  # characters
MOST_CHARACTERS = 1 << 28  # of the whole file


def lines_of(
    path: str | Path,
    field: str,
    *,
    errors: str = "replace",
    longest: int = LONGEST_LINE,
    most: int = MOST_CHARACTERS,
) -> Iterator[str]:
    """Lines with their ends, as the csv module wants them; a byte order mark is left out.

    `errors` says what becomes of bytes that are no UTF-8: `replace` or `strict`. Raises
    PlannerError naming `field` for what cannot be opened, is not UTF-8 (`strict`), has a line of
    more than `longest` characters or more than `most` in all, such as a device or a disk image.
    """
    name = str(path)
    try:
        with TextIOWrapper(opened(path), "utf-8-sig", errors=errors, newline="") as file:
            while line := file.readline(longest + 1):
                most -= len(line)
                if len(line) > longest:
                    raise PlannerError(field, name, f"a line is longer than {longest:,} characters")
                if most < 0:
                    raise PlannerError(field, name, "is larger than any such table: name a smaller")
                yield line
    except UnicodeDecodeError:
        raise PlannerError(field, name, "cannot be read: not UTF-8 text") from None
    except PlannerError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise PlannerError(field, name, f"cannot be read: {reason}") from None
