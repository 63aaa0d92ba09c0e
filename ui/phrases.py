"""The planner's sentences in the person's language, phrase by phrase.

The phrases stand under `why` in the words: the English ones are those that the planner writes, with
blanks; what no phrase covers stays as it is.
"""

from __future__ import annotations

import re
from functools import cache

from ui.text import Words, table

_BLANK = re.compile(r"\\\{(\w+)\\\}")
_SENTENCES = ("cause", "reason")  # blanks that hold several words


def said(text: str, words: Words, group: str = "why") -> str:
    """A sentence of the planner.

    >>> said("1.9 times the time, mostly slower links", Words(language="en"))
    '1.9 times the time, mostly slower links'
    >>> said("1.9 times the time, mostly slower links", Words(language="zh-Hant"))
    '1.9 倍的時間，主要因為連線較慢'
    """
    for key, pattern in _patterns(group):
        template = table(words.language)[key]

        def filled(found: re.Match[str], template: str = template) -> str:
            values = {name: said(value, words, group) for name, value in found.groupdict().items()}
            return template.format(**values)

        if " " in pattern.pattern:
            text = pattern.sub(filled, text)
        elif (found := pattern.fullmatch(text)) is not None:
            return filled(found)
    return text


@cache
def _patterns(group: str) -> tuple[tuple[str, re.Pattern[str]], ...]:
    """The English phrases as patterns, longest first; a word alone stands for the whole text."""
    phrases = {key: text for key, text in table("en").items() if key.startswith(f"{group}.")}
    ordered = sorted(phrases.items(), key=lambda item: -len(item[1]))
    return tuple((key, _pattern(text)) for key, text in ordered)


def _pattern(phrase: str) -> re.Pattern[str]:
    def blank(found: re.Match[str]) -> str:
        name = found[1]
        return f"(?P<{name}>.+)" if name in _SENTENCES else rf"(?P<{name}>\S+?)"

    literal = _BLANK.sub(blank, re.escape(phrase).replace(r"\ ", " "))
    return re.compile(rf"{literal}(?![\w.-])")
