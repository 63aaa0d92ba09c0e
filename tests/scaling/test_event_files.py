"""TensorBoard event files are read without TensorBoard, whole or damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from planner.errors import PlannerError
from planner.scaling.logs import read_log
from planner.scaling.logs.wire import fields, masked_checksum


def varint(value: int) -> bytes:
    parts = []
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*parts, value])


def tagged(number: int, payload: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def record(event: bytes) -> bytes:
    length = struct.pack("<Q", len(event))
    head = length + struct.pack("<I", masked_checksum(length))
    return head + event + struct.pack("<I", masked_checksum(event))


def scalar(
    step: int, tag: str, value: float, *, wall: float = 1.7e9, tensor: bool = False
) -> bytes:
    if tensor:
        number = tagged(8, b"\x08\x01\x12\x00" + tagged(4, struct.pack("<f", value)))
    else:
        number = b"\x15" + struct.pack("<f", value)
    summary = tagged(1, tagged(1, tag.encode()) + number)
    return b"\x09" + struct.pack("<d", wall + step) + b"\x10" + varint(step) + tagged(5, summary)


def event_file(path: Path, events: list[bytes]) -> Path:
    version = b"\x09" + struct.pack("<d", 1.7e9) + tagged(3, b"brain.Event:2")
    path.write_bytes(b"".join(map(record, [version, *events])))
    return path


@pytest.mark.parametrize("tensor", [False, True])
def test_scalars_of_both_generations_are_read(tmp_path: Path, tensor: bool) -> None:
    events = [scalar(s, "eval/loss", 3.0 - s / 1000, tensor=tensor) for s in range(0, 1000, 100)]
    log = read_log(event_file(tmp_path / "run", events))
    assert log.format == "tensorboard"
    assert log.metrics["eval/loss"].values[-1] == pytest.approx(2.1)
    clock = log.seconds_of("eval/loss")
    assert clock is not None
    assert clock.values[-1] == pytest.approx(900.0)


def test_a_file_that_breaks_off_is_read_up_to_there(tmp_path: Path) -> None:
    path = event_file(tmp_path / "run", [scalar(s, "loss", 3.0) for s in range(50)])
    path.write_bytes(path.read_bytes()[:-7])
    log = read_log(path)
    assert len(log.metrics["loss"]) == 49
    assert any("cut off" in text for text in log.notes)


def test_a_damaged_length_ends_the_reading(tmp_path: Path) -> None:
    path = event_file(tmp_path / "run", [scalar(s, "loss", 3.0) for s in range(10)])
    path.write_bytes(path.read_bytes() + b"\xff" * 64)
    log = read_log(path)
    assert len(log.metrics["loss"]) == 10
    assert any("damaged" in text for text in log.notes)


def test_a_folder_of_restarts_is_one_run(tmp_path: Path) -> None:
    first = [scalar(s, "loss", 4.0) for s in range(0, 60, 10)]
    second = [scalar(s, "loss", 3.0, wall=1.8e9) for s in range(40, 100, 10)]
    event_file(tmp_path / "events.out.tfevents.100.host", first)
    event_file(tmp_path / "events.out.tfevents.200.host", second)
    log = read_log(tmp_path)
    assert log.metrics["loss"].values.tolist() == [4.0] * 4 + [3.0] * 6
    clock = log.seconds_of("loss")
    assert clock is not None
    assert clock.values[-1] == pytest.approx(90.0)


def test_an_event_file_without_scalars_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlannerError, match="no step has a number"):
        read_log(event_file(tmp_path / "run", []))


def test_a_message_that_lies_about_its_length_is_left(tmp_path: Path) -> None:
    assert list(fields(b"\x12\xff\xff\xff\x7fabc")) == []
    assert list(fields(b"\xff" * 200)) == []


def test_our_checksum_is_that_of_the_file_of_another_program(shared: Path) -> None:
    path = shared / "data/curves/17_events.out.tfevents.1585769947.cvp"
    log = read_log(path)
    assert log.metrics["epoch_val_loss"].num_points == 17


def test_we_read_what_tensorboard_writes(tmp_path: Path) -> None:
    pytest.importorskip("tensorboard", reason="TensorBoard is not installed")
    from tensorboard.compat.proto.event_pb2 import Event
    from tensorboard.compat.proto.summary_pb2 import Summary
    from tensorboard.summary.writer.record_writer import RecordWriter

    with (tmp_path / "events.out.tfevents.1").open("wb") as file:
        writer = RecordWriter(file)
        for step in range(20):
            value = Summary.Value(tag="val_loss", simple_value=3.0 - step / 100)
            event = Event(wall_time=1.7e9 + step, step=step, summary=Summary(value=[value]))
            writer.write(event.SerializeToString())
        writer.flush()
    assert read_log(tmp_path).metrics["val_loss"].values[-1] == pytest.approx(2.81)
