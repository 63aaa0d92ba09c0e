"""What is no training log is refused in one line that says why."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.errors import PlannerError
from planner.scaling.logs import read_log

PLAIN = "step,loss\n"


def read_or_refused(path: Path) -> None:
    """Any other failure than a refusal ends the test."""
    with suppress(PlannerError):
        read_log(path)


def rows(*pairs: tuple[float, object]) -> str:
    return PLAIN + "".join(f"{step},{value}\n" for step, value in pairs)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"   \n\n", "empty"),
        (bytes(range(256)) * 40, "binary"),
        (b"\x1f\x8b" + os.urandom(200), "gzip"),
        ("step,loss\n1,2\n".encode("utf-16"), "UTF-16"),
        (b"all work and no play\nmakes a dull log\n" * 50, "no line tells a step"),
        (b"step,loss\n", "no step has a number"),
        (b"step,loss\na,b\nc,d\n", "no line tells|no step has a number"),
        (b"step,loss\n" + b"".join(b"%d,nan\n" % s for s in range(20)), "NaN or infinite"),
        (b"1,2,3\n2,3,4\n3,4,5\n", "without names"),
        (b'{"log_history": [{"step": 1, "loss": 2.0}, {"step": 2, "lo', "truncated"),
        (b"step,loss," + b"x" * 200_000 + b"\n1,2,3\n", "no line tells"),
        (b"a_" * 100_000 + b"loss 1\n", "no line tells"),
        (b"s:1 trl:3." + b"0" * (17 << 20), "line is longer"),
        (b"step;loss\n" + b"".join(b"%d;2,%d\n" % (s, 99 - s) for s in range(50)), "one point"),
        (b"step\tloss\n" + b"".join(b"%d\t2,%d\n" % (s, 9) for s in range(50)), "one point"),
        (b"step,loss\n" + b"".join(b'%d,"2,%d"\n' % (s, 9) for s in range(50)), "one point"),
        (b"".join(b"step %d loss 2,%d\n" % (s, 99 - s) for s in range(50)), "one point"),
        (b"step,loss\n" + b"".join(b"%d,1.#INF\n" % s for s in range(20)), "NaN or infinite"),
        (b"step,loss\n" + b"".join(b"%d,%de307\n" % (s, s) for s in range(1, 9)), "infinite"),
    ],
)
def test_unusable_content_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "log"
    path.write_bytes(content)
    with pytest.raises(PlannerError, match=message) as refusal:
        read_log(path)
    assert refusal.value.field == "log"
    assert str(path) in str(refusal.value) or len(str(path)) > 60


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="no such file"):
        read_log(tmp_path / "absent.log")


@pytest.mark.parametrize("path", ["", " ", "a\x00b", "x" * 5000])
def test_a_name_of_no_file_is_refused(path: str) -> None:
    with pytest.raises(PlannerError, match="log: ") as refusal:
        read_log(path)
    assert len(str(refusal.value)) < 400


@pytest.mark.skipif(os.name != "posix", reason="pipes and devices with names")
def test_what_cannot_be_read_twice_is_refused_without_waiting(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero")):
        with pytest.raises(PlannerError, match="save it to a file"):
            read_log(path)


def test_a_folder_without_logs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="folder without"):
        read_log(tmp_path)


@pytest.mark.parametrize("steps", [[3, 1, 5, 2, 4, 0], list(range(50, 0, -1)), [1, 2] * 30])
def test_unsorted_steps_are_refused(tmp_path: Path, steps: list[int]) -> None:
    path = tmp_path / "log.csv"
    path.write_text(rows(*((step, 3.0 + step / 100) for step in steps)))
    with pytest.raises(PlannerError, match="sort the rows"):
        read_log(path)


def test_two_metrics_under_one_name_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(rows(*((s, 3.0 - s / 100 if s % 2 else 0.4 + s / 100) for s in range(40))))
    with pytest.raises(PlannerError, match="two metrics"):
        read_log(path)


def test_two_values_of_every_step_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text(rows(*((s // 2, 3.0 if s % 2 else 0.4) for s in range(40))))
    with pytest.raises(PlannerError, match="two metrics"):
        read_log(path)


def test_segments_of_different_formats_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(rows((1, 3.0), (2, 2.9)))
    (tmp_path / "b.log").write_text("s:3 trl:2.8\ns:4 trl:2.7\n")
    with pytest.raises(PlannerError, match="share a format"):
        read_log([tmp_path / "a.csv", tmp_path / "b.log"])


def test_a_truncated_last_line_is_ignored(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("step,lr,loss\n1,0.1,3.0\n2,0.1,2.9\n3,0.")
    assert read_log(path).metrics["loss"].steps.tolist() == [1, 2]


@given(st.binary(max_size=400))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, noise: bytes
) -> None:
    path = tmp_path_factory.mktemp("noise") / "log"
    path.write_bytes(noise)
    read_or_refused(path)


@given(st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_damage_anywhere_is_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, place: int, damage: bytes
) -> None:
    samples = sorted((Path(__file__).parent / "logs").iterdir())
    source = samples[place % len(samples)].read_bytes()
    at = place * 7919 % len(source)
    path = tmp_path_factory.mktemp("damage") / "log"
    path.write_bytes(source[:at] + damage + source[at + len(damage) :])
    read_or_refused(path)


def test_steps_with_thousands_separators_are_told_as_unreadable(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text(
        "".join(f"step {step:,} loss {9 - step / 1e3}\n" for step in range(10, 1510, 10))
    )
    log = read_log(path)
    assert log.metrics["loss"].num_points == 99  # steps 10 to 990
    assert any(note.startswith("51 values could not be read") for note in log.notes)
