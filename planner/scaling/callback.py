"""The stop rule inside a running loop: plain Python, Hugging Face Trainer, Lightning, Optuna.

Every form applies the same rule as `forerun stop` does to a log, without the forecast. Frameworks
are imported only by the function that makes something for them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.errors import PlannerError
from planner.scaling.logs.clock import Clock
from planner.scaling.logs.sink import series_of
from planner.scaling.logs.track import Track
from planner.scaling.stopping.clockwork import Clockwork
from planner.scaling.stopping.metric import metric_named
from planner.scaling.stopping.options import StopOptions
from planner.scaling.stopping.rule import ENDING, Judgement, judge

if TYPE_CHECKING:
    from optuna.pruners import BasePruner
    from optuna.study import Study
    from optuna.trial import FrozenTrial
    from transformers import TrainerCallback


class MarginalGainStopper:
    """Feed it evaluations; it says whether to go on.

    `metric` is the name of what is fed (its direction follows from it, or from `direction`); the
    other options are those of `StopOptions`. Time is measured from the construction on unless
    `update` is told it.

    >>> stopper = MarginalGainStopper(metric="val_loss")
    >>> for step in range(1, 41):
    ...     verdict = stopper.update(step * 100, 3.0 + 1.0 / step)
    >>> verdict, stopper.should_stop
    ('stop', True)
    """

    def __init__(self, *, metric: str = "val_loss", **options: Any) -> None:
        known = StopOptions.__dataclass_fields__
        for name in options:
            if name not in known:
                raise PlannerError("option", name, f"known: {', '.join(known)}")
        self.options = StopOptions(metric=metric, **options)
        self.metric = metric_named(metric, self.options.direction)
        self.judgement: Judgement | None = None
        self._values, self._training, self._clock = Track(), Track(), Clock()
        self._began = time.monotonic()

    @property
    def should_stop(self) -> bool:
        """Whether the last verdict ends the run."""
        return self.judgement is not None and self.judgement.verdict in ENDING

    def update(self, step: float, value: float, *, seconds: float | None = None) -> str:
        """One evaluation: the verdict after it. `seconds` is the training time so far."""
        elapsed = time.monotonic() - self._began if seconds is None else seconds
        return self.update_many([step], [value], seconds=[elapsed])

    def update_many(
        self, steps: Sequence[float], values: Sequence[float], *, seconds: Sequence[float]
    ) -> str:
        """Several evaluations at once, in order: the verdict after the last."""
        at = np.array(steps, dtype=np.float64)
        self._values.append(at, np.array(values, dtype=np.float64))
        self._clock.add_elapsed(at, np.array(seconds, dtype=np.float64))
        self.judgement = self._judged()
        return self.judgement.verdict

    def observe_training_loss(self, step: float, value: float) -> None:
        """A training loss beside the judged metric: lets divergence and NaN be seen early."""
        self._training.append(np.array([float(step)]), np.array([float(value)]))

    def _judged(self) -> Judgement:
        series = series_of(self.metric.name, self._values)
        training = series_of("training loss", self._training) if self._has_training() else None
        clock = Clockwork.over(series_of("seconds", self._clock.track), self.options)
        return judge(series, self.metric, clock, self.options, training=training)

    def _has_training(self) -> bool:
        return self._training.num_points + self._training.num_nonfinite > 0


def hugging_face_callback(*, metric: str = "eval_loss", **options: Any) -> TrainerCallback:
    """A callback for `transformers.Trainer`: stops training when the rule says so.

    `metric` is a key of the evaluation's metrics. In a job of many ranks use the default unit
    (doubling): every rank sees the same metrics, but not the same clock.
    """
    try:
        from transformers import TrainerCallback as Base
    except ImportError:
        raise PlannerError("transformers", "not installed", "pip install transformers") from None

    class StopCallback(Base):
        """Marginal-gain stopping."""

        def __init__(self) -> None:
            self.stopper = MarginalGainStopper(metric=metric, **options)

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **unused: Any
        ) -> None:
            if logs and isinstance(logs.get("loss"), int | float):
                self.stopper.observe_training_loss(state.global_step, logs["loss"])

        def on_evaluate(
            self, args: Any, state: Any, control: Any, metrics: Any = None, **unused: Any
        ) -> None:
            if not metrics or metric not in metrics:
                return  # the evaluation of another set
            self.stopper.update(state.global_step, float(metrics[metric]))
            if self.stopper.should_stop:
                control.should_training_stop = True

    return StopCallback()


class LightningHooks:
    """What a Lightning callback does, apart from its base class."""

    def __init__(self, *, metric: str = "val_loss", **options: Any) -> None:
        self.monitor = metric
        self.stopper = MarginalGainStopper(metric=metric, **options)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Judge the monitored metric after each validation, the sanity check left out."""
        metrics: Mapping[str, Any] = trainer.callback_metrics
        if trainer.sanity_checking or self.monitor not in metrics:
            return
        self.stopper.update(trainer.global_step, float(metrics[self.monitor]))
        if self.stopper.should_stop:
            trainer.should_stop = True


def lightning_callback(*, metric: str = "val_loss", **options: Any) -> LightningHooks:
    """A `Callback` for Lightning's Trainer (package `lightning` or `pytorch_lightning`)."""
    from importlib import import_module

    for package in ("lightning.pytorch", "pytorch_lightning"):
        try:
            base = import_module(f"{package}.callbacks").Callback
        except ImportError:
            continue
        kind = type("StopCallback", (LightningHooks, base), {})
        callback: LightningHooks = kind(metric=metric, **options)
        return callback
    raise PlannerError("lightning", "not installed", "pip install lightning")


def marginal_gain_pruner(*, metric: str = "objective", **options: Any) -> BasePruner:
    """An Optuna pruner: ends a trial whose reported values have stopped improving.

    A trial that diverges is pruned at once. One that merely gains too little is pruned only where
    its best value is no better than that of the study's best complete trial: a pruned trial can no
    longer win.
    """
    from optuna.exceptions import OptunaError
    from optuna.pruners import BasePruner as Base

    class MarginalGainPruner(Base):
        """Marginal-gain pruning."""

        def prune(self, study: Study, trial: FrozenTrial) -> bool:
            direction = "max" if study.direction.name == "MAXIMIZE" else "min"
            stopper = MarginalGainStopper(**{"metric": metric, "direction": direction, **options})
            if not trial.intermediate_values:
                return False
            steps, values = zip(*sorted(trial.intermediate_values.items()), strict=True)
            verdict = stopper.update_many([s + 1 for s in steps], values, seconds=steps)
            if verdict not in ENDING:
                return False
            return verdict == "diverged" or not self._leads(study, trial, direction)

        def _leads(self, study: Study, trial: FrozenTrial, direction: str) -> bool:
            sign = -1.0 if direction == "max" else 1.0
            values = [sign * v for v in trial.intermediate_values.values() if math.isfinite(v)]
            try:
                best = sign * study.best_value
            except (ValueError, OptunaError):  # no trial is complete
                return True
            return bool(values) and min(values) < best

    return MarginalGainPruner()
