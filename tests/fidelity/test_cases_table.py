"""Tables of measured runs: what is read, and what is reported by line."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.errors import PlannerError
from planner.fidelity.infer import load_cases
from planner.fidelity.table import SHIPPED, Row, ran_out_of_memory, read_table

GOOD = "h100-sxm5-80gb,8,32,4096,32,32,11008,32000,4096,1,8,zero3,2.5"
HEADER = (
    "sku_id,n_gpus,layers,hidden,heads,kv_heads,ffn_hidden,vocab,seq_len,micro_batch,"
    "global_batch_seqs,sharding,step_time_s"
)


def _file(folder: Path, text: str) -> Path:
    path = folder / "cases.csv"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_table_is_clean_and_holds_every_row(shared: Path) -> None:
    table = read_table()
    assert len(table.rows) == 2960
    assert not table.problems
    assert SHIPPED.read_bytes() == (shared / "data/fidelity/runs.csv").read_bytes()


def test_a_file_with_few_reordered_and_extra_columns_is_evaluated(tmp_path: Path) -> None:
    header, row = HEADER.split(","), GOOD.split(",")
    text = (
        ",".join(["remark", *reversed(header)]) + "\n" + ",".join(["mine", *reversed(row)]) + "\n"
    )
    path = _file(tmp_path, text)
    cases, refusals = load_cases(path)
    assert not refusals
    assert cases[0].configuration.model.layers == 32
    assert cases[0].actual_seconds == 2.5
    problem = read_table(path).problems[0]
    assert (problem.line, problem.field, problem.value) == (1, "column", "remark")


def test_a_misspelt_column_names_the_nearest(tmp_path: Path) -> None:
    path = _file(tmp_path, HEADER.replace("sharding", "shardings") + f"\n{GOOD}\n")
    assert "did you mean sharding" in str(read_table(path).problems[0])


@pytest.mark.parametrize(
    ("column", "value", "reason"),
    [
        ("step_time_s", "2.5s", "a plain number"),
        ("step_time_s", "nan", "positive finite"),
        ("n_gpus", "-8", "positive finite"),
        ("layers", "32.5", "whole number"),
        ("sku_id", "H1000", "h100-sxm5-80gb"),
        ("sharding", "zero9", "one of none, zero1"),
    ],
)
def test_a_bad_cell_is_reported_by_line_and_the_rest_is_evaluated(
    tmp_path: Path, column: str, value: str, reason: str
) -> None:
    cells = GOOD.split(",")
    cells[HEADER.split(",").index(column)] = value
    path = _file(tmp_path, f"{HEADER}\n{','.join(cells)}\n{GOOD}\n")
    cases, refusals = load_cases(path)
    assert [case.line for case in cases] == [3]
    assert refusals[0].line == 2
    assert reason in refusals[0].reason


def test_a_utilisation_above_one_hundred_percent_is_impossible(tmp_path: Path) -> None:
    path = _file(tmp_path, f"{HEADER},mfu_pct\n{GOOD},140\n{GOOD},40\n")
    cases, refusals = load_cases(path)
    assert [case.mfu for case in cases] == [0.4]
    assert "above 100 %" in refusals[0].reason
    assert read_table(path).problems[0].line == 2


def test_more_parameters_than_the_devices_hold_is_impossible(tmp_path: Path) -> None:
    row = GOOD.replace("h100-sxm5-80gb,8,32", "h100-sxm5-80gb,1,4000")
    _, refusals = load_cases(_file(tmp_path, f"{HEADER}\n{row}\n"))
    assert "cannot hold the parameters" in refusals[0].reason


def test_degrees_that_do_not_divide_the_devices_are_refused(tmp_path: Path) -> None:
    path = _file(tmp_path, f"{HEADER},tp\n{GOOD},3\n")
    assert "do not divide the 8 devices" in load_cases(path)[1][0].reason


def test_oom_inside_bloom_is_no_out_of_memory() -> None:
    assert not ran_out_of_memory(Row(line=2, values={"model_name": "BLOOM", "notes": "BLOOM OOM"}))
    assert ran_out_of_memory(Row(line=2, values={"oom": "y"}))


@pytest.mark.parametrize("text", ["", "\x00", "a,b\n1,2\n"])
def test_what_is_no_table_of_runs_is_refused_as_a_whole(tmp_path: Path, text: str) -> None:
    with pytest.raises(PlannerError, match="cases file"):
        read_table(_file(tmp_path, text))


def test_a_missing_file_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="cannot be read"):
        read_table(tmp_path / "none.csv")
