"""Real lengths of samples: reading a histogram, and the work of padding and packing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.planning.lengths import Lengths, lengths_of
from planner.planning.plan import plan
from planner.run import Data
from tests.planning.jobs import fine_tune, job

SHORT = "length,count\n100,3\n200,1\n"


def histogram(folder: Path, text: str = SHORT) -> str:
    file = folder / "lengths.csv"
    file.write_text(text, encoding="utf-8")
    return str(file)


def lengths(path: str, packing: str = "padded", seq_len: int = 512) -> Lengths:
    found = lengths_of(Data(lengths=path, packing=packing), seq_len)
    assert found is not None
    return found


def test_without_a_file_every_row_is_full() -> None:
    assert lengths_of(Data(), 512) is None


def test_the_mean_weighs_each_length_by_its_count(tmp_path: Path) -> None:
    assert lengths(histogram(tmp_path)).mean == pytest.approx(125)


def test_one_padded_row_is_as_long_as_the_mean_and_many_as_the_longest(tmp_path: Path) -> None:
    alone, crowd = lengths(histogram(tmp_path)).row_tokens(np.array([1.0, 1000.0]))
    assert alone == pytest.approx(125)
    assert crowd == pytest.approx(200)


def test_two_padded_rows_are_as_long_as_the_longer(tmp_path: Path) -> None:
    (pair,) = lengths(histogram(tmp_path)).row_tokens(np.array([2.0]))
    assert pair == pytest.approx(100 * (3 / 4) ** 2 + 200 * (1 - (3 / 4) ** 2))


def test_packed_rows_are_full_and_hold_several_samples(tmp_path: Path) -> None:
    packed = lengths(histogram(tmp_path), "packed")
    assert packed.row_tokens(np.array([8.0])).tolist() == [512.0]
    assert float(packed.samples_per_row) == pytest.approx(512 / 125)


def test_what_is_longer_than_a_row_is_cut(tmp_path: Path) -> None:
    cut = lengths(histogram(tmp_path), seq_len=150)
    assert cut.cut_share == pytest.approx(0.25)
    assert cut.mean == pytest.approx(0.75 * 100 + 0.25 * 150)


@given(st.lists(st.integers(1, 4096), min_size=1, max_size=30), st.integers(1, 64))
def test_rows_lie_between_the_mean_and_the_longest(each: list[int], rows: int) -> None:
    tokens, counts = np.unique(np.array(each), return_counts=True)
    made = Lengths(
        tokens=tokens, share=counts / len(each), seq_len=4096, packing="padded", cut_share=0.0
    )
    (computed,) = made.row_tokens(np.array([float(rows)]))
    assert made.mean - 1e-6 <= computed <= max(each) + 1e-6


def test_padding_costs_time_against_packing_and_bucketing(tmp_path: Path) -> None:
    path = histogram(tmp_path, "length,count\n64,90\n512,10\n")
    days = {
        word: plan(
            fine_tune(
                "gpt2-xl",
                data__samples=10**6,
                training__micro_batch=8,
                data__lengths=path,
                data__packing=word,
            )
        ).run.seconds
        for word in ("padded", "bucketed", "packed")
    }
    assert days["padded"] > 1.5 * days["bucketed"]
    assert days["padded"] > 1.5 * days["packed"]


def test_the_run_counts_real_tokens(tmp_path: Path) -> None:
    made = plan(job(data__samples=1000, data__seq_len=512, data__lengths=histogram(tmp_path)))
    assert made.run.tokens == 125_000
    assert made.chosen["lengths"]["mean_tokens"] == pytest.approx(125)


def test_memory_is_that_of_a_full_row(tmp_path: Path) -> None:
    path = histogram(tmp_path)
    real = plan(job(data__seq_len=512, data__lengths=path)).memory.peak_bytes
    assert real == pytest.approx(plan(job(data__seq_len=512)).memory.peak_bytes, rel=0.2)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "columns length,count"),
        ("length,count\n", "no rows"),
        ("tokens,n\n1,2\n", "columns length,count"),
        ("length,count\n-5,2\n", "above zero"),
        ("length,count\n5,nan\n", "above zero"),
        ("length,count\n5.5,2\n", "whole tokens"),
        ("length,count\n5,1e308\n6,1e308\n", "count 1e\\+308: at most"),
        ("length,count\n5\n", "above zero"),
        ('length,count\n"5,' + "1\n" * 100_000, "not CSV"),
        ("length,count\n" + "1" * 2_000_000, "longer than"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(tmp_path: Path, text: str, word: str) -> None:
    with pytest.raises(PlannerError, match=word):
        lengths(histogram(tmp_path, text))


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "lengths.csv"
    path.write_bytes(b"length,count\n\xff\xfe,1\n")
    with pytest.raises(PlannerError, match="not UTF-8"):
        lengths(str(path))


def test_other_files_are_refused_by_name() -> None:
    with pytest.raises(PlannerError, match="CSV histogram"):
        lengths_of(Data(lengths="text.jsonl", tokenizer="gpt2"), 512)
