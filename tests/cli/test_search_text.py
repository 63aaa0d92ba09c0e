"""What `forerun search` prints tells its rows apart, and long work says so before it begins."""

from __future__ import annotations

import pytest

from planner import Run, search
from planner.cli import search_text
from planner.cli.progress import told_tracing

RUN = Run.from_mapping(
    {
        "model": "gpt2-124m",
        "data": {"tokens": "1B", "seq_len": 1024},
        "hardware": {"sku": "l40s", "count": 2},
        "training": {"global_batch": 64},
    }
)


def test_rows_that_differ_in_compilation_alone_show_it(capsys: pytest.CaptureFixture[str]) -> None:
    answer = search(RUN).to_json()
    search_text.show(answer | {"study": None})
    _, _, listed = capsys.readouterr().out.partition("Next best on the same machine\n")
    head, *lines = listed.split("\n\n")[0].splitlines()
    rows = lines[: search_text.LISTED]
    shown = answer["alternatives"][: search_text.LISTED]
    assert ("compile" in head) == (len({row["compile"] for row in shown}) > 1)
    assert len(set(rows)) == len(rows)


@pytest.mark.parametrize(("sure", "said"), [(False, True), (True, False)])
def test_a_rival_that_is_ahead_says_why_it_was_not_chosen(sure: bool, said: bool) -> None:
    answer = search(RUN).to_json()
    rival = {**answer["alternatives"][0], "sure": sure}
    answer["robustness"] |= {"runner_up": rival, "runner_up_share": 0.8}
    told = "\n".join(search_text._robustness(answer))
    assert ("not sure to fit" in told) is said


def test_a_module_is_announced_before_it_is_traced(capsys: pytest.CaptureFixture[str]) -> None:
    told_tracing("llama-3-8b")
    assert capsys.readouterr().err == ""
    told_tracing("net.py:make")
    assert "tracing net.py:make" in capsys.readouterr().err
