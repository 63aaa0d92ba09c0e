"""From rows of a measurements table to fully decided configurations.

What a row leaves out comes, in this order, from its notes, from what its source is known to do,
from the stack's usual practice, and from the named model's public config. Every field filled in
is listed on the case. A row that misses what no one can infer becomes a refusal with its reason.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import hardware_db
from planner.engine.configuration import Configuration
from planner.engine.model import Model
from planner.errors import PlannerError
from planner.fidelity import measured
from planner.fidelity.case import Case, Refusal
from planner.fidelity.draft import Draft
from planner.fidelity.layout import read_batch, read_layout
from planner.fidelity.notes import parse_notes
from planner.fidelity.practice import (
    ALPACA_LONGEST,
    ALPACA_MEAN,
    group_of,
    padded_length,
    practice_of,
)
from planner.fidelity.settings import read_configuration, read_model, read_recipe
from planner.fidelity.table import Row, Table, ran_out_of_memory, read_table


def load_cases(path: Path | str | None = None) -> tuple[list[Case], list[Refusal]]:
    """Every row of a table as a case or a refusal. Without a path: the shipped table."""
    return cases_of(_shipped() if path is None else read_table(path))


@cache
def _shipped() -> Table:
    return read_table()


def cases_of(table: Table) -> tuple[list[Case], list[Refusal]]:
    """Cases and refusals of a table that has been read."""
    cases: list[Case] = []
    refusals: list[Refusal] = []
    for row in table.rows:
        try:
            cases.extend(case_of(row))
        except PlannerError as error:
            refusals.append(_refusal(row, f"{error.field}: {error.value!r}: {error.remedy}"))
    return cases, refusals


def case_of(row: Row) -> list[Case]:
    """The case of one row; two when time and peak come from samples of different lengths.

    Raises PlannerError naming what is missing or impossible.
    """
    notes = parse_notes(row.text("notes"), row.text("source_path_or_table"), row.text("model_name"))
    draft = Draft(row=row, notes=notes, practice=practice_of(row, notes))
    return _by_length(_whole_case(draft)) if notes.unpacked else [_whole_case(draft)]


def _whole_case(draft: Draft) -> Case:
    row = draft.row
    if not draft.practice.stated:
        draft.infer("stack")
    layout = read_layout(draft)
    model = read_model(draft, layout)
    _forget_experts(draft, model)
    seq_len = draft.need("seq_len")
    batch = read_batch(draft, tp=layout.tp, dp=layout.dp)
    recipe = read_recipe(draft, layout)
    configuration = read_configuration(draft, model, layout, batch, seq_len, recipe)
    _check_memory(draft, configuration)
    return Case(
        id=row.id,
        line=row.line,
        source=row.text("source_repo_or_paper"),
        group=group_of(row.text("source_repo_or_paper")),
        configuration=configuration,
        traits=measured.traits(draft, configuration, recipe),
        actual_seconds=measured.seconds(draft, configuration),
        actual_peak_bytes=measured.peak_bytes(draft),
        meter=measured.meter(draft),
        oom=ran_out_of_memory(row),
        tflops_per_device=row.quantity("tflops_per_gpu"),
        mfu=measured.mfu(draft),
        inferred=tuple(draft.inferred),
        notes=tuple(draft.remarks),
    )


def _check_memory(draft: Draft, configuration: Configuration) -> None:
    """A run needs at least its weights on its devices; a row that ran with less is wrong."""
    usable = hardware_db.accelerator(configuration.sku).usable_bytes
    if usable is None or configuration.offload != "none" or ran_out_of_memory(draft.row):
        return
    least = 0.5 if configuration.task == "qlora" else 1.0  # bytes per parameter
    if configuration.model.params_total * least > usable * configuration.num_devices:
        raise PlannerError(
            "n_gpus", configuration.num_devices, "cannot hold the parameters of the model"
        )


def _forget_experts(draft: Draft, model: Model) -> None:
    """A dense model has no expert degree to infer."""
    if "ep" in draft.inferred and not any(block.num_experts for block in model.blocks):
        draft.inferred.remove("ep")


def _by_length(case: Case) -> list[Case]:
    """Unpacked samples: a step takes what short padded batches take, the longest sets the peak."""
    configuration = case.configuration
    longest = min(configuration.seq_len, ALPACA_LONGEST)
    padded = min(longest, padded_length(configuration.micro_batch))
    share = ALPACA_MEAN / configuration.seq_len
    remark = "unpacked samples: mean length for the time, the longest for the peak"
    both = replace(
        case, inferred=(*case.inferred, "seq_len"), notes=(*case.notes, remark), actual_seconds=None
    )
    time = replace(
        both,
        configuration=replace(configuration, seq_len=padded),
        traits=replace(case.traits, real_tokens=ALPACA_MEAN / padded),
        actual_seconds=None if case.actual_seconds is None else case.actual_seconds * share,
        actual_peak_bytes=None,
        meter="",
        oom=False,
    )
    memory = replace(both, configuration=replace(configuration, seq_len=longest))
    return [part for part in (time, memory) if part.kind != "rate-only"]


def _refusal(row: Row, reason: str) -> Refusal:
    source = row.text("source_repo_or_paper")
    return Refusal(
        id=row.id,
        line=row.line,
        source=source,
        group=group_of(source),
        kind=_kind(row),
        reason=reason,
    )


def _kind(row: Row) -> str:
    time = bool(row.text("step_time_s") or row.text("tokens_per_s_per_gpu"))
    memory = bool(row.text("peak_mem_gib")) or ran_out_of_memory(row)
    if time and memory:
        return "time+memory"
    return "time" if time else "memory" if memory else "rate-only"
