"""Uploaded runs fitted to a law: constants with intervals, what the law misses, refusals."""

from __future__ import annotations

import io
from html import escape
from typing import Any

import numpy as np
import streamlit as st

from planner.errors import PlannerError
from planner.quantities import show_percent, show_whole
from ui import scaling_tables as tables
from ui.charts.scaling import residual_figure
from ui.show import section
from ui.text import Words

MOST_ROWS = 12  # of the residual table
_EXAMPLE = "params,tokens,loss\n1.9e8,3.8e9,3.600\n"


@st.cache_data(max_entries=16, show_spinner=False)
def fitted(csv: bytes) -> dict[str, Any]:
    """What `forerun scaling fit --json` answers about these runs, with a row for each run.

    Raises PlannerError for runs that determine no law, saying which run to add."""
    from planner.cli.scaling_fit import answer_of
    from planner.scaling.bootstrap import bootstrap
    from planner.scaling.fit import fit_runs
    from planner.scaling.holdout import compare_forms
    from planner.scaling.outliers import outliers
    from planner.scaling.runs import read_runs

    runs = read_runs(io.StringIO(csv.decode("utf-8-sig", errors="replace")))
    fitted_law = bootstrap(fit_runs(runs))
    found = outliers(fitted_law.fit)
    odd = {each.position for each in found}
    predicted = runs.losses * np.exp(fitted_law.fit.residuals)
    rows = [
        {
            "run": index + 1,
            "params": float(runs.params[index]),
            "tokens": float(runs.tokens[index]),
            "flops": float(runs.flops[index]),
            "loss": float(runs.losses[index]),
            "predicted": float(predicted[index]),
            "residual": float(np.expm1(fitted_law.fit.residuals[index])),
            "outlier": index in odd,
        }
        for index in range(len(runs))
    ]
    answer = answer_of(fitted_law, compare_forms(runs), found, 0)
    return answer | {"rows": rows}


def draw(csv: bytes | None, words: Words) -> None:
    """The section: the answer about the uploaded runs, or how to give some."""
    if csv is None:
        st.subheader(words("scaling.upload"), anchor="fit")
        st.html(f'<p class="fr-take">{escape(words("scaling.fit_lead"))}</p>')
        st.code(_EXAMPLE, language=None)
        return
    try:
        with st.spinner(words("scaling.fitting")):
            answer = fitted(csv)
    except PlannerError as error:
        st.error(str(error), icon=":material/edit:")
        return
    for text in answer["warnings"]:
        st.warning(text, icon=":material/info:")
    section(
        "fit",
        words,
        title=words("scaling.fit_title"),
        takeaway=takeaway(answer, words),
        figure=residual_figure(answer["rows"], words),
        table=tables.constants(answer, words),
    )
    section(
        "residuals",
        words,
        title=words("scaling.residuals_title"),
        takeaway=words("scaling.residuals_takeaway", count=MOST_ROWS),
        figure=None,
        table=tables.residuals(_worst(answer["rows"]), words),
    )


def _worst(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -abs(row["residual"]))[:MOST_ROWS]


def takeaway(answer: dict[str, Any], words: Words) -> str:
    """How well the law explains the runs, how well each form predicts the largest, and outliers."""
    spread = float(np.quantile(np.abs([row["residual"] for row in answer["rows"]]), 0.8))
    forms = [form for form in answer["held_out"] if form.error is not None]
    held = ", ".join(
        f"{words(f'scaling.form_{form.form}')} {show_percent(form.error)}" for form in forms
    )
    parts = [
        words("scaling.fit_takeaway", count=show_whole(answer["n"]), spread=show_percent(spread)),
        words("scaling.held_out", errors=held) if held else "",
        words("scaling.outliers", count=len(answer["outliers"])) if answer["outliers"] else "",
    ]
    return " ".join(part for part in parts if part)
