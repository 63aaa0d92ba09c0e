"""The process that runs a user's file: what it refuses, and that it ends."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="tracing needs torch")

from planner.errors import PlannerError
from planner.models.traced import packed, traced_model
from planner.search.module_file import subject
from planner.tracing import child, process
from planner.tracing.process import Limits, trace_module

MODULES = Path(__file__).parent / "modules"
REFUSED = MODULES / "refused.py"


def answer_of(function: str, tmp_path: Path, shape: tuple[int, ...] | None = (3,)) -> str:
    """What the child answers, in this process: starting another costs seconds."""
    import json

    request, answer = tmp_path / "request.json", tmp_path / "answer.json"
    asked = {"model": f"{REFUSED}:{function}", "input_shape": shape, "formats": ["fp32"]}
    request.write_text(json.dumps(asked))
    assert child.main(str(request), str(answer)) == 0
    found: str = json.loads(answer.read_text())["error"]["remedy"]
    return found


@pytest.mark.parametrize(
    ("function", "remedy"),
    [
        ("broken", "raises ValueError: no weights here"),
        ("number", "returns int, not a torch module"),
        ("untrained", "has no parameter to train"),
        ("branch", "depends on the data"),
        ("pairs", "does not grow in proportion to the batch"),
        ("several", "gives dict, not a tensor"),
        ("hungry", "needs more memory"),
        ("absent", "has no function absent"),
        ("WORD", "has no function WORD: it has"),
        ("lazy", "has lazy parameters"),
        ("on_cuda", "leave the device to the caller"),
        ("nothing", "has no parameter to train"),
        ("mute", "raises MuteError: no message"),
    ],
)
def test_what_cannot_be_traced_is_refused_in_one_line(
    function: str, remedy: str, tmp_path: Path
) -> None:
    said = answer_of(function, tmp_path)
    assert remedy in said
    assert "\n" not in said


def test_a_missing_input_shape_is_asked_for(tmp_path: Path) -> None:
    assert "shape of one sample" in answer_of("branch", tmp_path, None)


def test_an_endless_loop_is_ended(tmp_path: Path) -> None:
    (tmp_path / "loop.py").write_text("while True:\n    pass\n")
    started = time.monotonic()
    with pytest.raises(PlannerError, match="endless loop"):
        trace_module(f"{tmp_path / 'loop.py'}:make", (3,), limits=Limits(seconds=1.0))
    assert time.monotonic() - started < 20


def test_a_process_that_the_file_leaves_behind_is_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "leaves.py").write_text(
        "import os, subprocess, sys\n\nsubprocess.Popen([sys.executable, '-c', 'import time; "
        "time.sleep(20)'], start_new_session=True)\nos._exit(3)\n"
    )
    started = time.monotonic()
    with pytest.raises(PlannerError, match="without an answer"):
        trace_module(f"{tmp_path / 'leaves.py'}:make", (3,))
    assert time.monotonic() - started < 18


def test_of_what_the_file_says_without_end_the_end_is_kept(tmp_path: Path) -> None:
    (tmp_path / "says.py").write_text(
        "import os\n\nfor _ in range(100): os.write(2, b'x' * 99_999 + b'\\n')\n"
        "os.write(2, b'the last')\nos._exit(3)\n"
    )
    with pytest.raises(PlannerError, match="the last"):
        trace_module(f"{tmp_path / 'says.py'}:make", (3,))


def test_a_number_called_batch_is_no_function(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("batch = 32\nloss = 0.5\n\ndef make():\n    pass\n")
    found = subject(f"{tmp_path / 'script.py'}:make", (3,))
    assert found.loss is None
    assert found.batch(2).shape == (2, 3)


def test_a_shape_beside_the_files_own_batch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "own.py").write_text("def batch(size): ...\ndef make(): ...\n")
    with pytest.raises(PlannerError, match="defines batch"):
        subject(f"{tmp_path / 'own.py'}:make", (3,))


def test_a_file_that_ends_the_process_is_refused(tmp_path: Path) -> None:
    (tmp_path / "ends.py").write_text("import os\n\nos._exit(3)\n")
    with pytest.raises(PlannerError, match="without an answer"):
        trace_module(f"{tmp_path / 'ends.py'}:make", (3,))


def test_a_module_is_traced_in_a_process_of_its_own() -> None:
    found = trace_module(f"{MODULES / 'small.py'}:mlp", (8,), formats=("fp32",))
    model = traced_model(packed(found), name="mlp", input_shape=(8,))
    assert model.params_total == 212


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(PlannerError, match="there is no file"):
        trace_module("nowhere.py:make", (3,))


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(PlannerError, match=r"needs torch: pip install .*\[profile\]"):
        trace_module(f"{REFUSED}:branch", (3,))


def test_an_answer_that_is_no_table_is_refused() -> None:
    broken = {"params": 4, "trainable": 4, "variants": {"fp32": {"none": {"rows": [["x"]]}}}}
    with pytest.raises(PlannerError, match="its table is broken"):
        traced_model(broken, name="x.py:make", input_shape=(3,))
