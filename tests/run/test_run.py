"""Run files: the words of the contract, defaults, refusals, round trips."""

from __future__ import annotations

import dataclasses
import json
import pickle
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import planner
from planner.engine import choices
from planner.errors import PlannerError
from planner.run import Data, Every, Hardware, Layout, Run, Training, run_length
from planner.run.flags import run_keys
from planner.run.missing import MissingKeyError

CONTRACT = """
model: llama-3-8b
data:
  tokens: 1.0e12
  seq_len: 8192
  lengths: null
  input_shape: null
  unique_tokens: null
  loader_rate: null
hardware:
  sku: h100-sxm5-80gb
  count: 64
  per_node: 8
  interconnect: null
  power_limit: null
  host_memory: null
  profile: null
training:
  task: pretrain
  precision: bf16
  reduce_dtype: null
  optimizer: adamw
  micro_batch: 1
  accumulation: auto
  global_batch: 1024
  layout: {tp: 1, pp: 1, cp: 1, ep: 1, dp: auto, sharding: fsdp, interleave: 1,
           sequence_parallel: auto}
  offload: none
  recompute: none
  attention: flash
  loss: auto
  compile: none
  lora: {rank: 16, targets: all-linear, trainable: []}
  schedule: cosine
  stack: null
overhead: {evaluate_every: null, checkpoint_every: null, failures: auto}
budget: {usd: null, days: null, kwh: null}
price: {provider: null, region: null, mode: on-demand}
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "run.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_contract_s_run_file_is_read(tmp_path: Path) -> None:
    run = Run.from_yaml(write(tmp_path, CONTRACT))
    assert run == Run(
        model="llama-3-8b",
        data=Data(tokens=10**12, seq_len=8192),
        hardware=Hardware(sku="h100-sxm5-80gb", count=64, per_node=8),
        training=Training(micro_batch=1, global_batch=1024, layout=Layout(sharding="zero3")),
    )
    run.require_plannable()


def test_what_is_not_said_is_left_open_or_has_the_contract_s_default() -> None:
    training = Run().training
    open_keys = (training.layout, training.micro_batch, training.global_batch, training.loss)
    assert open_keys == (None, None, None, None)
    assert (training.task, training.precision, training.optimizer) == ("pretrain", "bf16", "adamw")
    assert Layout(tp=8).dp is Layout(tp=8).sharding is None


def test_a_layout_as_text_in_the_file_is_the_same_as_a_mapping() -> None:
    as_text = Run.from_mapping({"training": {"layout": "tp=8,pp=2"}})
    assert as_text.training.layout == Layout(tp=8, pp=2)


def test_the_word_no_is_a_region_and_turns_a_choice_off(tmp_path: Path) -> None:
    run = Run.from_yaml(write(tmp_path, "price: {region: no}\ntraining: {compile: no}"))
    assert run.price.region == "no"
    assert run.training.compile == "none"


def test_paths_are_seen_from_the_run_file_s_folder(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    text = "model: {}\nhardware: {{profile: p.json}}\ndata: {{lengths: l.csv}}"
    for model, expected in [
        ("./config.json", str(tmp_path / "config.json")),
        ("config.json", str(tmp_path / "config.json")),
        ("nets/unet.py:make", str(tmp_path / "nets/unet.py:make")),
        ("here", str(tmp_path / "here")),
        ("/abs/config.json", "/abs/config.json"),
        ("hf:org/name", "hf:org/name"),
        ("llama-3-8b", "llama-3-8b"),
    ]:
        run = Run.from_yaml(write(tmp_path, text.format(model)))
        assert run.model == expected
        assert run.hardware.profile == str(tmp_path / "p.json")
        assert run.data.lengths == str(tmp_path / "l.csv")


@pytest.mark.parametrize(
    ("mapping", "field", "says"),
    [
        ({"modle": "x"}, "modle", "did you mean model"),
        ({"data": {"tokns": 5}}, "data.tokns", "did you mean data.tokens"),
        ({"tokens": 5}, "tokens", "did you mean data.tokens"),
        ({"hardware": {"micro_batch": 1}}, "hardware.micro_batch", "training.micro_batch"),
        ({"training": {"micro-batch": 1}}, "training.micro-batch", "training.micro_batch"),
        ({"zzz": 1}, "zzz", "known are model, data"),
        ({5: 5}, "5", "unknown key"),
        ({"data": "lots"}, "data", "write a mapping"),
        ({"data": [1]}, "data", "write a mapping"),
        ({"model": 5}, "model", "write a name"),
        ({"model": "a\x1bb"}, "model", "control characters"),
        ({"training": {"precision": "bf61"}}, "training.precision", "did you mean bf16"),
        ({"training": {"precision": 16}}, "training.precision", "write one of fp32"),
        ({"training": {"task": "grpo"}}, "training.task", "reinforcement learning"),
        ({"training": {"task": "sft"}}, "training.task", "full-ft, lora or qlora"),
        ({"training": {"recompute": "true"}}, "training.recompute", "known are none, selective"),
        ({"training": {"layout": {"tpp": 2}}}, "training.layout.tpp", "did you mean"),
        ({"training": {"layout": {"tp": "auto"}}}, "training.layout.tp", "write a count"),
        ({"training": {"layout": "tp=2,tp=4"}}, "training.layout", "given twice"),
        ({"training": {"layout": {"interleave": 2}}}, "training.layout.interleave", "needs pp"),
        ({"training": {"lora": {"rank": 8}}}, "training.lora", "set task: lora"),
        ({"training": {"micro_batch": 0}}, "training.micro_batch", "above zero"),
        ({"training": {"global_batch": 1e12}}, "training.global_batch", "not believable"),
        ({"hardware": {"count": -8}}, "hardware.count", "above zero"),
        ({"hardware": {"host_memory": "512"}}, "hardware.host_memory", "not believable"),
        ({"data": {"tokens": 1, "samples": 1}}, "data.samples", "keep one of tokens, samples"),
        ({"data": {"epochs": 3}}, "data.epochs", "dataset_tokens or dataset_samples"),
        ({"data": {"dataset_tokens": 3}}, "data.dataset_tokens", "add epochs"),
        ({"data": {"packing": "packed"}}, "data.packing", "add lengths"),
        ({"data": {"lengths": "a.jsonl"}}, "data.lengths", "tokenizer"),
        ({"overhead": {"checkpoint_every": "30m"}}, "overhead.checkpoint_every", "30min"),
        ({"overhead": {"evaluate_every": "80GB"}}, "overhead.evaluate_every", "steps or a time"),
        ({"hardware": {"interconnect": "nan"}}, "hardware.interconnect", "name a fabric"),
        ({"hardware": {"interconnect": "٣"}}, "hardware.interconnect", "name a fabric"),
        ({"hardware": {"interconnect": "no"}}, "hardware.interconnect", "name a fabric"),
        ({"budget": {"days": "nan"}}, "budget.days", "finite"),
        ({"price": {"mode": "spto"}}, "price.mode", "did you mean spot"),
    ],
)
def test_bad_input_names_the_field_and_the_remedy(
    mapping: dict[Any, Any], field: str, says: str
) -> None:
    with pytest.raises(PlannerError, match=says) as refused:
        Run.from_mapping(mapping)
    assert refused.value.field == field


@pytest.mark.parametrize(
    ("training", "says"),
    [
        ({"layout": {"tp": 3}}, "must multiply to hardware.count 16"),
        ({"layout": {"tp": 8, "dp": 4}}, "must multiply to hardware.count 16"),
        ({"layout": {"tp": 4, "ep": 3}}, "must divide dp·cp, which is 4"),
        ({"layout": {"tp": 4}, "global_batch": 6}, "multiple of dp 4"),
        ({"micro_batch": 4, "global_batch": 6}, "multiple of micro_batch 4"),
        (
            {"layout": {"tp": 4}, "micro_batch": 2, "accumulation": 4, "global_batch": 64},
            "must be micro_batch 2 · accumulation 4 · dp 4 = 32",
        ),
    ],
)
def test_degrees_and_batches_must_multiply(training: dict[str, Any], says: str) -> None:
    with pytest.raises(PlannerError, match=says):
        Run.from_mapping({"hardware": {"count": 16}, "training": training})


@pytest.mark.parametrize("missing", ["model", "hardware.sku", "hardware.count", "data.tokens"])
def test_a_plan_says_what_it_lacks(missing: str) -> None:
    whole = Run.from_mapping(
        {"model": "m", "data": {"tokens": "1T"}, "hardware": {"sku": "s", "count": 8}}
    )
    with pytest.raises(PlannerError, match="nothing given") as refused:
        whole.changed({missing: None}).require_plannable()
    assert refused.value.field == missing
    flag = "--" + missing.rpartition(".")[2]
    assert str(refused.value).startswith(f"{missing} ({flag}): nothing given: ")


def test_every_refusal_of_a_key_that_is_missing_names_its_flag() -> None:
    """No module raises the plain error, which knows no flag, for a key of a run file."""
    keys = {name for name, _, _ in run_keys()}
    plain = re.compile(r"PlannerError\(\s*f?\"([\w.{}]+)\",\s*None,")
    folder = Path(planner.__file__).parent
    found = [
        (path.name, field)
        for path in folder.rglob("*.py")
        for field in plain.findall(path.read_text(encoding="utf-8"))
        if field in keys or field.startswith(("hardware.", "data.", "training."))
    ]
    assert not found
    assert plain.findall('PlannerError("hardware.count", None, x)') == ["hardware.count"]


def test_a_missing_key_survives_a_pickle_as_errors_of_workers_must() -> None:
    error = MissingKeyError("hardware.count", "say how many")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_changing_the_amount_replaces_the_old_one() -> None:
    run = Run.from_mapping({"data": {"epochs": 3, "dataset_samples": "1k"}})
    assert run.changed({"data.tokens": "1T"}).data == Data(tokens=10**12)


def test_a_run_is_frozen_and_replaceable_without_being_read_twice() -> None:
    hardware = Hardware(interconnect="50GB/s", power_limit="0.7kW", host_memory="2TB")
    again = dataclasses.replace(hardware, count=8)
    assert (again.interconnect, again.power_limit, again.host_memory) == (400.0, 700.0, 2e12)
    assert again.interconnect_bytes_per_second == 5e10
    with pytest.raises(dataclasses.FrozenInstanceError):
        again.count = 9


def test_steps_count_optimizer_updates_and_not_loader_iterations() -> None:
    """A user expected 937 steps; every iteration of the loader is a micro-step."""
    length = run_length(
        Data(epochs=1, dataset_samples=240_000), seq_len=512, global_batch=8 * 1 * 4
    )
    assert (length.steps, length.micro_steps(accumulation=4)) == (7500, 30_000)
    assert (length.samples, length.tokens, length.epochs) == (240_000, 240_000 * 512, 1.0)


@pytest.mark.parametrize(
    ("data", "steps", "epochs"),
    [
        (Data(tokens=10**12), 119210, None),
        (Data(samples=1025), 2, None),
        (Data(epochs=2.5, dataset_tokens=1024 * 8192), 3, 2.5),
        (Data(tokens=8192 * 1024 * 4, unique_tokens=8192 * 1024), 4, 4.0),
    ],
)
def test_the_last_step_may_be_short(data: Data, steps: int, epochs: float | None) -> None:
    length = run_length(data, seq_len=8192, global_batch=1024)
    assert (length.steps, length.epochs) == (steps, epochs)


def test_without_an_amount_there_is_no_length() -> None:
    with pytest.raises(PlannerError, match="--tokens, --samples or --epochs"):
        run_length(Data(), seq_len=1, global_batch=1)


sizes = st.integers(min_value=1, max_value=10**6)
maybe = st.none()
names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=12).filter(
    lambda text: text.lower() not in ("null", "auto")
)
layouts = st.builds(
    Layout,
    tp=st.integers(2, 8),
    pp=st.integers(2, 8),
    cp=st.integers(1, 4),
    sharding=maybe | st.sampled_from(choices.SHARDINGS),
    interleave=st.integers(1, 4),
    sequence_parallel=maybe | st.booleans(),
)
runs = st.builds(
    Run,
    model=maybe | names,
    data=st.fixed_dictionaries(
        {},
        optional={
            "tokens": st.integers(1, 10**17),
            "seq_len": sizes,
            "input_shape": st.lists(st.integers(1, 4096), min_size=1, max_size=4),
            "loader_rate": st.floats(1e-3, 1e9),
        },
    ),
    hardware=st.fixed_dictionaries(
        {},
        optional={
            "sku": names,
            "per_node": st.integers(1, 64),
            "interconnect": st.floats(1e-2, 1e5) | st.just("efa"),
            "host_memory": st.floats(1e7, 1e15),
        },
    ),
    training=st.builds(
        Training,
        precision=st.sampled_from(choices.PRECISIONS),
        task=st.just("lora"),
        lora=st.fixed_dictionaries(
            {"rank": st.integers(1, 512), "targets": st.lists(names, min_size=1)}
        ),
        micro_batch=maybe | sizes,
        layout=maybe | layouts,
        loss=maybe | st.sampled_from(choices.LOSSES),
    ),
    overhead=st.fixed_dictionaries(
        {},
        optional={
            "checkpoint_every": st.builds(Every, steps=sizes)
            | st.builds(Every, seconds=st.floats(1e-8, 3e10)),
            "failures": st.floats(0, 1).filter(lambda rate: rate == 0 or rate > 1e-9),
        },
    ),
    budget=st.fixed_dictionaries({}, optional={"days": st.floats(0.01, 3650)}),
)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("1e-5s", 1e-5), ("1.5e3 s", 1500.0), ("2E1 min", 1200.0), ("1e9s", 1e9), ("12h", 43200.0)],
)
def test_a_time_between_may_be_written_with_an_exponent(written: str, seconds: float) -> None:
    run = Run(overhead={"checkpoint_every": written})
    assert run.overhead.checkpoint_every == Every(seconds=pytest.approx(seconds))
    assert Run.from_mapping(run.to_mapping()) == run


def test_an_interconnect_left_to_the_planner_is_not_said() -> None:
    assert Run(hardware={"interconnect": "auto"}).hardware.interconnect is None


@given(runs)
def test_a_run_survives_its_mapping_and_json(run: Run) -> None:
    assert Run.from_mapping(run.to_mapping()) == run
    assert Run.from_mapping(json.loads(json.dumps(run.to_mapping(), allow_nan=False))) == run
    assert hash(run) == hash(run.changed({}))


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=6,
)
keys = st.sampled_from(
    ["data.tokens", "data.input_shape", "hardware.interconnect", "training.layout", "training.lora"]
    + ["training.precision", "overhead.failures", "overhead.evaluate_every", "model", "price"]
)


@given(keys, anything)
def test_any_value_is_read_or_refused_in_one_line(name: str, value: object) -> None:
    try:
        Run().changed({name: value})
    except PlannerError as error:
        assert error.field.startswith(name.split(".")[0])  # noqa: PT017 - both outcomes are right
