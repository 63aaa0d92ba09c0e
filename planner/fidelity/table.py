"""Reading a table of measured training configurations, with what is wrong in it told by line."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from planner.errors import PlannerError, nearest
from planner.text_file import lines_of

SHIPPED = Path(__file__).parent / "data" / "runs.csv"

_COLUMNS = (
    "id source_repo_or_paper source_path_or_table year model_name params_b active_params_b layers"
    " hidden heads kv_heads ffn_hidden vocab seq_len mlp_kind n_experts top_k gpu sku_id n_gpus"
    " gpus_per_node precision task tp pp cp ep dp sharding shard_degree micro_batch grad_accum"
    " global_batch_seqs recompute flash_attn compile optimizer step_time_s tokens_per_s_per_gpu"
    " tflops_per_gpu mfu_pct hfu_pct peak_mem_gib oom total_tokens_b gpu_hours notes"
)
COLUMNS = tuple(_COLUMNS.split())
OPTIONAL = ("stack", "interleave", "lora_rank", "loss", "interconnect_gbit", "sequence_parallel")
NEEDED = ("n_gpus",)  # without these columns no row can be planned

_WHOLE = (
    "year layers hidden heads kv_heads ffn_hidden vocab seq_len n_experts top_k n_gpus"
    " gpus_per_node tp pp cp ep dp shard_degree micro_batch grad_accum global_batch_seqs"
    " interleave lora_rank"
)
_COUNTS = frozenset(_WHOLE.split())
_REAL = (
    "params_b active_params_b step_time_s tokens_per_s_per_gpu tflops_per_gpu mfu_pct hfu_pct"
    " peak_mem_gib total_tokens_b gpu_hours interconnect_gbit"
)
_QUANTITIES = frozenset(_REAL.split())


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One thing wrong in a table: what was read, where, and what became of it."""

    line: int  # of the file, the header is line 1
    id: str
    field: str
    value: str
    reason: str

    def __str__(self) -> str:
        where = f"line {self.line}" + (f" ({self.id})" if self.id else "")
        return f"{where}: {self.field}: {self.value!r}: {self.reason}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One measured configuration as it stands in the table: text, and where it came from."""

    line: int
    values: Mapping[str, str]

    @property
    def id(self) -> str:
        return self.values.get("id") or f"line-{self.line}"

    def text(self, field: str) -> str:
        """The cell without surrounding blanks, empty when the column or the value is missing."""
        return self.values.get(field, "").strip()

    def count(self, field: str) -> int | None:
        """A positive whole number, or None when not stated. `8.0` reads as 8.

        Raises PlannerError when the cell holds anything else.
        """
        number = self.quantity(field)
        if number is None:
            return None
        if number != int(number):
            raise PlannerError(field, self.text(field), "a whole number")
        return int(number)

    def quantity(self, field: str) -> float | None:
        """A positive finite number in the column's unit, or None when not stated."""
        cell = self.text(field)
        if not cell:
            return None
        try:
            number = float(cell.replace(",", ""))
        except ValueError:
            raise PlannerError(field, cell, "a plain number in the column's unit") from None
        if not math.isfinite(number) or number <= 0:
            raise PlannerError(field, cell, "a positive finite number, or empty when not stated")
        return number


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """The rows of one file and what is wrong with it."""

    path: Path
    rows: tuple[Row, ...]
    problems: tuple[Problem, ...]


def read_table(path: Path | str | None = None) -> Table:
    """The rows of a cases file, or of the shipped table.

    Columns may be missing, in any order, or more than ours; a missing column counts as not
    stated, and columns that nothing reads are reported. Raises PlannerError when the file is
    not a table at all or lacks every column that could place a row.
    """
    where = SHIPPED if path is None else Path(path)
    header, lines = _read_csv(where)
    problems = list(_header_problems(header))
    rows: list[Row] = []
    seen: dict[str, int] = {}
    for number, cells in lines:
        row = Row(line=number, values=dict(zip(header, cells, strict=False)))
        problems.extend(_shape_problems(row, header, cells))
        problems.extend(_cell_problems(row))
        if row.text("id") in seen and row.text("id"):
            first = seen[row.text("id")]
            problems.append(_problem(row, "id", f"also on line {first}; both are evaluated"))
        seen.setdefault(row.text("id"), number)
        rows.append(row)
    return Table(path=where, rows=tuple(rows), problems=tuple(problems))


def _read_csv(path: Path) -> tuple[list[str], list[tuple[int, list[str]]]]:
    reader = csv.reader(lines_of(path, "cases file", errors="strict"))
    try:
        header = [name.strip() for name in next(reader, [])]
        lines = [
            (reader.line_num, cells) for cells in reader if any(cell.strip() for cell in cells)
        ]
    except csv.Error as error:
        raise PlannerError("cases file", str(path), f"not a CSV file: {error}") from None
    missing = [name for name in NEEDED if name not in header]
    if missing:
        raise PlannerError(
            "cases file", str(path), f"has no column {', '.join(missing)}; write a header line"
        )
    return header, lines


def _header_problems(header: list[str]) -> Iterator[Problem]:
    known = (*COLUMNS, *OPTIONAL)
    for name in header:
        if name not in known:
            close = nearest(name, [word for word in known if word not in header], count=1)
            hint = f"; did you mean {close[0]}?" if close else ""
            yield Problem(
                line=1, id="", field="column", value=name, reason=f"not read by forerun{hint}"
            )
    for name in sorted({name for name in header if header.count(name) > 1}):
        yield Problem(line=1, id="", field="column", value=name, reason="twice; the last is read")


def _shape_problems(row: Row, header: list[str], cells: list[str]) -> Iterator[Problem]:
    if len(cells) != len(header):
        yield _problem(
            row, "cells", f"{len(cells)} cells under {len(header)} columns", str(len(cells))
        )


def _cell_problems(row: Row) -> Iterator[Problem]:
    for field in row.values:
        try:
            if field in _COUNTS:
                row.count(field)
            elif field in _QUANTITIES:
                row.quantity(field)
        except PlannerError as error:
            yield _problem(row, field, error.remedy)
    yield from _impossible(row)


def _impossible(row: Row) -> Iterator[Problem]:
    """Figures that no machine can reach, whatever the configuration."""
    for field in ("mfu_pct", "hfu_pct"):
        value = _or_none(row, field)
        if value is not None and value > 100:
            yield _problem(row, field, "above 100 % is impossible")
    peak = _or_none(row, "peak_mem_gib")
    if peak is not None and peak > 1024:
        yield _problem(row, "peak_mem_gib", "no accelerator has a TiB; MiB or bytes?")
    if row.text("oom").lower() not in ("", "y", "n", "yes", "no", "true", "false"):
        yield _problem(row, "oom", "y for a run that failed for memory, else empty")


def _or_none(row: Row, field: str) -> float | None:
    try:
        return row.quantity(field)
    except PlannerError:
        return None


def _problem(row: Row, field: str, reason: str, value: str | None = None) -> Problem:
    shown = row.text(field) if value is None else value
    return Problem(line=row.line, id=row.text("id"), field=field, value=shown, reason=reason)


def ran_out_of_memory(row: Row) -> bool:
    """Whether the row says that the run failed for memory; only its own column counts.

    `OOM` inside `BLOOM` or a remark about other settings does not.
    """
    return row.text("oom").lower() in ("y", "yes", "true", "1")


def problems_of(problems: Iterable[Problem], row: Row) -> tuple[Problem, ...]:
    """The problems on that row's line."""
    return tuple(problem for problem in problems if problem.line == row.line)
