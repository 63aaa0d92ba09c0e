"""Flags: one for each key, and a flag wins over the file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planner.cli.parsing import Parser
from planner.errors import PlannerError
from planner.run import Layout, Lora, Run, add_run_flags, run_from_args
from planner.run.flags import run_keys


def parse(*words: str, **settings: Any) -> Run:
    parser = Parser(prog="forerun test")
    add_run_flags(parser, **settings)
    return run_from_args(parser.parse_args(list(words)))


def test_flags_alone_describe_a_run() -> None:
    run = parse(
        *("--model", "gpt2-xl", "--tokens", "1T", "--sku", "H100", "--count", "64"),
        *("--layout", "tp=8,pp=2", "--micro-batch", "2", "--recompute", "full"),
        *("--task", "lora", "--lora-rank", "8", "--lora-targets", "q,v", "--usd", "$5,000"),
    )
    assert (run.model, run.data.tokens, run.hardware.count) == ("gpt2-xl", 10**12, 64)
    assert run.training.layout == Layout(tp=8, pp=2)
    assert run.training.lora == Lora(rank=8, targets=("q", "v"))
    assert run.budget.usd == 5000


def test_a_flag_wins_and_the_rest_of_the_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text(
        "model: m\ndata: {tokens: 1T, seq_len: 2048}\n"
        "training: {layout: {tp: 4, pp: 2}, task: lora, lora: {rank: 4, targets: q}}"
    )
    run = parse(str(path), "--tokens", "2T", "--layout", "tp=8", "--lora-rank", "8")
    assert (run.model, run.data.tokens, run.data.seq_len) == ("m", 2 * 10**12, 2048)
    assert run.training.layout == Layout(tp=8)
    assert run.training.lora == Lora(rank=8, targets=("q",))


@pytest.mark.parametrize(
    ("words", "amount"),
    [
        (["--samples", "5"], {"samples": 5}),
        (["--epochs", "2", "--dataset-samples", "9"], {"epochs": 2.0, "dataset_samples": 9}),
    ],
)
def test_a_flag_for_the_amount_replaces_the_file_s(
    tmp_path: Path, words: list[str], amount: dict[str, float]
) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: {epochs: 1, dataset_tokens: 1B}")
    data = parse(str(path), *words).to_mapping()["data"]
    assert {name: value for name, value in data.items() if value is not None} == amount


def test_flags_that_conflict_with_each_other_are_refused() -> None:
    with pytest.raises(PlannerError, match="keep one of tokens, samples"):
        parse("--tokens", "1T", "--samples", "5")


def test_a_flag_below_a_word_that_is_no_section_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.yaml"
    path.write_text("data: lots")
    with pytest.raises(PlannerError, match="data: 'lots'"):
        parse(str(path), "--tokens", "1T")


def test_every_key_has_a_flag_of_its_name_and_help() -> None:
    flags = {name: flag for name, flag, _ in run_keys()}
    assert len(set(flags.values())) == len(flags)
    for name, flag in flags.items():
        assert flag.endswith(name.rpartition(".")[2].replace("_", "-"))
    assert all(key.help for _, _, key in run_keys())
    assert {"model", "data.tokens", "training.layout", "training.lora.rank"} <= set(flags)


def test_a_command_may_leave_keys_out() -> None:
    with pytest.raises(PlannerError, match="unknown option"):
        parse("--usd", "5", without=("budget",))
    with pytest.raises(PlannerError, match=r"RUN\.yaml"):
        parse(file="required")


def test_a_misspelt_flag_names_the_nearest() -> None:
    with pytest.raises(PlannerError, match="did you mean --micro-batch"):
        parse("--mirco-batch", "2")
