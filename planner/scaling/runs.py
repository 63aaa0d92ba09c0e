"""Finished training runs of one family: what a law is fitted to."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.errors import PlannerError
from planner.scaling.forms import FloatArray

Positions = npt.NDArray[np.bool_] | npt.NDArray[np.int64]

LARGEST = 1e24  # of parameters, tokens and losses: more is a slip

COLUMNS = {
    "params": ("params", "parameters", "n", "model size", "num_params"),
    "tokens": ("tokens", "d", "training tokens", "num_tokens"),
    "loss": ("loss", "l", "val_loss", "final_loss"),
    "flops": ("flops", "compute", "c", "training flop", "training flops"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs with one recipe, one kind of data, one tokenizer. All arrays have shape (runs,)."""

    params: FloatArray  # parameters, counted the same way in every run
    tokens: FloatArray  # training tokens
    losses: FloatArray  # final loss, nats per token, on the same held-out set

    def __post_init__(self) -> None:
        if not len(self.params) == len(self.tokens) == len(self.losses):
            raise PlannerError("runs", len(self.losses), "params, tokens and loss differ in length")
        for name in ("params", "tokens", "losses"):
            values = getattr(self, name)
            for position in np.flatnonzero(~((values > 0) & (values < LARGEST))):
                remedy = "must be a positive number below 1e24; leave out runs that diverged"
                raise PlannerError(f"run {position + 1}, {name}", float(values[position]), remedy)

    def __len__(self) -> int:
        return len(self.losses)

    @property
    def flops(self) -> FloatArray:
        """Training compute, 6·N·D."""
        return 6 * self.params * self.tokens

    def take(self, chosen: Positions) -> Runs:
        """The runs at these positions or under this mask."""
        return Runs(
            params=self.params[chosen], tokens=self.tokens[chosen], losses=self.losses[chosen]
        )

    def without_largest_losses(self, count: int) -> Runs:
        """These runs less the `count` with the largest losses."""
        if not 0 <= count < len(self):
            raise PlannerError("drop-largest", count, f"must be between 0 and {len(self) - 1}")
        keep = np.ones(len(self), dtype=bool)
        keep[np.argsort(self.losses)[len(self) - count :]] = False
        return self.take(keep)


def read_runs(lines: Iterable[str]) -> Runs:
    """Runs from CSV lines with columns params, tokens, loss; flops may stand in for one of the
    first two (D = C/6N). Raises PlannerError naming the line and column at fault."""
    reader = csv.reader(line for line in lines if line.strip())
    try:
        header = [cell.strip().lower().lstrip("\ufeff") for cell in next(reader, [])]
        where = _columns(header)
        rows = [
            {name: _number(cells, column, name, line) for name, column in where.items()}
            for line, cells in enumerate(reader, start=2)
        ]
    except csv.Error as error:  # a quote that never closes
        raise PlannerError(f"line {reader.line_num}", None, f"is not CSV: {error}") from None
    if not rows:
        raise PlannerError("runs", "no rows", "give a CSV with columns params,tokens,loss")
    table = {name: np.array([row[name] for row in rows]) for name in where}
    if "params" not in table:
        table["params"] = table["flops"] / 6 / table["tokens"]
    if "tokens" not in table:
        table["tokens"] = table["flops"] / 6 / table["params"]
    return Runs(params=table["params"], tokens=table["tokens"], losses=table["loss"])


def _columns(header: list[str]) -> dict[str, int]:
    where = {
        name: header.index(word)
        for name, words in COLUMNS.items()
        for word in words
        if word in header
    }
    sized = [name for name in ("params", "tokens", "flops") if name in where]
    if "loss" not in where or len(sized) < 2:
        remedy = "the first line must name params,tokens,loss (or flops for one of the first two)"
        raise PlannerError("runs", ",".join(header), remedy)
    if len(sized) == 3:
        del where["flops"]
    return where


def _number(cells: list[str], column: int, name: str, line: int) -> float:
    text = cells[column].strip() if column < len(cells) else ""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        remedy = "must be a positive finite number; leave out runs that diverged"
        raise PlannerError(f"line {line}, {name}", text, remedy)
    return value
