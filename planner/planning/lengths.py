"""Real lengths of the samples: a histogram, and the work that padding or packing makes of it."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.errors import PlannerError
from planner.text_file import lines_of

if TYPE_CHECKING:
    from planner.run.data import Data

Array = np.ndarray[Any, np.dtype[Any]]

MOST_ROWS = 1_000_000
MOST_SAMPLES = 1e18  # of one length: more is a slip
LONGEST = 10**8  # tokens
BUCKET_STEP = 1.1  # bucketed batches hold lengths that differ by about this factor


@dataclass(frozen=True, slots=True, kw_only=True)
class Lengths:
    """How long samples are, cut at the sequence length, and how they share a batch."""

    tokens: Array  # (k,) lengths in tokens, rising
    share: Array  # (k,) share of the samples with each, adding up to 1
    seq_len: int  # tokens: the longest row
    packing: str  # packed | padded | bucketed
    cut_share: float  # share of the samples longer than `seq_len`

    @property
    def mean(self) -> float:
        """Real tokens of a sample."""
        return float(np.sum(self.tokens * self.share))

    @property
    def samples_per_row(self) -> Fraction:
        """Samples in one row of a batch: several when packed, else one."""
        return Fraction(self.seq_len) / Fraction(self.mean) if self.packed else Fraction(1)

    @property
    def packed(self) -> bool:
        return self.packing == "packed"

    @property
    def tokens_per_row(self) -> float:
        """Real tokens of one row of a batch."""
        return float(self.seq_len) if self.packed else self.mean

    def row_tokens(self, rows: Array) -> Array:
        """Tokens that a row is computed as when `rows` of them run side by side.

        Packed rows are full. Padded rows are as long as the longest of all that run side by side,
        since ranks wait for each other: the expected maximum of `rows` draws,
        sum over lengths of l·(F(l)^rows - F(l-)^rows). Bucketed rows hold like with like.
        """
        if self.packed:
            return np.full(len(rows), float(self.seq_len))
        if self.packing == "bucketed":
            bucketed = min(self.mean * (1 + BUCKET_STEP) / 2, float(self.seq_len))
            return np.full(len(rows), bucketed)
        upto = np.minimum(np.cumsum(self.share), 1.0)
        below = np.concatenate([[0.0], upto[:-1]])
        many = rows[:, None]
        longest: Array = np.sum(self.tokens * (upto**many - below**many), axis=1)
        return longest


def lengths_of(data: Data, seq_len: int) -> Lengths | None:
    """The histogram that a run names, None where it names none. Raises PlannerError."""
    if data.lengths is None:
        return None
    if not data.lengths.lower().endswith(".csv"):
        remedy = "give a CSV histogram with the columns length,count; other files are not read"
        raise PlannerError("data.lengths", data.lengths, remedy)
    tokens, counts = read_histogram(data.lengths)
    cut = float(np.sum(counts[tokens > seq_len]) / np.sum(counts))
    lengths, where = np.unique(np.minimum(tokens, seq_len), return_inverse=True)
    share = np.bincount(where, weights=counts) / np.sum(counts)
    return Lengths(
        tokens=lengths,
        share=share,
        seq_len=seq_len,
        packing=data.packing or "padded",
        cut_share=cut,
    )


def read_histogram(path: str) -> tuple[Array, Array]:
    """(lengths in tokens, counts) of a CSV with the columns length,count. Raises PlannerError."""
    lines = lines_of(path, "data.lengths", errors="strict")
    try:
        rows = list(_rows(path, csv.DictReader(lines)))
    except csv.Error as error:  # a quote that never closes
        raise PlannerError("data.lengths", path, f"is not CSV: {error}") from None
    if not rows:
        raise PlannerError("data.lengths", path, "has no rows: write length,count in each")
    return np.array([row[0] for row in rows]), np.array([row[1] for row in rows])


def _rows(path: str, reader: csv.DictReader[str]) -> Any:
    if not {"length", "count"} <= set(reader.fieldnames or ()):
        raise PlannerError(
            "data.lengths", path, "the first line must name the columns length,count"
        )
    for row in reader:
        if reader.line_num > MOST_ROWS:
            raise PlannerError("data.lengths", path, f"more than {MOST_ROWS:,} rows: group them")
        where = f"{path} line {reader.line_num}"
        length, count = (_positive(where, row[name]) for name in ("length", "count"))
        if length > LONGEST or not length.is_integer():
            raise PlannerError("data.lengths", where, f"length {length:g}: write whole tokens")
        if count > MOST_SAMPLES:
            raise PlannerError("data.lengths", where, f"count {count:g}: at most {MOST_SAMPLES:g}")
        yield length, count


def _positive(where: str, cell: str | None) -> float:
    try:
        value = float(cell or "")
    except ValueError:
        value = float("nan")
    if not 0 < value < float("inf"):
        raise PlannerError("data.lengths", where, f"{cell!r}: write a number above zero")
    return value
