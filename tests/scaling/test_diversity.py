"""Diversity of a sample: copies are found, new text is not blamed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from planner.errors import PlannerError
from planner.scaling.diversity import effective_unique_tokens, measure_diversity


def documents(count: int, seed: int = 0, words: int = 200) -> list[str]:
    generator = np.random.default_rng(seed)
    return [
        " ".join(f"w{number}" for number in generator.integers(0, 5000, words))
        for _ in range(count)
    ]


def test_random_documents_are_all_new() -> None:
    found = measure_diversity(documents(50))
    assert found.duplicate_share == 0
    assert found.copied_share == 0
    assert effective_unique_tokens(1e9, found) == 1e9


def test_a_corpus_that_repeats_three_times_is_a_third_new() -> None:
    found = measure_diversity(documents(20) * 3)
    assert found.duplicate_share == pytest.approx(2 / 3)
    assert found.new_share == pytest.approx(1 / 3)
    assert found.shared_share > 0.5
    assert effective_unique_tokens(3e9, found) == pytest.approx(1e9)


def test_half_copied_documents_are_found_although_none_is_a_duplicate() -> None:
    first = documents(20)
    second = [
        f"{old[: len(old) // 2]} {new[: len(new) // 2]}"
        for old, new in zip(first, documents(20, seed=1), strict=True)
    ]
    found = measure_diversity(first + second)
    assert found.duplicate_share == 0
    assert found.copied_share == pytest.approx(0.25, abs=0.02)


def test_a_short_phrase_that_recurs_is_no_copy() -> None:
    texts = [f"once upon a time there was {text}" for text in documents(30)]
    assert measure_diversity(texts).copied_share == 0


@pytest.mark.parametrize("sample", [[], ["", "  "]])
def test_a_sample_without_words_is_refused(sample: list[str]) -> None:
    with pytest.raises(PlannerError, match="sample"):
        measure_diversity(sample)


def test_the_command_reads_lines_and_jsonl(forerun: Callable[..., Any], tmp_path: Path) -> None:
    texts = documents(10) * 2
    plain, jsonl = tmp_path / "a.txt", tmp_path / "a.jsonl"
    plain.write_text("\n".join(texts))
    jsonl.write_text("\n".join(json.dumps({"text": text}) for text in texts))
    for path in (plain, jsonl):
        answer = forerun("scaling", "diversity", path, "--tokens", "2B", "--json").json
        assert answer["effective_unique_tokens"] == pytest.approx(1e9)
    jsonl.write_text('{"body": "x"}')
    assert forerun("scaling", "diversity", jsonl).status == 2
