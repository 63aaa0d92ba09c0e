"""Between the scenario's fields and a run file: both ways, losing nothing."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from planner.errors import PlannerError
from planner.run import Run
from planner.run.mapping import mapping_from_yaml, overlay
from planner.run.values import is_auto, pairs
from ui import profile_store
from ui.fields import AMOUNTS, BY_RUN_KEY, DEFAULTS, active_fields

MODEL_NAMES = {"config": "config.json", "dimensions": "typed"}  # a run file names no other
_ON_DISK = ("data.lengths", "data.tokenizer", "hardware.profile")


def values_from_mapping(mapping: Mapping[str, Any]) -> dict[str, str]:
    """The fields that say the same as a run file; keys without a field go into `extra`.

    >>> values = values_from_mapping({"data": {"samples": "5k"}, "overhead": {"failures": "none"}})
    >>> values["amount"], values["samples"], values["extra"]
    ('samples', '5k', 'overhead.failures: none')
    """
    values = dict(DEFAULTS) | {"tokens": "", "seq_len": "", "count": "", "sku": "", "model": ""}
    extra = []
    for name, text in _leaves(mapping):
        field = BY_RUN_KEY.get(name)
        if field is None:
            extra.append(f"{name}: {text}")
        else:
            values[field.key] = _in_choices(field.choices, text)
            if field.key in AMOUNTS:
                values["amount"] = field.key
            if name.startswith("training.layout."):
                values["layout_by"] = "typed"
    return values | {"extra": "\n".join(extra)}


def _in_choices(choices: tuple[str, ...], text: str) -> str:
    """As the field writes the word: a run file may say fsdp, False or BF16."""
    from planner.run.layout import SHARDING_ALIASES

    word = text.strip().lower().replace("_", "-")
    word = SHARDING_ALIASES.get(word, word)
    if choices and word in ("no", "false", "off") and "none" in choices:
        word = "none"
    return word if word in choices else text


def _leaves(mapping: Mapping[str, Any], path: str = "") -> Iterator[tuple[str, str]]:
    for name, value in mapping.items():
        dotted = f"{path}{name}"
        if dotted in ("training.layout", "training.lora") and not is_auto(value):
            value = pairs(dotted, value) if value not in (None, "", "null", "~") else None
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{dotted}.")
        elif value is not None and str(value).strip().lower() not in ("", "null", "~"):
            text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
            if not (dotted == "training.layout" and is_auto(value)):
                yield dotted, text


def changed(values: Mapping[str, str], changes: Mapping[str, object]) -> dict[str, str]:
    """The fields after a change by dotted key, as the planner advises it.

    >>> after = changed(DEFAULTS, {"hardware.count": 128, "overhead.failures": "none"})
    >>> after["count"], after["extra"]
    ('128', 'overhead.failures: none')
    """
    found, extra = dict(values), extra_of(values["extra"])
    for name, value in changes.items():
        text = "" if value is None else str(value)
        if name == "training.layout" and is_auto(text):
            found["layout_by"] = "planner"
        elif name in BY_RUN_KEY:
            found[BY_RUN_KEY[name].key] = text
            if name.startswith("training.layout."):
                found["layout_by"] = "typed"
        elif text:
            extra[name] = text
        else:
            extra.pop(name, None)
    return found | {"extra": "\n".join(f"{name}: {text}" for name, text in extra.items())}


def mapping_of(values: Mapping[str, str]) -> dict[str, Any]:
    """The run file's mapping that the fields say. Raises PlannerError for a wrong `extra`."""
    said = {
        field.run_key: values[field.key].strip()
        for field in active_fields(values)
        if field.run_key and values[field.key].strip()
    }
    if values["source"] != "preset":
        said["model"] = MODEL_NAMES[values["source"]]
    if said.get("training.lora.rank") == DEFAULTS["lora_rank"]:
        del said["training.lora.rank"]
    return overlay({}, said | extra_of(values["extra"]))


def extra_of(text: str) -> dict[str, str]:
    """Lines of `section.key: value`. Files on the server are taken only from its own run file, or
    from the profiles that the page This machine offers."""
    found = {}
    for line in filter(None, map(str.strip, text.splitlines())):
        name, *rest = re.split(r"[:=]", line, maxsplit=1)
        if not rest or "." not in name:
            raise PlannerError("extra", line, "write one section.key: value a line")
        found[name.strip()] = rest[0].strip()
    for name in _ON_DISK:
        if name == "hardware.profile" and profile_store.holds(found.get(name, "")):
            continue
        if name in found and found[name] != extra_of_start().get(name):
            remedy = "a file of the server: give it in the RUN.yaml of `forerun app RUN.yaml`"
            raise PlannerError("extra", f"{name}: {found[name]}", remedy)
    return found


def yaml_of(run: Run) -> str:
    """A run file with what `run` says beyond the defaults, which reads back to the same run."""
    import yaml

    return yaml.safe_dump(_said(run.to_mapping(), Run().to_mapping()), sort_keys=False)


def _said(mapping: Mapping[str, Any], silent: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in mapping.items():
        default = silent.get(name)
        if value == default:
            continue
        if isinstance(value, Mapping):
            value = _said(value, default if isinstance(default, Mapping) else {})
            value = {key: each for key, each in value.items() if each is not None}
        found[name] = value
    return found


@cache
def start_file() -> Path | None:
    """The run file that the application was started with, if any."""
    if Path(sys.argv[0]).name != "app.py" or len(sys.argv) < 2:
        return None
    return Path(sys.argv[1])


@cache
def start_values() -> dict[str, str]:
    """The fields as the run file of the start has them; the defaults without one."""
    path = start_file()
    if path is None:
        return dict(DEFAULTS)
    values = values_from_mapping(mapping_from_yaml(path))
    config = _config_text(values["model"])
    return values if config is None else values | {"source": "config", "config": config}


@cache
def extra_of_start() -> dict[str, str]:
    lines = start_values()["extra"].splitlines()
    return {line.partition(":")[0]: line.partition(":")[2].strip() for line in lines}


def _config_text(model: str) -> str | None:
    """The text of the config.json that a run file names by its path, else None."""
    path = Path(model).expanduser()
    file = path / "config.json" if path.is_dir() else path
    if file.suffix != ".json" or not file.is_file():
        return None
    from ui.model_source import minified, text_of_upload

    return minified(text_of_upload(file.read_bytes()))
