"""Logs of every format are read into the same shape, recognised by what they hold."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from planner.scaling.logs import TrainingLog, read_log
from planner.scaling.stopping.metric import choose_metric

SAMPLES = Path(__file__).parent / "logs"


def true_loss(step: float) -> float:
    """The curve that the hand-made samples print."""
    return 2.0 + 8.0 / (1.0 + step / 10.0) ** 0.6


def sample(name: str) -> TrainingLog:
    return read_log(SAMPLES / name)


@pytest.mark.parametrize(
    ("name", "format_name", "metric", "last_step", "num_points"),
    [
        ("llmc.log", "llm.c", "train_loss", 100, 101),
        ("modded.txt", "modded-nanogpt", "train_loss", 100, 100),
        ("megatron.log", "megatron", "lm loss", 300, 30),
        ("megatron_seconds.log", "megatron", "lm loss", 300, 30),
        ("deepspeed.log", "deepspeed", "train_loss", 300, 30),
        ("fairseq.log", "fairseq", "train_loss", 500, 50),
        ("fairseq_json.log", "fairseq", "train_loss", 300, 30),
        ("trainer_state.json", "hf-trainer", "train_loss", 300, 30),
        ("lightning.csv", "csv", "train_loss_step", 300, 30),
        ("keras.csv", "csv", "val_loss", 19, 20),
        ("wandb_history.csv", "csv", "train/loss", 195, 40),
        ("wandb_export.csv", "csv", "train/loss", 390, 40),
        ("plain.csv", "csv", "loss", 300, 30),
        ("metrics.jsonl", "json lines", "loss", 300, 30),
        ("nanogpt.log", "key-value lines", "val_loss", 300, 7),
        ("torchtitan.log", "key-value lines", "loss", 300, 30),
        ("printed_dicts.log", "key-value lines", "loss", 3, 30),
    ],
)
def test_a_format_is_recognised_by_its_content(
    tmp_path: Path, name: str, format_name: str, metric: str, last_step: float, num_points: int
) -> None:
    disguised = tmp_path / "log"
    shutil.copy(SAMPLES / name, disguised)
    log = read_log(disguised)
    assert log.format == format_name
    assert log.metrics[metric].steps[-1] == last_step
    assert len(log.metrics[metric]) == num_points


@pytest.mark.parametrize("name", ["llmc.log", "plain.csv", "metrics.jsonl", "torchtitan.log"])
def test_values_are_those_that_were_printed(name: str) -> None:
    series = next(s for n, s in sample(name).metrics.items() if n in ("train_loss", "loss"))
    expected = [true_loss(step) for step in series.steps]
    np.testing.assert_allclose(series.values, expected, atol=6e-5)


def test_milliseconds_and_seconds_of_megatron_are_the_same_time() -> None:
    in_ms, in_s = sample("megatron.log").clocks[""], sample("megatron_seconds.log").clocks[""]
    assert in_ms.values[-1] == pytest.approx(in_s.values[-1])
    assert in_ms.values[-1] == pytest.approx(291 * 0.8421)


def test_a_timer_that_is_reset_after_warm_up_goes_on() -> None:
    log = sample("modded.txt")
    clock = log.clocks[""]
    assert (np.diff(clock.values) >= 0).all()
    assert clock.values[-1] == pytest.approx(18.0 + 90 * 0.2, rel=0.02)
    assert any("reset" in text for text in log.notes)


def test_echoed_code_is_no_data() -> None:
    log = sample("modded.txt")
    assert log.metrics["val_loss"].num_points == 6
    assert log.total_steps == 100


def test_planned_length_tokens_and_rate_are_read_where_told() -> None:
    log = sample("megatron.log")
    assert log.total_steps == 500
    assert log.tokens is not None
    assert log.tokens.values[-1] == 300 * 256 * 2048
    assert log.learning_rate is not None
    assert log.learning_rate.values[-1] == pytest.approx(1e-4)
    assert sample("trainer_state.json").total_steps == 600


def test_restarted_runs_of_an_export_are_merged() -> None:
    log = sample("wandb_export.csv")
    series = log.metrics["train/loss"]
    assert set(log.metrics) == {"train/loss"}
    assert series.at(np.array([190.0]))[0] == pytest.approx(true_loss(190), abs=1e-4)
    assert series.at(np.array([200.0]))[0] == pytest.approx(true_loss(200) - 0.01, abs=1e-4)
    assert any("merged" in text for text in log.notes)


def test_runs_side_by_side_are_not_merged(tmp_path: Path) -> None:
    rows = [f"{s},{true_loss(s)},{true_loss(s) + 0.1}" for s in range(0, 200, 10)]
    path = tmp_path / "seeds.csv"
    path.write_text("Step,seed-1 - loss,seed-2 - loss\n" + "\n".join(rows) + "\n")
    assert set(read_log(path).metrics) == {"seed-1 - loss", "seed-2 - loss"}


def test_a_step_that_goes_back_replaces_what_it_overlaps(tmp_path: Path) -> None:
    first = [f"{s},{s * 1.0},5.0" for s in range(0, 300, 10)]
    second = [f"{s},{1000 + s * 1.0},4.0" for s in range(200, 400, 10)]
    path = tmp_path / "restart.csv"
    path.write_text("step,elapsed,loss\n" + "\n".join(first + second) + "\n")
    log = read_log(path)
    series, clock = log.metrics["loss"], log.clocks[""]
    assert (series.values[series.steps < 200] == 5.0).all()
    assert (series.values[series.steps >= 200] == 4.0).all()
    assert clock.values[-1] == pytest.approx(390.0), "the pause between segments is no training"
    assert any("restart" in text for text in log.notes)


def test_segments_in_several_files_are_one_run(tmp_path: Path) -> None:
    for number, (begin, end, level) in enumerate(((0, 300, 5.0), (200, 400, 4.0))):
        rows = [f"{s},{level}" for s in range(begin, end, 10)]
        (tmp_path / f"part{number}.csv").write_text("step,loss\n" + "\n".join(rows) + "\n")
    series = read_log([tmp_path / "part0.csv", tmp_path / "part1.csv"]).metrics["loss"]
    assert len(series) == 40
    assert series.values[-1] == 4.0


def test_empty_cells_repeated_steps_and_nan_are_survived(tmp_path: Path) -> None:
    path = tmp_path / "holes.csv"
    path.write_text(
        "epoch,step,train_loss,val_loss\n0,10,4.0,\n0,20,,\n0,20,3.0,3.4\n0,20,3.2,\n"
        "0,30,nan,3.1\n0,40,NaN,2.9\n0,50,inf,2.8\n"
    )
    log = read_log(path)
    train = log.metrics["train_loss"]
    assert train.steps.tolist() == [10, 20]
    assert train.values.tolist() == pytest.approx([4.0, 3.1])
    assert (train.num_nonfinite, train.trailing_nonfinite) == (3, 3)
    assert log.metrics["val_loss"].values.tolist() == [3.4, 3.1, 2.9, 2.8]


@pytest.mark.parametrize("ending", ["\n", "\r\n", "\r"])
def test_line_endings_do_not_matter(tmp_path: Path, ending: str) -> None:
    path = tmp_path / "log.csv"
    text = (SAMPLES / "plain.csv").read_text().replace("\n", ending)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert len(read_log(path).metrics["loss"]) == 30


def test_a_headerless_table_of_two_columns_is_step_and_loss(tmp_path: Path) -> None:
    path = tmp_path / "bare.txt"
    path.write_text("".join(f"{s},{true_loss(s)}\n" for s in range(10)))
    assert len(read_log(path).metrics["loss"]) == 10


def test_quoted_text_that_holds_commas_is_read(tmp_path: Path) -> None:
    path = tmp_path / "quoted.csv"
    rows = [f'{s},"a, b","{true_loss(s)}"' for s in range(10)]
    path.write_text("step,comment,loss\n" + "\n".join(rows) + "\n")
    np.testing.assert_allclose(
        read_log(path).metrics["loss"].values, [true_loss(s) for s in range(10)]
    )


def test_nested_json_is_named_by_its_path(tmp_path: Path) -> None:
    path = tmp_path / "nested.jsonl"
    path.write_text(
        "".join(f'{{"step": {s}, "val": {{"loss": {4 - s / 10}}}}}\n' for s in range(9))
    )
    assert read_log(path).metrics["val/loss"].values[-1] == pytest.approx(3.2)


def test_metrics_below_their_epoch_count_when_it_is_done(tmp_path: Path) -> None:
    path = tmp_path / "keras.txt"
    path.write_text(
        "".join(
            f"Epoch {epoch}/9\n 10/99 [=>...] - ETA: 1s - loss: 9.0\r"
            f"99/99 [====] - 2s 20ms/step - loss: {1 / epoch:.4f} - val_loss: {1.1 / epoch:.4f}\n"
            for epoch in range(1, 10)
        )
    )
    log = read_log(path)
    assert log.axis == "epoch"
    np.testing.assert_allclose(log.metrics["loss"].values, 1 / np.arange(1, 10), atol=1e-4)
    assert len(log.metrics["val_loss"]) == 9


def test_metrics_on_lines_below_their_step_are_placed_by_it(tmp_path: Path) -> None:
    path = tmp_path / "olmo.txt"
    path.write_text(
        "".join(
            f"2024-01-01 INFO [step={s}/5000,epoch=0]\n    train/CrossEntropyLoss={4 - s / 1e3}\n"
            for s in range(10, 500, 10)
        )
    )
    series = read_log(path).metrics["train/CrossEntropyLoss"]
    assert series.steps[-1] == 490
    assert series.values[-1] == pytest.approx(3.51)


def test_a_long_log_is_averaged_into_bounded_memory(tmp_path: Path) -> None:
    path = tmp_path / "long.log"
    number = 400_000
    path.write_text("".join(f"s:{s} trl:{3 + (s % 2):.1f}\n" for s in range(number)))
    series = read_log(path).metrics["train_loss"]
    assert series.num_points == number
    assert len(series) <= 2 * 65536
    assert series.weights.sum() == number
    assert float(np.average(series.values, weights=series.weights)) == pytest.approx(3.5)


def test_the_shared_curves_are_all_read(shared: Path) -> None:
    formats = {
        path.name: read_log(path).format for path in sorted((shared / "data/curves").iterdir())
    }
    assert len(formats) >= 11
    assert set(formats.values()) == {"llm.c", "modded-nanogpt", "csv", "tensorboard", "megatron"}


def test_several_evaluation_sets_are_chosen_from_and_said(shared: Path) -> None:
    log = read_log(shared / "data/curves/08_olmo_ladder_1B-10xC.csv")
    metric, notes = choose_metric(log.metrics, None, None)
    assert metric.name == "eval/c4_en-validation/CrossEntropyLoss"
    assert any("11 evaluation sets" in text for text in notes)


def test_a_spike_and_missing_steps_of_megatron_are_survived(shared: Path) -> None:
    log = read_log(shared / "data/curves/20_bloom_176B_chronicles.log")
    assert log.metrics["lm loss"].num_points == 13
    assert log.metrics["lm loss"].values.max() == pytest.approx(5.098124)
    assert log.total_steps == 115311
