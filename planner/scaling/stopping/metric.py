"""Which metric of a log to judge by, and which way it should go."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from planner.errors import PlannerError, nearest
from planner.scaling.logs.training_log import Series

_FALLING = (
    "loss|nll|xent|entropy|bpb|bpc|ppl|perplexity|wer|cer|uer|error|err|mae|mse|rmse|fid|eer|der"
)
_RISING = (
    "acc|accuracy|auc|auroc|auprc|f1|bleu|rouge\\w*|map|iou|miou|em|match|recall|precision|r2"
    "|reward|mcc|ndcg|psnr|ssim|spearmanr|pearsonr|len_norm"
)
_LOSS = re.compile(r"(?:loss|nll|xent|entropy)(?!\W?scale)", re.IGNORECASE)
_EDGE = r"(?:^|[\W_\d]|(?<=[a-z])(?=[A-Z]))"
_FALLS = re.compile(rf"{_EDGE}(?:{_FALLING})(?:$|[\W_\d])|loss$|perplexity", re.IGNORECASE)
_RISES = re.compile(rf"{_EDGE}(?:{_RISING})(?:$|[\W_\d])|accuracy", re.IGNORECASE)
_HELD_OUT = re.compile(r"val|eval|test|dev(?:$|[\W_])|held.?out", re.IGNORECASE)
_TRAINED_ON = re.compile(r"train|^lm loss$", re.IGNORECASE)
_NOT_JUDGED = re.compile(
    r"scale|samples_per|steps_per|runtime|norm$|per_second|balanc|aux|z_loss", re.IGNORECASE
)
_PLAIN = ("val_loss", "eval_loss", "valid_loss", "validation_loss", "val/loss", "eval/loss")
_FEWEST_HELD_OUT = 5  # evaluations; below, a dense training loss tells more
_DENSE = 20  # points
_NAMES_TOLD = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """A metric to judge by."""

    name: str
    sign: float  # 1: less is better; -1: more is better
    is_loss: bool  # a loss that the forms of scaling laws describe
    held_out: bool  # said to be from data that are not trained on
    trained_on: bool  # said to be from training data; a bare `loss` says neither


def metric_named(name: str, direction: str | None = None) -> Metric:
    """The metric of that name; raises PlannerError where its direction is unknown.

    >>> metric_named("val_acc").sign, metric_named("eval/perplexity").sign
    (-1.0, 1.0)
    """
    falls, rises = bool(_FALLS.search(name)), bool(_RISES.search(name))
    if direction is None and falls == rises:
        raise PlannerError(
            "metric", name, "is less or more of it better? say --direction min or max"
        )
    less = direction == "min" if direction else falls
    return Metric(
        name=name,
        sign=1.0 if less else -1.0,
        is_loss=less and bool(_LOSS.search(name)),
        held_out=bool(_HELD_OUT.search(name)),
        trained_on=bool(_TRAINED_ON.search(name)) and not _HELD_OUT.search(name),
    )


def choose_metric(
    metrics: Mapping[str, Series], wanted: str | None, direction: str | None
) -> tuple[Metric, tuple[str, ...]]:
    """The metric to judge by, and notes on how it was chosen."""
    if wanted is not None:
        return metric_named(_named(metrics, wanted), direction), ()
    known = [
        metric_named(name)
        for name in metrics
        if bool(_FALLS.search(name)) != bool(_RISES.search(name)) and not _NOT_JUDGED.search(name)
    ]
    if not known and len(metrics) == 1:
        return metric_named(next(iter(metrics)), direction), ()
    if not known:
        raise PlannerError(
            "metric",
            None,
            f"none has a known direction; choose one with --metric: {_told(metrics)}",
        )
    best = min(known, key=lambda metric: _rank(metric, metrics))
    return best, _notes(best, known, metrics)


def training_loss(metrics: Mapping[str, Series], judged: Metric) -> Series | None:
    """The loss on training data, where the log has it beside the judged metric."""
    for name, series in metrics.items():
        trains = _LOSS.search(name) and not _HELD_OUT.search(name) and not _NOT_JUDGED.search(name)
        if trains and name != judged.name:
            return series
    return None


def _named(metrics: Mapping[str, Series], wanted: str) -> str:
    if wanted in metrics:
        return wanted
    close = [name for name in metrics if name.lower() == wanted.lower()]
    close = close or [name for name in metrics if name.lower().endswith(wanted.lower())]
    if len(close) == 1:
        return close[0]
    shown = close or nearest(wanted, metrics) or list(metrics)
    raise PlannerError("metric", wanted, f"the log has {_told(shown)}")


def _rank(metric: Metric, metrics: Mapping[str, Series]) -> tuple[bool, int, int, int]:
    """Losses first; held-out before training data unless few beside many; plain names first."""
    few = len(metrics[metric.name]) < _FEWEST_HELD_OUT and _has_dense(metrics, metric)
    told = 1 if not metric.held_out else 2 if few else 0
    plain = _PLAIN.index(metric.name) if metric.name in _PLAIN else len(_PLAIN)
    order = list(metrics).index(metric.name)
    return (not metric.is_loss, told, plain, order)


def _has_dense(metrics: Mapping[str, Series], metric: Metric) -> bool:
    training = training_loss(metrics, metric)
    return training is not None and len(training) >= _DENSE


def _notes(best: Metric, known: list[Metric], metrics: Mapping[str, Series]) -> tuple[str, ...]:
    alike = [metric.name for metric in known if metric.held_out and metric.is_loss]
    notes = []
    if best.held_out and len(alike) > 1:
        notes.append(
            f"{len(alike)} evaluation sets: judged by {best.name}; choose with --metric: "
            f"{_told(alike)}"
        )
    if not best.held_out and alike:
        few = max(len(metrics[name]) for name in alike)
        notes.append(f"judged by {best.name}: only {few} evaluations on held-out data")
    elif not best.held_out:
        notes.append(
            f"judged by {best.name}: the log has no held-out loss, so overfitting is unseen"
        )
    return tuple(notes)


def _told(names: Mapping[str, Series] | list[str]) -> str:
    shown = list(names)
    more = len(shown) - _NAMES_TOLD
    return ", ".join(shown[:_NAMES_TOLD]) + (f" and {more} more" if more > 0 else "")
