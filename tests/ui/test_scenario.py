"""From fields to a run: round trips with run files and links, and mistakes beside their field."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.models import load_model
from planner.run import Run
from planner.run.mapping import mapping_from_yaml
from planner.run.yaml_text import parse_yaml
from ui import link, run_file, scenario
from ui.fields import BY_KEY, DEFAULTS, FIELDS
from ui.model_source import minified, model_from_text, typed_from

EXAMPLE = Path(__file__).parents[2] / "examples" / "llama-3-8b.yaml"
GPT2 = {
    "model_type": "gpt2",
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_positions": 1024,
    "vocab_size": 50257,
}


def read_ok(values: dict[str, str]) -> scenario.Scenario:
    reading = scenario.read(values)
    assert reading.scenario is not None, reading.mistakes
    return reading.scenario


def mistakes(**changes: str) -> dict[str, str]:
    return dict(scenario.read(DEFAULTS | changes).mistakes)


def test_the_defaults_are_a_whole_scenario() -> None:
    assert read_ok(DEFAULTS).run.model == "llama-3-8b"


def test_a_run_file_passes_through_the_fields_unchanged() -> None:
    values = run_file.values_from_mapping(mapping_from_yaml(EXAMPLE))
    assert read_ok(values).run == Run.from_yaml(EXAMPLE)


def test_keys_without_a_field_are_kept() -> None:
    given = {"model": "gpt2-xl", "overhead": {"failures": "none"}, "training": {"lora": "rank=8"}}
    values = run_file.values_from_mapping(given | {"hardware": {"power_limit": "500W"}})
    assert values["extra"] == "overhead.failures: none\nhardware.power_limit: 500W"
    assert values["lora_rank"] == "8"


def test_the_exported_file_reads_back_to_the_same_run() -> None:
    run = Run.from_yaml(EXAMPLE).changed({"training.task": "lora", "training.lora.rank": 8})
    assert Run.from_mapping(parse_yaml(run_file.yaml_of(run))) == run


def test_a_link_reproduces_the_scenario() -> None:
    values = run_file.values_from_mapping(mapping_from_yaml(EXAMPLE))
    found, wrong = link.read(link.written(values))
    assert wrong == []
    assert read_ok(found) == read_ok(values)


@given(
    st.fixed_dictionaries(
        {
            field.key: st.sampled_from(field.choices) if field.choices else st.text(max_size=40)
            for field in FIELDS
        }
    )
)
def test_any_text_in_any_field_is_read_or_refused_beside_a_field(values: dict[str, str]) -> None:
    reading = scenario.read(values)
    assert (reading.scenario is None) == bool(reading.mistakes)
    assert set(reading.mistakes) <= {"", *BY_KEY}


@given(st.dictionaries(st.sampled_from([*BY_KEY, "utm", "lang"]), st.text(max_size=50)))
def test_any_address_gives_values_for_all_fields(params: dict[str, str]) -> None:
    values, _ = link.read(params)
    assert set(values) == set(DEFAULTS)
    for field in FIELDS:
        assert not field.choices or values[field.key] in field.choices


def test_each_wrong_field_has_its_own_message() -> None:
    found = mistakes(tokens="-5", count="many", model="llama3 8b")
    assert set(found) == {"tokens", "count", "model"}
    assert "above zero" in found["tokens"]
    assert "llama-3-8b" in found["model"]


@pytest.mark.parametrize(
    ("changes", "key", "says"),
    [
        ({"layout_by": "typed", "tp": "7"}, "tp", "multiply to hardware.count 64"),
        ({"global_batch": "3", "micro_batch": "2"}, "global_batch", "multiple of micro_batch 2"),
        ({"amount": "epochs", "dataset_tokens": ""}, "epochs", "dataset"),
        ({"source": "config", "config": '{"a": NaN}'}, "config", "NaN"),
        ({"source": "config", "config": "[" * 100_000}, "config", "not valid JSON"),
        ({"source": "config", "config": '{"model_type": "nope"}'}, "config", "not known"),
        ({"source": "dimensions"}, "hidden", "does not state it"),
        ({"extra": "overhead.failure: none"}, "extra", "did you mean overhead.failures"),
        ({"extra": "foo.bar: 3"}, "extra", "unknown key"),
        ({"extra": "nonsense"}, "extra", "section.key: value"),
        ({"tokens": ""}, "tokens", "how much to train"),
        ({"sku": ""}, "sku", "name an accelerator"),
    ],
)
def test_a_mistake_stands_beside_its_field(changes: dict[str, str], key: str, says: str) -> None:
    assert says in mistakes(**changes)[key]


@pytest.mark.parametrize("model", ["/etc/passwd", "../../config.json", "~/x", "module.py:make"])
def test_a_link_does_not_open_files_of_the_server(model: str) -> None:
    assert "model" in mistakes(model=model)


def test_a_traced_preset_is_planned_in_samples_and_a_file_is_never_run() -> None:
    fields = {"amount": "samples", "samples": "1M"}
    assert read_ok(DEFAULTS | fields | {"model": "resnet-50"}).run.data.samples == 1_000_000
    assert "runs no file" in mistakes(**fields, model="net.py:make")["model"]


@pytest.mark.parametrize("name", ["hardware.profile", "data.lengths"])
def test_other_keys_do_not_open_files_of_the_server(name: str) -> None:
    assert "a file of the server" in mistakes(extra=f"{name}: /etc/passwd")["extra"]


def test_a_pasted_config_is_the_model() -> None:
    text = minified(json.dumps(GPT2, indent=2))
    found = read_ok(DEFAULTS | {"source": "config", "config": text})
    model = found.source.load()
    assert model is not None
    assert model.params_total == load_model("gpt2-124m").params_total == 124_439_808


def test_typing_starts_from_the_chosen_model() -> None:
    typed = DEFAULTS | {"source": "dimensions"} | typed_from(load_model("llama-3-8b"))
    model = read_ok(typed).source.load()
    assert model is not None
    assert model.params_total == load_model("llama-3-8b").params_total


def test_no_code_in_a_config_is_run() -> None:
    model = model_from_text(json.dumps(GPT2 | {"auto_map": {"AutoModel": "evil.Model"}}))
    assert any("not run" in warning for warning in model.warnings)


def test_advice_changes_the_fields_it_names() -> None:
    after = run_file.changed(
        DEFAULTS,
        {"training.layout": "auto", "training.recompute": "full", "hardware.power_limit": None},
    )
    assert (after["layout_by"], after["recompute"]) == ("planner", "full")
    assert read_ok(after).run.training.recompute == "full"
