"""Finished training runs of one family: what a law is fitted to."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
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
    "unique_tokens": ("unique_tokens", "u"),
}
REPEATED = 1.05  # tokens over unique tokens, above which a run repeats its data


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """Runs with one recipe, one kind of data, one tokenizer. All arrays have shape (runs,)."""

    params: FloatArray  # parameters, counted the same way in every run
    tokens: FloatArray  # training tokens
    losses: FloatArray  # final loss, nats per token, on the same held-out set
    unique_tokens: FloatArray | None = None  # distinct tokens; None where nobody says

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
            params=self.params[chosen],
            tokens=self.tokens[chosen],
            losses=self.losses[chosen],
            unique_tokens=None if self.unique_tokens is None else self.unique_tokens[chosen],
        )

    @property
    def repeats(self) -> npt.NDArray[np.bool_]:
        """Which runs saw their data more than once; none where nobody says."""
        if self.unique_tokens is None:
            return np.zeros(len(self), dtype=np.bool_)
        return self.tokens > REPEATED * self.unique_tokens

    def without_largest_losses(self, count: int) -> Runs:
        """These runs less the `count` with the largest losses."""
        if not 0 <= count < len(self):
            raise PlannerError("drop-largest", count, f"must be between 0 and {len(self) - 1}")
        keep = np.ones(len(self), dtype=bool)
        keep[np.argsort(self.losses)[len(self) - count :]] = False
        return self.take(keep)


def read_runs(
    lines: Iterable[str],
    *,
    columns: Mapping[str, str] | None = None,
    where: Mapping[str, str] | None = None,
) -> Runs:
    """Runs from CSV lines with columns params, tokens, loss; flops may stand in for one of the
    first two (D = C/6N), unique_tokens may stand beside them.

    `columns` says what a table calls them (`{"loss": "c4_loss"}`); `where` keeps the rows whose
    cells are as given (`{"dataset": "c4"}`). Raises PlannerError naming line and column at fault.
    """
    reader = csv.reader(line for line in lines if line.strip())
    try:
        header = [cell.strip().lower().lstrip("\ufeff") for cell in next(reader, [])]
        wanted = _columns(header, columns or {})
        kept = {_position(header, name, "where"): text for name, text in (where or {}).items()}
        rows = [
            {name: _number(cells, column, name, line) for name, column in wanted.items()}
            for line, cells in enumerate(reader, start=2)
            if all(_cell(cells, column) == text for column, text in kept.items())
        ]
    except csv.Error as error:  # a quote that never closes
        raise PlannerError(f"line {reader.line_num}", None, f"is not CSV: {error}") from None
    if not rows:
        remedy = "no row is so" if where else "give a CSV with columns params,tokens,loss"
        raise PlannerError("where" if where else "runs", _said(where) or "no rows", remedy)
    table = {name: np.array([row[name] for row in rows]) for name in wanted}
    if "params" not in table:
        table["params"] = table["flops"] / 6 / table["tokens"]
    if "tokens" not in table:
        table["tokens"] = table["flops"] / 6 / table["params"]
    return Runs(
        params=table["params"],
        tokens=table["tokens"],
        losses=table["loss"],
        unique_tokens=table.get("unique_tokens"),
    )


def _said(where: Mapping[str, str] | None) -> str:
    return ",".join(f"{name}={text}" for name, text in (where or {}).items())


def _position(header: list[str], name: str, option: str) -> int:
    if name.strip().lower() not in header:
        raise PlannerError(option, name, f"no such column; there are {', '.join(header)}")
    return header.index(name.strip().lower())


def _columns(header: list[str], named: Mapping[str, str]) -> dict[str, int]:
    for name in named:
        if name not in COLUMNS:
            raise PlannerError("columns", name, f"say what one of {', '.join(COLUMNS)} is called")
    where = {
        name: header.index(word)
        for name, words in COLUMNS.items()
        for word in words
        if word in header
    }
    where |= {name: _position(header, column, "columns") for name, column in named.items()}
    sized = [name for name in ("params", "tokens", "flops") if name in where]
    if "loss" not in where or len(sized) < 2:
        remedy = (
            "the first line must name params,tokens,loss (or flops for one of the first two); "
            "--columns loss=NAME says what a table calls them"
        )
        raise PlannerError("runs", ",".join(header), remedy)
    if len(sized) == 3:
        del where["flops"]
    return where


def _number(cells: list[str], column: int, name: str, line: int) -> float:
    text = _cell(cells, column)
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not (math.isfinite(value) and value > 0):
        remedy = "must be a positive finite number; leave out runs that diverged"
        raise PlannerError(f"line {line}, {name}", text, remedy)
    return value


def _cell(cells: list[str], column: int) -> str:
    return cells[column].strip() if column < len(cells) else ""
