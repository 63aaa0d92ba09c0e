"""What can be taken away from a plan: JSON, CSV, a report that prints, the scenario as a file."""

from __future__ import annotations

import json
from functools import partial
from typing import Any

import streamlit as st

from planner.planning.result import Plan
from ui import plan_tables
from ui.answers import advised
from ui.run_file import yaml_of
from ui.scenario import Scenario
from ui.table import to_csv
from ui.text import Words

_HTML = ("plan.html", "text/html")


def offer(scenario: Scenario, plan: Plan, words: Words, *, title: str) -> None:
    """The download menu. Nothing reruns, and each file is made when it is asked for."""
    with st.popover(words("plan.download"), icon=":material/download:"):
        _button("json", words, lambda: plan_json(plan), "plan.json", "application/json")
        _button("csv", words, lambda: all_tables(plan, words), "plan.csv", "text/csv")
        _button("report", words, partial(_report, scenario, plan, words, title), *_HTML)
        if scenario.source.kind == "dimensions":
            st.caption(words("plan.yaml_typed"))
            return
        _button("yaml", words, lambda: yaml_of(scenario.run), "RUN.yaml", "application/yaml")
        if scenario.source.kind == "config":
            st.caption(words("plan.yaml_config"))


def _button(name: str, words: Words, make: Any, file: str, mime: str) -> None:
    st.download_button(
        words(f"plan.{name}"),
        make,
        file_name=file if name == "yaml" else f"forerun-{file}",
        mime=mime,
        key=f"download_{name}",
        on_click="ignore",
        width="stretch",
    )


def plan_json(plan: Plan) -> str:
    """The plan as the command line prints it with --json."""
    return json.dumps(plan.to_json(), indent=2, allow_nan=False)


def all_tables(plan: Plan, words: Words) -> str:
    """Every table of the page, one after the other, each under its name."""
    tables = {
        "step": plan_tables.times(plan.step.parts, words, group="step"),
        "memory": plan_tables.memory(plan, words),
        "run": plan_tables.times(plan.run.parts, words, group="run"),
        "figures": plan_tables.headline_figures(plan, words),
        "rates": plan_tables.speed(plan, words),
        "chosen": plan_tables.chosen(plan, words),
    }
    return "\n".join(f"# {name}\n{to_csv(table)}" for name, table in tables.items())


def _report(scenario: Scenario, plan: Plan, words: Words, title: str) -> str:
    from ui.report import report

    return report(plan, advised(scenario), words, title=title)
