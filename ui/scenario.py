"""From the fields to a run and its model, with every mistake beside the field it belongs to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache

from planner.errors import PlannerError
from planner.run import Run
from planner.run.flags import run_keys
from ui import fields, model_source
from ui.model_source import Source
from ui.run_file import mapping_of

Reader = Callable[[str, object], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What the fields ask, ready to be planned."""

    run: Run
    source: Source


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """A scenario, or None with the mistakes: message by the key of the field, "" for none."""

    scenario: Scenario | None
    mistakes: Mapping[str, str]


def read(values: Mapping[str, str]) -> Reading:
    """Read every field; a mistake in one does not hide those of the others."""
    mistakes = _mistakes(values)
    if mistakes:
        return Reading(scenario=None, mistakes=mistakes)
    try:
        run = Run.from_mapping(mapping_of(values))
        run.require_plannable()
    except PlannerError as error:
        return Reading(scenario=None, mistakes=mistake(error, values))
    return Reading(scenario=Scenario(run=run, source=_source(values)), mistakes={})


MACHINE = ("sku", "count", "per_node", "interconnect")  # fields that a comparison chooses itself


def without_machine(values: Mapping[str, str]) -> Scenario | None:
    """The scenario with its machine left open; None where something else is wrong too."""
    found = read({**values, **{key: fields.DEFAULTS[key] for key in MACHINE}}).scenario
    if found is None:
        return None
    open_machine = {fields.BY_KEY[key].run_key or "": None for key in MACHINE}
    return Scenario(run=found.run.changed(open_machine), source=found.source)


def mistake(error: PlannerError, values: Mapping[str, str]) -> dict[str, str]:
    """An error of the planner as a message beside a field."""
    key = error.field if error.field in fields.BY_KEY else fields.key_of(error.field)
    field = fields.BY_KEY.get(key or "")
    named_there = values["extra"].lstrip().startswith(error.field.partition(".")[0])
    if key == "extra" or (field is None and named_there):
        return {"extra": str(error)}
    if field is None or not field.active(values):
        return {"": str(error)}
    return {field.key: _said(error)}


def _said(error: PlannerError) -> str:
    """Value and remedy; the field is beside it."""
    return str(error).removeprefix(f"{error.field}: ")


def _mistakes(values: Mapping[str, str]) -> dict[str, str]:
    found = {}
    for field in fields.active_fields(values):
        text = values[field.key].strip()
        if field.run_key and text:
            try:
                _readers()[field.run_key](field.run_key, text)
            except PlannerError as error:
                found[field.key] = _said(error)
    return found | _model_mistakes(values)


def _model_mistakes(values: Mapping[str, str]) -> dict[str, str]:
    source = _source(values)
    try:
        _refuse_paths(values)
        source.load()
    except PlannerError as error:
        return {model_source.key_of(error, source.kind): _said(error)}
    return {}


def _refuse_paths(values: Mapping[str, str]) -> None:
    """A link must not make the server open its files: a model is a preset or hf:ORG/NAME."""
    from planner.models.presets import nearest_presets, preset_ids, traced_ids

    model = values["model"].strip()
    known = (*preset_ids(), *traced_ids())
    if values["source"] != "preset" or model in known or model.startswith("hf:"):
        return
    if ".py" in model:
        remedy = "the application runs no file: plan it in a terminal, with forerun plan"
        raise PlannerError("model", model, remedy)
    near = nearest_presets(model)
    remedy = f"did you mean {', '.join(near)}?" if near else "choose a preset, or write hf:ORG/NAME"
    raise PlannerError("model", model or None, remedy)


def _source(values: Mapping[str, str]) -> Source:
    kind = values["source"]
    typed = tuple((name, values[name]) for name in fields.DIMENSIONS)
    return Source(
        kind=kind,
        config=values["config"] if kind == "config" else "",
        dimensions=typed if kind == "dimensions" else (),
    )


@cache
def _readers() -> dict[str, Reader]:
    return {name: key.read for name, _, key in run_keys()} | _layout_readers()


def _layout_readers() -> dict[str, Reader]:
    from planner.run import Layout
    from planner.run.keys import keys_of

    return {f"training.layout.{name}": key.read for name, key in keys_of(Layout).items()}
