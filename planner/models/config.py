"""A Hugging Face config.json, read as data: nothing in it is ever run."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from stat import S_ISREG

from planner.engine.model import Model
from planner.errors import PlannerError
from planner.models.fields import Fields
from planner.models.registry import read_model

MAX_BYTES = 4 * 2**20  # the largest published configs are below 1 MiB

_FORMATS = {"bfloat16": "bf16", "float16": "fp16", "float32": "fp32", "float64": "fp64"}


def model_from_config(config: Mapping[str, object], *, name: str = "config.json") -> Model:
    """The model that a config.json's content describes, with exact parameter groups.

    Raises PlannerError naming the key for a missing or hostile value and for an architecture
    that is not known. Weights published in a quantised format are counted as logical weights.
    """
    if not isinstance(config, Mapping):
        raise PlannerError(name, config, "must be a JSON object, as config.json is")
    fields = Fields(config, name=name)
    model = read_model(fields)
    checkpoint = checkpoint_format(fields)
    if fields.table("auto_map"):
        fields.warn("the config names remote code (auto_map); it is not run")
    return replace(model, checkpoint_format=checkpoint, warnings=tuple(fields.warnings))


def read_config_file(path: Path, *, name: str | None = None) -> Model:
    """`model_from_config` of a file, or of the config.json in a folder."""
    file = path / "config.json" if path.is_dir() else path
    return model_from_config(read_json(file), name=name or str(path))


def read_json(path: Path) -> dict[str, object]:
    """A JSON object from a regular file of at most 4 MiB, without NaN or infinities."""
    text = _read_text(path)
    try:
        content = json.loads(
            text, parse_constant=_refuse_constant, object_pairs_hook=_without_repeats
        )
    except (ValueError, RecursionError) as error:
        raise PlannerError("model", str(path), f"is not valid JSON: {error}") from None
    if not isinstance(content, dict):
        raise PlannerError("model", str(path), "must hold one JSON object")
    return content


def checkpoint_format(fields: Fields) -> str | None:
    """Number format of the published weights: the quantisation's, else the stated dtype's."""
    quantised = fields.table("quantization_config")
    if quantised is not None:
        method = _quantised_format(Fields(quantised, name=f"{fields.name}: quantization_config"))
        fields.warn(f"weights are published in {method}; parameters count logical weights")
        return method
    dtype = fields.word("torch_dtype") or fields.word("dtype")
    if dtype is None:
        return None
    return _FORMATS.get(dtype.removeprefix("torch."), dtype)


def _quantised_format(quantised: Fields) -> str:
    method = quantised.word("quant_method")
    if quantised.flag("load_in_4bit", absent=False):
        return quantised.word("bnb_4bit_quant_type") or "fp4"
    if quantised.flag("load_in_8bit", absent=False):
        return "int8"
    if method is None:
        raise quantised.error("quant_method", None, "state how the weights are quantised")
    bits = quantised.optional("bits", maximum=32)
    return method if bits is None else f"{method}-int{bits}"


def _read_text(path: Path) -> str:
    try:
        status = path.stat()
        if not S_ISREG(status.st_mode):
            raise PlannerError("model", str(path), "is not a regular file")
        if status.st_size > MAX_BYTES:
            raise PlannerError("model", str(path), f"is larger than {MAX_BYTES} bytes")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise PlannerError("model", str(path), "is not UTF-8 text") from None
    except OSError as error:
        reason = error.strerror or "cannot be read"
        raise PlannerError("model", str(path), f"{reason}; give a config.json") from None


def _without_repeats(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"the key {repeated!r:.60} is given twice: keep one")
    return found


def _refuse_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number that a config may hold")
