"""How much of a text sample is new: duplicates, and what documents share with each other."""

from __future__ import annotations

import hashlib
import lzma
from collections.abc import Sequence
from dataclasses import dataclass

from planner.errors import PlannerError

SHINGLE_WORDS = 13  # a run of words this long that occurs twice is a copy, not a phrase
MOST_BYTES = 4_000_000  # compressed as one: well inside the compressor's window of 8 MiB


@dataclass(frozen=True, slots=True, kw_only=True)
class Diversity:
    """Shares of a sample, 0 to 1."""

    documents: int
    duplicate_share: float  # words in documents that an earlier one equals
    copied_share: float  # words inside 13-word runs that occurred before, whole duplicates included
    shared_share: float  # bytes that a compressor saves because documents share content
    bytes_read: int

    @property
    def new_share(self) -> float:
        """Share of the tokens that counts as unique: what is not copied."""
        return 1 - self.copied_share


def measure_diversity(documents: Sequence[str]) -> Diversity:
    """Diversity of a sample of documents.

    A sample sees only the copies that fall into it, so the share of a whole corpus that is copied
    is at least what is found here. Raises PlannerError for a sample without words.

    >>> once = ["the cat sat on the mat and looked at the moon for a long time " + str(i)
    ...         for i in range(3)]
    >>> measure_diversity([once[0], once[0]]).duplicate_share
    0.5
    """
    words = [document.split() for document in documents]
    total = sum(map(len, words))
    if total == 0:
        raise PlannerError("sample", len(documents), "has no words; give documents of text")
    texts = [document.encode() for document in documents]
    return Diversity(
        documents=len(documents),
        duplicate_share=_duplicate_words(words) / total,
        copied_share=_copied_words(words) / total,
        shared_share=_shared(texts),
        bytes_read=sum(map(len, texts)),
    )


def effective_unique_tokens(tokens: float, diversity: Diversity) -> float:
    """Unique tokens of a corpus of `tokens` like the sample, for the law of repeated data."""
    if not tokens > 0:
        raise PlannerError("tokens", tokens, "must be a positive number")
    return tokens * diversity.new_share


def _duplicate_words(words: Sequence[Sequence[str]]) -> int:
    seen: set[bytes] = set()
    duplicated = 0
    for document in words:
        key = _digest(document)
        duplicated += len(document) if key in seen else 0
        seen.add(key)
    return duplicated


def _copied_words(words: Sequence[Sequence[str]]) -> int:
    """Words covered by a shingle that occurred before, in this document or an earlier one."""
    seen: set[bytes] = set()
    copied = 0
    for document in words:
        covered_to = 0
        length = min(SHINGLE_WORDS, len(document))
        for start in range(len(document) - length + 1 if length else 0):
            key = _digest(document[start : start + length])
            if key in seen:
                end = start + length
                copied += end - max(start, covered_to)
                covered_to = end
            seen.add(key)
    return copied


def _shared(texts: Sequence[bytes]) -> float:
    """1 - compressed together / compressed apart, the header of each left out."""
    kept, size = [], 0
    for text in texts:
        size += len(text)
        if size > MOST_BYTES:
            break
        kept.append(text)
    apart = sum(map(_compressed, kept))
    return max(0.0, 1 - _compressed(b"\n".join(kept)) / apart) if apart else 0.0


def _compressed(text: bytes) -> int:
    filters = [{"id": lzma.FILTER_LZMA2, "preset": 6}]
    return len(lzma.compress(text, format=lzma.FORMAT_RAW, filters=filters))


def _digest(words: Sequence[str]) -> bytes:
    return hashlib.blake2b(" ".join(words).encode(), digest_size=12).digest()
