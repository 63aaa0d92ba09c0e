"""The groups of one machine: every recipe on it, with the table of its layouts and batches."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product

from planner.engine.batch import Batch
from planner.errors import PlannerError
from planner.planning.options import most_micro_batch
from planner.planning.scenario import Scenario, scenario
from planner.run import Run
from planner.search import values as usual
from planner.search.axes import Value
from planner.search.batches import Lengthened
from planner.search.group import Group, group, template_of
from planner.search.restrictions import KEEP, Restrictions
from planner.search.table import Table, table

Tables = dict[object, Table | PlannerError]  # by what they are made of; machines share them


@dataclass(frozen=True, slots=True, kw_only=True)
class Excluded:
    """A part of the space that cannot run at all."""

    sku: str
    count: int
    words: str  # precision and what else differs; empty = all of it
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Builder:
    """Builds the groups of one machine."""

    run: Run
    base: Scenario
    limits: Restrictions
    longer: Lengthened
    words: str
    tables: Tables

    def groups(self, sku: str, count: int, power: float | None) -> Iterator[Group | Excluded]:
        changes = self._machine(sku, count, power)
        try:
            first = scenario(
                self.longer.run(self.run, changes, self.longer.base), model=self.base.model
            )
        except PlannerError as error:
            if error.field != "training.precision" or self.words == "run":
                yield Excluded(sku=sku, count=count, words="", reason=_short(error))
                return
            first = None
        lists = self._word_lists(first)
        for chosen in product(*lists.values()):
            words = {name: str(word) for name, word in zip(lists, chosen, strict=True)}
            said = {f"training.{name}": word for name, word in words.items()}
            try:
                yield self._group({**changes, **said}, words)
            except PlannerError as error:
                shown = ", ".join(w for name, w in words.items() if len(lists[name]) > 1)
                yield Excluded(sku=sku, count=count, words=shown, reason=_short(error))

    def _word_lists(self, first: Scenario | None) -> dict[str, list[Value]]:
        """The words of each axis that needs a batch of its own."""
        usual_words = usual.template_words(first or self.base)
        training = self.base.run.training
        own = {name: getattr(training, name) for name in usual_words}
        own["loss"] = own["loss"] or (first or self.base).stack.loss
        found = {}
        for name, tried in usual_words.items():
            kept = [own[name]] if self.words == "run" else tried
            if self.limits.fixed.get(name) == KEEP:
                kept = [own[name]]
            found[name] = self.limits.kept(name, kept)
        return found

    def _machine(self, sku: str, count: int, power: float | None) -> dict[str, object]:
        """Changes of the run that put it on a machine, with all that a search chooses open."""
        own = sku == self.base.accelerator.sku_id or sku == self.run.hardware.sku
        changes: dict[str, object] = {
            "hardware.sku": sku,
            "hardware.count": count,
            "hardware.power_limit": power,
        }
        hardware = self.run.hardware
        if not own or (hardware.per_node and count % min(hardware.per_node, count)):
            changes["hardware.per_node"] = None
        if not own and isinstance(hardware.interconnect, str):
            changes["hardware.interconnect"] = None
        if own:
            changes["training.stack"] = self.base.stack.name
        return changes

    def _group(self, changes: Mapping[str, object], words: Mapping[str, str]) -> Group:
        run = self.longer.run(self.run, changes, self.longer.base)
        each = scenario(run, model=self.base.model)
        template = template_of(each)
        modes = self.limits.kept("price", [self.run.price.mode])
        return group(
            each,
            template=template,
            table=self._table(each, template),
            words=words,
            said=self.run,
            changes=changes,
            longer=self.longer,
            modes=tuple(self.run.price.mode if m == KEEP else str(m) for m in modes),
        )

    def _table(self, each: Scenario, template: Batch) -> Table:
        lists = self._table_values(each)
        key = (each.num_devices, each.seq_len, *(tuple(values) for values in lists.values()))
        if key not in self.tables:
            try:
                made = table(lists, template, self.limits, each.num_devices)
                self.tables[key] = made
            except PlannerError as error:
                self.tables[key] = error
        found = self.tables[key]
        if isinstance(found, PlannerError):
            raise found
        return found

    def _table_values(self, each: Scenario) -> dict[str, list[Value]]:
        batches = usual.Batches(base=self.longer.base, tried=self.longer.tried)
        lists: dict[str, list[Value]] = {
            **usual.degrees(each),
            "global_batch": list(self.longer.tried),
            "micro_batch": usual.micro_batches(batches, most_micro_batch(each)),
            "sharding": usual.shardings(each),
            "recompute": usual.recomputes(each),
        }
        own = _own_values(self.run, each)
        found = {}
        for name, tried in lists.items():
            if self.limits.fixed.get(name) == KEEP and name != "global_batch":
                found[name] = [own[name]]
            else:
                found[name] = tried if name == "global_batch" else self.limits.kept(name, tried)
        return found


def _own_values(run: Run, each: Scenario) -> dict[str, Value]:
    """What `--fix NAME` without a value keeps."""
    training, layout = run.training, run.training.layout
    found: dict[str, Value] = {
        name: getattr(layout, name) if layout else 1
        for name in ("tp", "pp", "cp", "ep", "interleave")
    }
    found["sharding"] = (layout.sharding if layout else None) or each.stack.sharding
    found["micro_batch"] = training.micro_batch or 1
    found["recompute"] = training.recompute
    return found


def _short(error: PlannerError) -> str:
    return f"{error.field}: {error.remedy}"
