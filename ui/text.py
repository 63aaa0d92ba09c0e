"""All words of the application, in English and Traditional Chinese, and numbers as each has them.

The words stand in `words/*.toml`, one file a language, with the same keys.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from planner.quantities import Show, show_interval, show_percent

LANGUAGES = {"en": "English", "zh-Hant": "繁體中文"}
_FOLDER = Path(__file__).parent / "words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """The words of one language: `words("plan.title")`, `words("plan.steps", steps="12")`."""

    language: str

    def __call__(self, key: str, /, **values: object) -> str:
        return table(self.language)[key].format(**values)

    def name(self, group: str, word: str) -> str:
        """What a word of the planner is called; the word itself, readable, where it is new."""
        return table(self.language).get(f"{group}.{word}", word.replace("_", " "))

    def number(self, text: str) -> str:
        """A number with its unit, as `planner.quantities` shows it, in this language."""
        units = _units(self.language)
        if not units:
            return text
        return re.sub(r"(?<= )[A-Za-z]+\b|^unknown$", lambda m: units.get(m[0], m[0]), text)

    def show(
        self,
        show: Show,
        value: float | None,
        low: float | None = None,
        high: float | None = None,
    ) -> str:
        """A figure, with its interval where both ends are given.

        >>> from planner.quantities import show_duration
        >>> Words(language="en").show(show_duration, 967_680, 857_000, 1_105_900)
        '11.2 days (9.92 to 12.8)'
        >>> Words(language="zh-Hant").show(show_duration, 967_680, 857_000, 1_105_900)
        '11.2 天 (9.92 至 12.8)'
        """
        return self.number(show_interval(show, value, low, high))


def show_share(fraction: float) -> str:
    """A share as people say it: what is next to nothing or next to all is not spelled out.

    >>> show_share(0.00007), show_share(0.1234), show_share(0.99998), show_share(1.0)
    ('< 0.1 %', '12.3 %', '> 99.9 %', '100 %')
    """
    if 0 < fraction < 0.001:
        return "< 0.1 %"
    return "> 99.9 %" if 0.999 < fraction < 1 else show_percent(fraction)


def show_ratio(value: float) -> str:
    """A ratio or another plain number in three digits, never with an exponent that people misread.

    >>> show_ratio(5153.2), show_ratio(13.14), show_ratio(0.1066), show_ratio(0.00031)
    ('5,153', '13.1', '0.107', '0.00031')
    """
    return (
        f"{value:,.0f}" if value >= 100 else f"{float(f'{value:.3g}'):.9f}".rstrip("0").rstrip(".")
    )


def language_of(locale: str | None) -> str:
    """The language for a browser's locale.

    >>> language_of("zh-TW"), language_of("de-CH"), language_of(None)
    ('zh-Hant', 'en', 'en')
    """
    return "zh-Hant" if (locale or "").lower().startswith("zh") else "en"


@cache
def table(language: str) -> dict[str, str]:
    """Every key with its words in one language."""
    text = (_FOLDER / f"{language.lower()}.toml").read_text(encoding="utf-8")
    return dict(_flat(tomllib.loads(text)))


@cache
def _units(language: str) -> dict[str, str]:
    return {
        key.removeprefix("unit."): value
        for key, value in table(language).items()
        if key.startswith("unit.")
    }


def _flat(tree: dict[str, Any], path: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in tree.items():
        dotted = f"{path}{name}"
        found += _flat(value, f"{dotted}.") if isinstance(value, dict) else [(dotted, value)]
    return found
