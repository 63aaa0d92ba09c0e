"""Where a model comes from: a preset, a config.json, or the Hugging Face hub."""

from __future__ import annotations

import re
from pathlib import Path

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.models.config import model_from_config, read_config_file, read_json
from planner.models.presets import (
    load_preset,
    load_traced,
    nearest_presets,
    preset_ids,
    traced_ids,
)

_HUB = "hf:"
_PART = r"\w(?:[\w.-]*\w)?"  # the hub's own rules
_HUB_ID = re.compile(rf"(?!.*(?:\.\.|--))(?=.{{3,96}}$){_PART}/{_PART}", re.ASCII)
_MODULE = re.compile(r".+\.py(:\w*)?$")


def load_model(
    spec: str,
    *,
    base_dir: str | Path | None = None,
    input_shape: tuple[int, ...] | None = None,
    precision: str = "bf16",
) -> Model:
    """The model that `spec` names.

    A preset id (`llama-3-8b`), a path to a config.json or to a folder that holds one (relative
    to `base_dir`, else to the working directory), `hf:ORG/NAME` for the config of a model on
    the Hugging Face hub, or `path/to/file.py:function` for a torch module, which is run in a
    process of its own and traced on samples of `input_shape`; of the rarer formats only that of
    `precision`. Raises PlannerError for anything else, with the nearest preset ids.
    """
    if not isinstance(spec, str) or not spec.strip():
        raise PlannerError("model", spec, "give a preset id, a config.json or hf:ORG/NAME")
    spec = spec.strip()
    if spec.startswith(_HUB):
        return _from_hub(spec)
    if is_module(spec):
        return _from_module(spec, base_dir, input_shape, precision)
    if _looks_like_path(spec):
        return _from_path(spec, base_dir)
    if spec in preset_ids():
        return load_preset(spec)
    if spec in traced_ids():
        return load_traced(spec, input_shape)
    return _from_word(spec, base_dir)


def is_module(spec: str) -> bool:
    """Whether `spec` names a function of a Python file, which is traced.

    >>> is_module("net.py:make"), is_module("llama-3-8b")
    (True, False)
    """
    return _MODULE.fullmatch(spec.strip()) is not None


def _from_module(
    spec: str,
    base_dir: str | Path | None,
    input_shape: tuple[int, ...] | None,
    precision: str,
) -> Model:
    """Trace a function of a file in a process of its own."""
    from planner.models.traced import packed, traced_model
    from planner.tracing.process import FORMATS, trace_module

    path, colon, function = spec.rpartition(":")
    if not colon or not function.isidentifier():
        raise PlannerError("model", spec, "name the function that makes the module: FILE.py:NAME")
    formats = (*FORMATS, precision) if precision == "pure-bf16" else FORMATS
    place = str(Path(base_dir or ".") / Path(path).expanduser())
    table = trace_module(f"{place}:{function}", input_shape, formats=formats)
    return traced_model(packed(table), name=spec, input_shape=input_shape)


def _looks_like_path(spec: str) -> bool:
    return spec.endswith(".json") or "/" in spec or spec.startswith(("~", "."))


def _from_path(spec: str, base_dir: str | Path | None) -> Model:
    try:
        path = Path(base_dir or ".") / Path(spec).expanduser()
        found = path.exists()
    except (OSError, RuntimeError):  # a name too long, a home that is not known
        found = False
    if not found:
        raise PlannerError("model", spec, _missing_file(spec))
    return read_config_file(path, name=spec)


def _missing_file(spec: str) -> str:
    if _HUB_ID.fullmatch(spec) and not spec.endswith(".json"):
        return f"no such file; for the model on the hub write hf:{spec}"
    return "no such file; give the path of a config.json or of the folder that holds it"


def _from_word(spec: str, base_dir: str | Path | None) -> Model:
    """A word that is no preset: a folder of that name, or a refusal with the nearest presets."""
    folder = Path(base_dir or ".") / spec
    if folder.is_dir() and (folder / "config.json").is_file():
        return read_config_file(folder, name=spec)
    near = nearest_presets(spec)
    guess = f"did you mean {', '.join(near)}?" if near else "is no preset and no file:"
    raise PlannerError("model", spec, f"{guess} `forerun model --list` prints the presets")


def _from_hub(spec: str) -> Model:
    from planner.models.hub import download_config

    name = spec.removeprefix(_HUB)
    if not _HUB_ID.fullmatch(name):
        raise PlannerError("model", spec, "write hf:ORG/NAME")
    return model_from_config(read_json(download_config(name)), name=spec)
