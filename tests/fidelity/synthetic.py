"""Measurements made up for tests: cases whose truth is known."""

from __future__ import annotations

from dataclasses import replace

from planner.engine.configuration import Configuration
from planner.fidelity.case import Case, Traits
from planner.fidelity.scores import Row
from planner.models import load_model


def case(name: str = "one", source: str = "lab", **changes: object) -> Case:
    """A GPT-2 step on eight A100, its configuration changed as asked."""
    base = Configuration(
        model=load_model("gpt2-124m"),
        sku="a100-sxm4-80gb",
        num_devices=8,
        devices_per_node=8,
        network_bytes_per_second=25e9,
        seq_len=1024,
        micro_batch=16,
        accumulation=1,
        dp=8,
        stack="pytorch-fsdp",
        year=2024,
    )
    return Case(
        id=name,
        line=2,
        source=source,
        group=source,
        configuration=replace(base, **changes),  # type: ignore[arg-type]
        traits=Traits(stack="pytorch-fsdp", year=2024),
    )


def row(
    actual: float,
    predicted: float,
    source: str = "lab",
    name: str = "one",
    width: float = 1.25,
    kind: str = "time",
) -> Row:
    """A prediction with an interval of ×/÷ `width`."""
    return Row(
        id=name,
        source=source,
        kind=kind,
        actual=actual,
        predicted=predicted,
        low=predicted / width,
        high=predicted * width,
        inferred=(),
    )
