"""`forerun validate`: the contract, the headline figures, and files with faults."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from planner.cli.validate_text import sums
from planner.fidelity.table import SHIPPED
from planner.fidelity.validate import Measurements, answer, validation
from tests.conftest import Answer

SCORE = {"n", "median_ape", "p90_ape", "bias", "coverage80"}
GOOD = {
    "id": "good",
    "model_name": "GPT 1.3B",
    "layers": "24",
    "hidden": "2048",
    "heads": "16",
    "ffn_hidden": "8192",
    "vocab": "50304",
    "seq_len": "2048",
    "mlp_kind": "gelu",
    "sku_id": "a100-sxm4-80gb",
    "n_gpus": "8",
    "precision": "bf16",
    "task": "pretrain",
    "sharding": "zero1",
    "micro_batch": "8",
    "grad_accum": "1",
    "step_time_s": "1.1",
}


def write(path: Path, rows: list[dict[str, str]], columns: list[str] | None = None) -> Path:
    names = columns or list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names, restval="", extrasaction="ignore")
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture(scope="module")
def shipped(measurements: Measurements) -> dict[str, Any]:
    return answer(measurements)


def test_the_answer_has_the_keys_that_others_rely_on(shipped: dict[str, Any]) -> None:
    assert shipped["mode"] == "leave-one-source-out"
    for part in ("time", "memory"):
        assert SCORE | {"mean_of_source_medians", "by_source"} <= set(shipped[part])
        assert all(set(each) >= SCORE for each in shipped[part]["by_source"].values())
    assert {"fit_accuracy", "oom_recall", "ran_called_does_not"} <= set(shipped["memory"])
    assert {"id", "reason"} <= set(shipped["refused"][0])
    names = {"id", "source", "kind", "actual", "predicted", "low", "high", "ape", "inferred"}
    assert names <= set(shipped["rows"][0])
    json.dumps(shipped, allow_nan=False)


def test_every_measurement_is_predicted_or_refused(shipped: dict[str, Any]) -> None:
    for kind in ("time", "memory"):
        rows = [row for row in shipped["rows"] if row["kind"] == kind]
        refused = [each for each in shipped["refused"] if kind in each["kind"]]
        assert shipped[kind]["n"] == len(rows) + len(refused)
        assert sum(each["n"] for each in shipped[kind]["by_source"].values()) == shipped[kind]["n"]
        assert {row["source"] for row in rows} <= set(shipped[kind]["by_source"])
    assert shipped["time"]["n"] == 2705
    assert shipped["memory"]["n"] == 248


def test_both_tables_of_one_maker_are_one_source(shipped: dict[str, Any]) -> None:
    assert [name for name in shipped["time"]["by_source"] if "mosaic" in name] == ["mosaicml"]


def test_rows_state_their_error_and_lie_inside_their_interval(shipped: dict[str, Any]) -> None:
    for row in shipped["rows"]:
        assert row["low"] < row["predicted"] < row["high"]
        assert row["ape"] == pytest.approx(abs(row["predicted"] / row["actual"] - 1))


def test_step_times_of_sources_left_out_stay_as_close_as_they_are(shipped: dict[str, Any]) -> None:
    time = shipped["time"]
    assert time["mean_of_source_medians"] < 0.14
    assert time["p90_ape"] < 0.33
    questions = time["questions"]
    assert questions["launch-bound small models (vTrain, one node)"]["median_ape"] < 0.11
    assert questions["FP8"]["median_ape"] < 0.10
    assert questions["mixture of experts"]["median_ape"] < 0.18
    assert questions["LoRA and QLoRA"]["median_ape"] < 0.15
    assert questions["512 GPUs and more"]["median_ape"] < 0.12


def test_forerun_beats_the_rule_of_thumb_on_all_sources_but_two(shipped: dict[str, Any]) -> None:
    rule = shipped["time"]["rule_of_thumb"]
    assert rule["sources_better"] >= rule["sources_compared"] - 2
    assert rule["mean_of_source_medians"] > 2 * shipped["time"]["mean_of_source_medians"]


def test_peaks_stay_as_close_as_they_are(shipped: dict[str, Any]) -> None:
    memory = shipped["memory"]
    assert memory["median_ape"] < 0.13
    assert memory["p90_ape"] < 0.35
    assert memory["oom_recall"] == 1.0
    assert memory["ran_called_does_not"] <= 0.07


@pytest.mark.parametrize("kind", ["time", "memory"])
def test_intervals_hold_on_sources_left_out(shipped: dict[str, Any], kind: str) -> None:
    assert 0.75 <= shipped[kind]["coverage80"] <= 0.88
    large = {name: each for name, each in shipped[kind]["by_source"].items() if each["n"] >= 20}
    assert {
        name: each["coverage80"] for name, each in large.items() if each["coverage80"] < 0.6
    } == {}


def test_rates_are_reported_apart(shipped: dict[str, Any]) -> None:
    assert shipped["rate_only"]["n"] > 50
    stated = {row["id"] for row in shipped["rows"]}
    assert not any(name.startswith("maxtext_levanter-006") for name in stated)


def test_a_file_is_evaluated_with_the_shipped_constants(tmp_path: Path) -> None:
    found = validation(write(tmp_path / "mine.csv", [GOOD]))
    assert found["mode"] == "shipped"
    (row,) = found["rows"]
    assert row["actual"] == 1.1
    assert 0.5 < row["predicted"] < 2.0
    assert "optimizer" in row["inferred"]


def test_the_order_of_columns_and_further_ones_change_nothing(tmp_path: Path) -> None:
    plain = validation(write(tmp_path / "a.csv", [GOOD]))
    columns = [*reversed(GOOD), "weather"]
    turned = validation(write(tmp_path / "b.csv", [{**GOOD, "weather": "mild"}], columns))
    assert turned["rows"] == plain["rows"]
    assert [(each["line"], each["value"]) for each in turned["problems"]] == [(1, "weather")]


def test_tokens_per_second_turn_into_a_step_time(tmp_path: Path) -> None:
    rate = {**GOOD, "step_time_s": "", "tokens_per_s_per_gpu": str(8 * 2048 / 1.1)}
    (row,) = validation(write(tmp_path / "rate.csv", [rate]))["rows"]
    assert row["actual"] == pytest.approx(1.1)


def test_a_row_of_rates_only_is_not_under_time(tmp_path: Path) -> None:
    rate = {**GOOD, "step_time_s": "", "mfu_pct": "45"}
    found = validation(write(tmp_path / "mfu.csv", [rate]))
    assert found["time"]["n"] == 0
    assert found["time"]["median_ape"] is None
    assert found["rate_only"]["n"] == 1
    assert found["rate_only"]["median_ape"] < 0.5


BAD = {
    "mfu": ({"mfu_pct": "140"}, "above 100 % is impossible"),
    "fast": ({"step_time_s": "0.01"}, "of the dense peak is impossible"),
    "text": ({"step_time_s": "1.1 s"}, "plain number"),
    "part": ({"sku_id": "a100-sxm9-800gb"}, "a100"),
    "mib": ({"step_time_s": "", "peak_mem_gib": "65000"}, "has 80 GiB"),
    "big": (
        {"n_gpus": "1", "layers": "200", "hidden": "12288", "step_time_s": "900"},
        "cannot hold",
    ),
    "format": ({"precision": "fp8"}, "a100-sxm4-80gb has no stated rate in fp8"),
    "cpu": ({"sku_id": "epyc-7763"}, "has no stated rate in bf16"),
    "layers": ({"layers": "100000000"}, "num_hidden_layers"),
    "month": ({"step_time_s": "1e300"}, "no step takes a month"),
    "negative": ({"step_time_s": "-1"}, "positive"),
    "nan": ({"step_time_s": "nan"}, "positive finite"),
    "degree": ({"tp": "3"}, "tp"),
    "word": ({"precision": "bf17"}, "bf16"),
    "experts": ({"n_experts": "64", "top_k": "8", "ffn_hidden": ""}, "ffn_hidden"),
}


@pytest.mark.parametrize("name", BAD)
def test_an_impossible_row_is_refused_by_line_and_the_rest_is_evaluated(
    tmp_path: Path, name: str
) -> None:
    change, reason = BAD[name]
    path = write(tmp_path / "bad.csv", [GOOD, {**GOOD, "id": name, **change}, {**GOOD, "id": "z"}])
    found = validation(path)
    assert [row["id"] for row in found["rows"]] == ["good", "z"]
    (refused,) = found["refused"]
    assert (refused["id"], refused["line"]) == (name, 3)
    assert reason in refused["reason"]
    assert found["time"]["n"] + found["memory"]["n"] == 3


def test_milliseconds_in_a_column_of_seconds_are_told_by_line(tmp_path: Path) -> None:
    rows = [GOOD, {**GOOD, "id": "late", "step_time_s": "1100"}]
    found = validation(write(tmp_path / "ms.csv", rows))
    (problem,) = found["problems"]
    assert (problem["line"], problem["id"], problem["field"]) == (3, "late", "step_time_s")
    assert len(found["rows"]) == 2


def test_a_row_with_too_few_cells_is_told_and_evaluated(tmp_path: Path) -> None:
    path = write(tmp_path / "short.csv", [GOOD])
    cut = {name: value for name, value in GOOD.items() if name != "id"}
    header = ",".join([*cut, "notes", "mfu_pct"])
    path.write_text(header + "\n" + ",".join(cut.values()) + "\n", encoding="utf-8")
    found = validation(path)
    assert [row["id"] for row in found["rows"]] == ["line-2"]
    assert "cells under" in found["problems"][0]["reason"]


def test_an_empty_table_has_no_figures(tmp_path: Path) -> None:
    path = tmp_path / "empty.csv"
    path.write_text("id,n_gpus\n", encoding="utf-8")
    found = validation(path)
    assert (found["time"]["n"], found["time"]["median_ape"], found["rows"]) == (0, None, [])


@pytest.mark.parametrize("text", ["", "a,b\n1,2\n", "\x00\x01"])
def test_what_is_no_table_is_the_users_to_mend(
    tmp_path: Path, forerun: Callable[..., Answer], text: str
) -> None:
    path = tmp_path / "none.csv"
    path.write_text(text, encoding="utf-8")
    done = forerun("validate", path)
    assert done.status == 2
    assert done.out == ""
    assert done.err.startswith("forerun: cases file: ")
    assert len(done.err.splitlines()) == 1


def test_an_absent_file_is_the_users_to_mend(forerun: Callable[..., Answer]) -> None:
    assert forerun("validate", "nowhere.csv", "--json").status == 2


def test_json_is_one_object_and_nothing_else(
    tmp_path: Path, forerun: Callable[..., Answer]
) -> None:
    path = write(tmp_path / "bad.csv", [GOOD, {**GOOD, "id": "late", "step_time_s": "1100"}])
    done = forerun("validate", path, "--json")
    assert done.status == 0
    assert done.json["mode"] == "shipped"
    assert len(done.json["rows"]) == 2


def test_the_text_names_errors_rows_and_what_is_wrong(
    tmp_path: Path, forerun: Callable[..., Answer]
) -> None:
    path = write(tmp_path / "bad.csv", [GOOD, {**GOOD, "id": "fast", "step_time_s": "0.01"}])
    done = forerun("validate", path, "--rows")
    assert done.status == 0
    for text in ("1 rows planned, 1 refused", "median error", "GPT 1.3B", "fast", "impossible"):
        assert text in done.out


def test_the_report_is_of_the_shipped_table_only(
    tmp_path: Path, forerun: Callable[..., Answer]
) -> None:
    path = write(tmp_path / "mine.csv", [GOOD])
    done = forerun("validate", path, "--markdown", tmp_path / "page.md")
    assert done.status == 2
    assert "leave out the cases file" in done.err
    absent = forerun("validate", "--markdown", tmp_path / "no" / "page.md")
    assert absent.status == 2
    assert "folder that exists" in absent.err


def test_the_shipped_table_given_as_a_file_is_a_file(measurements: Measurements) -> None:
    found = validation(SHIPPED)
    assert found["mode"] == "shipped"
    assert len(found["rows"]) == len(measurements.times) + len(measurements.peaks)


def test_the_text_says_how_the_rows_add_up(measurements: Measurements) -> None:
    found = answer(measurements)
    lines = sums(found)
    assert [line.split(" ", 1)[1].split(" = ")[0] for line in lines] == [
        "step times",
        "peaks of memory",
        "rates alone (TFLOP/s or MFU)",
    ]
    for line, part in zip(lines, ("time", "memory", "rate_only"), strict=True):
        total, terms = line.replace(",", "").split(" = ")
        numbers = re.findall(r"(^|[+-] )(\d+) (?:rows|that|of those|refused)", terms)
        assert sum(int(sign.strip() + number) for sign, number in numbers) == int(total.split()[0])
        assert int(total.split()[0]) == found[part]["n"]
