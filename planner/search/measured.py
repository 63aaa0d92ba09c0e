"""Trials that really train: a user's torch module, some steps, each with other settings.

The objective is the time of one optimizer step of the whole global batch on this device. A setting
that runs out of memory breaks a constraint, and so does one whose loss or gradients leave those of
FP32 by more than a tolerance.
"""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from planner.errors import PlannerError
from planner.search.module_file import Subject
from planner.search.training_step import Outcome, Setting, measure

if TYPE_CHECKING:
    from optuna.trial import Trial

WORDS = {"precision": ("fp32", "bf16", "fp16"), "compile": ("none", "full")}
TOLERANCE = {"fp32": 1e-4, "bf16": 5e-2, "fp16": 2e-2}
"""Largest relative error of loss and gradient norm against FP32: some units of each format's last
place (2^-8 for bf16, 2^-11 for fp16) times the depth that errors add up over."""
STEPS, WARM_UP = 5, 1  # optimizer steps that are timed, and that are not


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What is tried: micro-batches that divide the global batch, formats, compilation."""

    global_batch: int  # samples of one optimizer step
    micro_batches: tuple[int, ...]
    precisions: tuple[str, ...]
    compiles: tuple[str, ...]

    def __post_init__(self) -> None:
        for micro in self.micro_batches:
            if self.global_batch % micro:
                remedy = f"must divide the global batch {self.global_batch}"
                raise PlannerError("micro_batch", micro, remedy)

    @property
    def size(self) -> int:
        return len(self.micro_batches) * len(self.precisions) * len(self.compiles)


class Measured:
    """The objective of a measured study: seconds of one optimizer step."""

    def __init__(
        self, subject: Subject, choices: Choices, device: str, *, steps: int = STEPS
    ) -> None:
        self._subject, self._choices, self._device = subject, choices, device
        self._steps = steps
        self._reference: Outcome | None = None

    def __call__(self, trial: Trial) -> float:
        import optuna

        setting = self._setting(trial)
        known = _same(trial, setting)
        if known is not None:
            return known
        outcome = measure(
            self._subject,
            setting,
            self._device,
            warm_up=WARM_UP,
            steps=self._steps,
            report=_Reporter(trial),
        )
        self._judge(trial, setting, outcome)
        if outcome.pruned:
            raise optuna.TrialPruned
        return statistics.median(outcome.seconds) if outcome.seconds else 1e9

    def _setting(self, trial: Trial) -> Setting:
        made = self._choices
        position = trial.suggest_int("micro_batch", 0, len(made.micro_batches) - 1)
        micro = made.micro_batches[position]
        return Setting(
            precision=trial.suggest_categorical("precision", made.precisions),
            compile=trial.suggest_categorical("compile", made.compiles),
            micro_batch=micro,
            accumulation=made.global_batch // micro,
        )

    def _judge(self, trial: Trial, setting: Setting, outcome: Outcome) -> None:
        """Write down what was seen, and which constraints it breaks."""
        trial.set_user_attr("setting", setting.words())
        trial.set_user_attr("seconds", list(outcome.seconds))
        trial.set_user_attr("peak_bytes", outcome.peak_bytes)
        trial.set_user_attr("failure", outcome.failure)
        trial.set_constraint("memory", 1.0 if outcome.out_of_memory else -1.0)
        trial.set_constraint("runs", 1.0 if outcome.failure else -1.0)
        error = self._error(setting, outcome)
        trial.set_user_attr("error", error)
        allowed = TOLERANCE[setting.precision]
        trial.set_constraint("numerics", -1.0 if error is None else error / allowed - 1)

    def _error(self, setting: Setting, outcome: Outcome) -> float | None:
        """Relative error of loss and gradient norm against FP32; None where none was computed."""
        if outcome.loss is None or outcome.gradient_norm is None:
            return None
        if self._reference is None:
            plain = Setting(
                precision="fp32",
                compile="none",
                micro_batch=self._choices.micro_batches[0],
                accumulation=self._choices.global_batch // self._choices.micro_batches[0],
            )
            self._reference = measure(self._subject, plain, self._device, warm_up=1, steps=0)
        truth = self._reference
        if truth.loss is None or truth.gradient_norm is None:
            return None
        pairs = ((outcome.loss, truth.loss), (outcome.gradient_norm, truth.gradient_norm))
        return max(_relative(mine, other) for mine, other in pairs)


def _relative(value: float, truth: float) -> float:
    """Infinite errors count as large, not as unknown."""
    error = abs(value - truth) / max(abs(truth), 1e-12)
    return error if error == error else 1e9


class _Reporter:
    """Tells the pruner the median so far; says when the trial is not worth going on with."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def __call__(self, number: int, seconds: list[float]) -> bool:
        self._trial.report(statistics.median(seconds), number)
        return self._trial.should_prune()


def _same(trial: Trial, setting: Setting) -> float | None:
    """The time of an earlier trial of the same setting, with all that it found out."""
    for other in trial.study.get_trials(deepcopy=False):
        if other.user_attrs.get("setting") == setting.words() and other.value is not None:
            for name in ("setting", "seconds", "peak_bytes", "failure", "error"):
                trial.set_user_attr(name, other.user_attrs.get(name))
            for name, value in other.constraints.items():
                trial.set_constraint(name, value)
            trial.set_user_attr("repeats", other.number)
            return float(other.value)
    return None


def as_rows(trials: list[Any]) -> list[dict[str, Any]]:
    """What the trials measured, the fastest that keep every constraint first."""
    rows = [
        {
            **trial.user_attrs["setting"],
            "state": trial.state.name.lower(),
            "seconds": trial.value if trial.user_attrs.get("seconds") else None,
            "peak_bytes": trial.user_attrs.get("peak_bytes"),
            "error": trial.user_attrs.get("error"),
            "failure": trial.user_attrs.get("failure"),
            "feasible": trial.state.name == "COMPLETE"
            and all(value <= 0 for value in trial.constraints.values()),
        }
        for trial in trials
        if "setting" in trial.user_attrs and "repeats" not in trial.user_attrs
    ]
    return sorted(rows, key=lambda row: (not row["feasible"], row["seconds"] or float("inf")))
