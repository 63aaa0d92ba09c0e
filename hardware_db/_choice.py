"""Words that a caller may choose from, matched without case or refused with the known ones."""

from __future__ import annotations

from collections.abc import Iterable

from hardware_db.errors import UnknownName


def known_provider(name: str, providers: Iterable[str]) -> str:
    """The provider as the tables spell it.

    >>> known_provider("AWS", ["aws", "gcp"])
    'aws'
    """
    return known_word("provider", name, providers)


def known_word(field: str, word: str, known: Iterable[str]) -> str:
    """`word` as the tables spell it; raises UnknownName with the known words."""
    choices = tuple(dict.fromkeys(known))
    wanted = str(word).strip().lower()
    for choice in choices:
        if choice.lower() == wanted:
            return choice
    raise UnknownName(field, word, f"known: {', '.join(sorted(choices))}", choices)
