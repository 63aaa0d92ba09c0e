"""The formulas of a plan with its numbers put in, as lines of text under titles."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from planner.planning.explain_memory import memory_lines
from planner.planning.explain_run import cost_lines, energy_lines, run_lines
from planner.planning.explain_step import layer_lines, machine_lines, step_lines
from planner.planning.explain_traced import row_lines
from planner.planning.outline import Outline


def explained(bones: Outline) -> list[dict[str, Any]]:
    """Sections of `title` and `lines`, from the machine's rates to the bill."""
    sections = {
        **_rates(bones),
        "One optimizer step": step_lines(bones),
        "Memory of the fullest device": memory_lines(bones),
        "The run": run_lines(bones),
        "Cost": cost_lines(bones),
        "Energy and carbon": energy_lines(bones),
    }
    return [{"title": title, "lines": list(lines)} for title, lines in sections.items()]


def _rates(bones: Outline) -> dict[str, Iterator[str]]:
    """Rates and products: of a profile where one device was measured, else of the engine."""
    products = "One layer, one micro-batch, forward"
    measured = bones.measured is not None and bones.scenario.num_devices == 1
    if bones.scenario.model.table is not None:
        if measured:
            from planner.planning.explain_measured import profile_lines
            from planner.planning.explain_traced import kernel_lines

            return {
                "The profile of the machine": profile_lines(bones),
                "One micro-batch, forward and backward, by the profile's kernels": kernel_lines(
                    bones
                ),
            }
        return {
            "The machine's sustained rates": machine_lines(bones),
            "One micro-batch, forward and backward, its slowest operations": row_lines(bones),
        }
    if not measured:
        return {
            "The machine's sustained rates": machine_lines(bones),
            products: layer_lines(bones),
        }
    from planner.planning.explain_measured import product_lines, profile_lines

    return {"The profile of the machine": profile_lines(bones), products: product_lines(bones)}
