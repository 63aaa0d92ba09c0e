"""Words that a caller may choose from, matched without case or refused with the nearest."""

from __future__ import annotations

from collections.abc import Iterable

from hardware_db.errors import UnknownName

_LISTED = 20  # known words that a refusal spells out; of more only the nearest


def known_word(field: str, word: str, known: Iterable[str]) -> str:
    """`word` as the tables spell it; raises UnknownName with the known words or the nearest.

    >>> known_word("provider", "AWS", ["aws", "gcp"])
    'aws'
    """
    choices = tuple(dict.fromkeys(known))
    wanted = str(word).strip().lower()
    for choice in choices:
        if choice.lower() == wanted:
            return choice
    raise _unknown(field, word, choices)


def _unknown(field: str, word: str, choices: tuple[str, ...]) -> UnknownName:
    if len(choices) <= _LISTED:
        return UnknownName(field, word, f"known: {', '.join(sorted(choices))}", choices)
    from difflib import get_close_matches

    by_lower = {choice.lower(): choice for choice in choices}
    close = get_close_matches(str(word).lower()[:60], list(by_lower), n=4, cutoff=0.4)
    nearest = tuple(by_lower[name] for name in close)
    hint = f"nearest known: {', '.join(nearest)}" if nearest else "no known name is near"
    return UnknownName(field, word, hint, nearest)
