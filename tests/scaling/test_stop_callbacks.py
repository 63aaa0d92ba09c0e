"""The stop rule ends real loops: plain Python, Hugging Face, Lightning, Optuna."""

from __future__ import annotations

import math
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from planner.errors import PlannerError
from planner.scaling.callback import (
    LightningHooks,
    MarginalGainStopper,
    hugging_face_callback,
    lightning_callback,
    marginal_gain_pruner,
)


def steps_until_stop(stopper: MarginalGainStopper, values: list[float]) -> int | None:
    for number, value in enumerate(values, start=1):
        stopper.update(100 * number, value, seconds=3600.0 * number)
        if stopper.should_stop:
            return number
    return None


def test_a_loop_stops_when_doublings_no_longer_pay() -> None:
    values = [2.0 + 1.0 / number for number in range(1, 200)]
    stopped = steps_until_stop(MarginalGainStopper(threshold=0.015), values)
    assert stopped is not None
    assert 25 <= stopped <= 40


def test_a_loop_that_still_gains_goes_on() -> None:
    values = [4.0 * number**-0.3 for number in range(1, 100)]
    assert steps_until_stop(MarginalGainStopper(), values) is None


def test_a_loop_that_overfits_stops_within_a_few_evaluations() -> None:
    values = [1.0, 0.8, 0.7, 0.65, 0.63, 0.66, 0.71, 0.78, 0.9]
    assert steps_until_stop(MarginalGainStopper(), values) in (7, 8, 9)


def test_an_hourly_rule_uses_the_seconds_it_is_told() -> None:
    values = [4.0 * number**-0.3 for number in range(1, 100)]
    stopped = steps_until_stop(MarginalGainStopper(unit="hour"), values)
    assert stopped is not None
    assert 10 < stopped < 40


def test_nan_of_the_training_loss_ends_the_loop() -> None:
    stopper = MarginalGainStopper()
    for number in range(1, 8):
        stopper.observe_training_loss(100 * number, 3.0 if number < 6 else math.nan)
        stopper.update(100 * number, 4.0 * number**-0.3)
    assert stopper.should_stop
    assert stopper.judgement is not None
    assert stopper.judgement.verdict == "diverged"


def test_an_accuracy_is_known_to_rise() -> None:
    values = [0.9 - 0.5 * number**-0.5 for number in range(1, 10)]
    stopper = MarginalGainStopper(metric="accuracy")
    assert steps_until_stop(stopper, values) is None
    assert stopper.judgement is not None
    assert stopper.judgement.doubling.value is not None
    assert stopper.judgement.doubling.value > 0


def test_an_unknown_option_is_refused() -> None:
    with pytest.raises(PlannerError, match="threshold"):
        MarginalGainStopper(treshold=0.01)


