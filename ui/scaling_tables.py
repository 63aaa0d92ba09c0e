"""Tables of the Scaling page."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planner.quantities import show_count, show_duration, show_percent, show_usd
from ui.scaling_view import Curve, FrontierRow, Point, View
from ui.table import Row, Table
from ui.text import Words

_AMOUNT_NAMES = {"usd": "usd", "days": "days", "flops": "flop"}


def sizes(view: View, words: Words) -> Table:
    """The budget spent on each size, and on the run as it is stated."""
    points = list(view.curve.points)
    rows = [_size(point, words, show_count(point.params)) for point in points]
    if view.own is not None:
        label = f"{show_count(view.own.params)} · {words('scaling.as_stated')}"
        rows.append(_size(view.own, words, label, strong=True))
    columns = ("scaling.params", "scaling.tokens", "scaling.loss", "scaling.settings")
    return Table(
        columns=tuple(words(key) for key in columns),
        names=("params", "tokens", "loss_nats_per_token", "within_half_percent", "settings"),
        rows=tuple(rows),
        numeric=(1, 2),
    )


def _size(point: Point, words: Words, label: str, *, strong: bool = False) -> Row:
    settings = words("scaling.does_not_fit") if point.does_not_fit else _settings(point, words)
    loss = "–" if point.loss is None else f"{point.loss:.3f}"
    return Row(
        cells=(label, "–" if point.tokens is None else show_count(point.tokens), loss, settings),
        values=(point.params, point.tokens, point.loss, point.in_band, point.settings),
        strong=strong,
    )


def _settings(point: Point, words: Words) -> str:
    """Layout with its MFU; where there is none, whether the size is nearly the best."""
    if point.mfu is None:
        return words("scaling.in_band") if point.in_band else ""
    near = f"{words('scaling.in_band')} · " if point.in_band else ""
    return f"{near}{point.settings}, MFU {show_percent(point.mfu)}"


def optima(
    curves: Sequence[Curve], view: View, words: Words, show: Callable[[float], str]
) -> Table:
    """The best split of each budget that is drawn."""
    columns = ("scaling.budget", "scaling.params", "scaling.tokens", "scaling.loss")
    return Table(
        columns=tuple(words(key) for key in columns),
        names=(_AMOUNT_NAMES[view.asked.unit], "params", "tokens", "loss_nats_per_token"),
        rows=tuple(
            Row(
                cells=(
                    show(curve.amount),
                    show_count(curve.params),
                    show_count(curve.tokens),
                    f"{curve.loss:.3f}",
                ),
                values=(curve.amount, curve.params, curve.tokens, curve.loss),
                strong=curve is view.curve,
            )
            for curve in sorted(curves, key=lambda curve: curve.amount)
        ),
        numeric=(1, 2, 3),
    )


def frontier(
    rows: Sequence[FrontierRow], unit: str, words: Words, show: Callable[[float], str]
) -> Table:
    """Best loss against the budget, with 80 % bounds and what doubling would gain."""
    columns = ("budget", "params", "loss", "interval", "doubling")
    return Table(
        columns=tuple(words(f"scaling.{key}") for key in columns),
        names=(_AMOUNT_NAMES[unit], "params", "tokens", "loss", "low", "high", "gain_of_doubling"),
        rows=tuple(
            Row(
                cells=(
                    show(row.amount),
                    show_count(row.params),
                    f"{row.loss:.3f}",
                    f"{row.low:.2f}–{row.high:.2f}",
                    f"−{show_percent(row.gain)}",
                ),
                values=(
                    row.amount,
                    row.params,
                    row.tokens,
                    row.loss,
                    row.low,
                    row.high,
                    row.gain,
                ),
            )
            for row in rows
        ),
        numeric=(1, 2, 3, 4),
    )


_SHOWN: dict[str, Callable[[float | None], str]] = {
    "params": show_count,
    "tokens": show_count,
    "tokens_per_param": lambda value: f"{value:.3g}",
    "loss": lambda value: f"{value:.3f}",
    "seconds": show_duration,
    "usd": show_usd,
    "left_seconds": show_duration,
    "left_usd": show_usd,
    "saving_of_flops_share": show_percent,
}


def serving(part: Mapping[str, Any], words: Words) -> Table:
    """The model of the same quality that is cheapest over training and serving."""
    known = {name: part[name] for name in _SHOWN if part.get(name) is not None}
    return Table(
        columns=(words("plan.figure"), words("plan.value")),
        names=("figure", "value"),
        rows=tuple(
            Row(
                cells=(words(f"scaling.served_{name}"), words.number(_SHOWN[name](value))),
                values=(name, value),
            )
            for name, value in known.items()
        ),
        numeric=(1,),
    )


def constants(answer: Mapping[str, Any], words: Words) -> Table:
    """The constants of a fit with their 80 % intervals, and without the outliers."""
    others = answer["without_outliers"]
    rows = []
    for name, value in answer["constants"].items():
        low, high = answer["ci80"][name]
        other = None if others is None else others[name]
        cells = (
            name,
            f"{value:.4g}",
            f"{low:.4g}–{high:.4g}",
            "–" if other is None else f"{other:.4g}",
        )
        rows.append(Row(cells=cells, values=(name, value, low, high, other)))
    columns = ("constant", "value", "interval", "without")
    return Table(
        columns=tuple(words(f"scaling.{key}") for key in columns),
        names=("constant", "value", "low", "high", "without_outliers"),
        rows=tuple(rows),
        numeric=(1, 2, 3),
    )


def residuals(rows: Sequence[Mapping[str, Any]], words: Words) -> Table:
    """The runs that the law misses most, worst first."""
    worst = sorted(rows, key=lambda row: -abs(row["residual"]))
    columns = ("run", "params", "tokens", "loss", "law_says", "off")
    return Table(
        columns=tuple(words(f"scaling.{key}") for key in columns),
        names=("run", "params", "tokens", "loss", "predicted", "residual", "outlier"),
        rows=tuple(
            Row(
                cells=(
                    f"{row['run']}{' ✕' if row['outlier'] else ''}",
                    show_count(row["params"]),
                    show_count(row["tokens"]),
                    f"{row['loss']:.3f}",
                    f"{row['predicted']:.3f}",
                    f"{100 * row['residual']:+.2f} %",
                ),
                values=(
                    row["run"],
                    row["params"],
                    row["tokens"],
                    row["loss"],
                    row["predicted"],
                    row["residual"],
                    row["outlier"],
                ),
            )
            for row in worst
        ),
        numeric=(1, 2, 3, 4, 5),
    )
