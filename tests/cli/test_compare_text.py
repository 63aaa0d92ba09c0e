"""What `forerun compare` prints for a person: short by default, whole with --all."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from planner.cli.compare_text import MOST_FRONT, spread

WORDS = ("--model", "llama-3-8b", "--tokens", "1e11", "--seq-len", 4096, "--global-batch", 256)


def point(seconds: float, usd: float | None, kwh: float | None) -> dict[str, Any]:
    return {"seconds": seconds, "usd": usd, "kwh": kwh}


COMMAND = ("compare", *WORDS, "--counts", "2,4,8", "--fix", "pp=1", "--fix", "cp=1")


@pytest.fixture
def shown(forerun: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What the command prints on a terminal of `columns`."""

    def print_on(columns: int, *words: object) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        return str(forerun(*COMMAND, *words).out)

    return print_on


def test_the_front_in_few_rows_keeps_the_best_by_each_objective() -> None:
    front = [point(float(2**i), float(4000 - i), float(i) if i % 2 else None) for i in range(40)]
    front += [point(2.0**41, 9e3, 0.5)]
    rows = spread(front, MOST_FRONT)
    assert len(rows) == MOST_FRONT
    seconds = [row["seconds"] for row in rows]
    assert seconds == sorted(seconds)
    assert rows[0] == front[0]
    assert front[39] in rows  # the cheapest
    assert front[40] in rows  # the least energy


def test_a_front_without_prices_is_spread_too() -> None:
    front = [point(float(2**i), None, float(100 - i)) for i in range(20)]
    assert len(spread(front, 5)) == 5
    assert spread(front[:3], 5) == front[:3]


def test_the_lists_are_short_and_say_how_to_see_the_rest(shown: Callable[..., str]) -> None:
    short = shown(180)
    assert len(short.splitlines()) < 60
    assert short.startswith("Best by value (time 1, cost 1)\n  as the number of devices is open")
    assert "more between these: --all or --json" in short
    lost = short.partition("Nothing fits on")[2].partition("Left out")[0]
    assert re.search(r" and \d+ more$", lost.strip())
    assert len(lost.splitlines()) < 8
    whole = shown(180, "--all")
    assert len(whole.splitlines()) > len(short.splitlines())
    assert "--all" not in whole


def test_a_narrow_terminal_tells_the_reasons_below_the_table(shown: Callable[..., str]) -> None:
    few = ("--skus", "h100-sxm5-80gb,l40s")
    narrow = shown(100, *few)
    assert "Why in this place" in narrow
    assert max(map(len, narrow.splitlines())) <= 100
    assert "Why in this place" not in shown(200, *few)


def test_the_help_says_what_is_ranked_by_where_nothing_is_said(
    forerun: Callable[..., Any],
) -> None:
    text = " ".join(forerun("compare", "--help").out.split())
    assert "one number of devices: time; several: value" in text