def small_trainer(folder: Any, callback: Any, values: list[float]) -> Any:
    """A real Trainer on a linear model whose evaluation loss follows `values`."""
    import torch
    from transformers import Trainer, TrainingArguments

    class Linear(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def forward(self, x: Any, labels: Any) -> dict[str, Any]:
            out = self.layer(x)
            return {"loss": torch.nn.functional.mse_loss(out, labels), "logits": out}

    class Scripted(Trainer):  # type: ignore[misc]
        def evaluation_loop(self, *args: Any, **options: Any) -> Any:
            found = super().evaluation_loop(*args, **options)
            found.metrics["eval_loss"] = values[self.state.global_step // 2 - 1]
            return found

    data = [{"x": torch.randn(2), "labels": torch.randn(1)} for _ in range(8)]
    arguments = TrainingArguments(
        output_dir=str(folder),
        max_steps=2 * len(values),
        per_device_train_batch_size=4,
        eval_strategy="steps",
        eval_steps=2,
        logging_steps=2,
        save_strategy="no",
        report_to=[],
        use_cpu=True,
        disable_tqdm=True,
    )
    return Scripted(
        model=Linear(),
        args=arguments,
        train_dataset=data,
        eval_dataset=data,
        callbacks=[callback],
    )


@pytest.mark.filterwarnings("ignore")  # of torch and transformers, about this machine
def test_a_hugging_face_trainer_is_stopped(tmp_path: Any) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="the Trainer needs accelerate")
    overfits = [1.0, 0.8, 0.7, 0.65, 0.63, 0.66, 0.71, 0.78, 0.9, 1.0, 1.1, 1.2]
    callback = hugging_face_callback()
    trainer = small_trainer(tmp_path, callback, overfits)
    trainer.train()
    assert trainer.state.global_step in (14, 16, 18)
    assert callback.stopper.judgement.verdict == "stop"


def test_the_hugging_face_callback_speaks_the_trainers_protocol() -> None:
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    callback = hugging_face_callback(metric="eval_loss")
    handler = transformers.trainer_callback.CallbackHandler([callback], None, None, None, None)
    state, control = transformers.TrainerState(), transformers.TrainerControl()
    values = [1.0, 0.8, 0.7, 0.65, 0.63, 0.66, 0.71, 0.78, 0.9]
    for number, value in enumerate(values, start=1):
        state.global_step = 10 * number
        handler.on_log(None, state, control, {"loss": value})
        handler.on_evaluate(None, state, control, {"eval_other_loss": 9.0})
        control = handler.on_evaluate(None, state, control, {"eval_loss": value})
    assert control.should_training_stop
    assert callback.stopper.judgement.verdict == "stop"


def test_lightning_hooks_stop_the_trainer_after_validations() -> None:
    hooks = LightningHooks(metric="val_loss")
    trainer = SimpleNamespace(
        callback_metrics={"val_loss": 9.0}, global_step=0, sanity_checking=True, should_stop=False
    )
    hooks.on_validation_end(trainer, None)
    assert hooks.stopper.judgement is None, "the sanity check is no evaluation"
    trainer.sanity_checking = False
    for number, value in enumerate([1.0, 0.8, 0.7, 0.65, 0.63, 0.66, 0.71, 0.78, 0.9], start=1):
        trainer.global_step, trainer.callback_metrics = 10 * number, {"val_loss": value}
        hooks.on_validation_end(trainer, None)
    assert trainer.should_stop


def test_lightning_is_named_when_it_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for package in ("lightning.pytorch", "pytorch_lightning"):
        monkeypatch.setitem(sys.modules, f"{package}.callbacks", None)  # as if not installed
    with pytest.raises(PlannerError, match="pip install lightning"):
        lightning_callback()


def study_of(direction: str, curves: list[list[float]]) -> Any:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(direction=direction, pruner=marginal_gain_pruner())

    def objective(trial: Any) -> float:
        curve = curves[trial.number]
        for step, value in enumerate(curve):
            trial.report(value, step)
            if trial.should_prune():
                raise optuna.TrialPruned
        return curve[-1]

    study.optimize(objective, n_trials=len(curves))
    return study


def states(study: Any) -> list[str]:
    return [trial.state.name for trial in study.trials]


GOOD = [4.0 * (step + 1) ** -0.5 for step in range(40)]
STUCK = [3.0 + 0.5 / (step + 1) for step in range(40)]
BROKEN = [*GOOD[:10], *([9.0] * 30)]


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_an_optuna_study_prunes_the_stuck_and_the_broken() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    study = study_of("minimize", [GOOD, STUCK, BROKEN, GOOD])
    assert states(study) == ["COMPLETE", "PRUNED", "PRUNED", "COMPLETE"]
    pruned = study.trials[1]
    assert len(pruned.intermediate_values) < len(STUCK)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_trial_that_may_win_is_not_pruned() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    better = [0.1 + 0.02 / (step + 1) for step in range(40)]
    assert states(study_of("minimize", [GOOD, better])) == ["COMPLETE", "COMPLETE"]
    assert states(study_of("minimize", [STUCK])) == ["COMPLETE"]


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")
def test_a_study_that_maximises_is_read_the_other_way() -> None:
    pytest.importorskip("optuna", reason="optuna is not installed")
    rising = [0.9 - 0.8 * (step + 1) ** -0.5 for step in range(40)]
    stuck = [0.5 - 0.1 / (step + 1) for step in range(40)]
    assert states(study_of("maximize", [rising, stuck])) == ["COMPLETE", "PRUNED"]


@pytest.mark.filterwarnings("ignore")  # of torch and Lightning, about this machine
def test_a_lightning_trainer_is_stopped() -> None:
    pl = pytest.importorskip("lightning.pytorch", reason="lightning is not installed")
    import torch

    overfits = [1.0, 0.8, 0.7, 0.65, 0.63, 0.66, 0.71, 0.78, 0.9, 1.0, 1.1, 1.2]

    class Scripted(pl.LightningModule):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch: Any, index: int) -> Any:
            return self.layer(batch[0]).pow(2).mean()

        def validation_step(self, batch: Any, index: int) -> None:
            self.log("val_loss", overfits[self.trainer.current_epoch])

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=0.01)

    callback = lightning_callback()
    data = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(torch.randn(8, 2)), batch_size=4
    )
    trainer = pl.Trainer(
        max_epochs=len(overfits),
        accelerator="cpu",
        callbacks=[callback],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.fit(Scripted(), data, data)
    assert trainer.current_epoch in (7, 8, 9)
    assert callback.stopper.judgement is not None
    assert callback.stopper.judgement.verdict == "stop"
