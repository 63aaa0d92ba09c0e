"""Rules about stopping that hold before any number is known."""

from __future__ import annotations

_USUAL_EPOCHS = 3.0  # of a fine-tune; more than that overfits small sets
_DECAYING = ("cosine", "linear", "wsd")
_ENDED = 0.98  # of the planned steps


def stopping_advice(
    *,
    task: str = "pretrain",
    epochs: float | None = None,
    schedule: str | None = None,
    total_steps: float | None = None,
    stop_at: float | None = None,
) -> tuple[str, ...]:
    """What to heed when a run of this kind ends early.

    `task` is one of choices.TASKS; `schedule` one of choices.SCHEDULES; steps are optimizer steps.

    >>> stopping_advice(task="full-ft", epochs=15)
    ('stop by validation, expect 1-3 epochs: 15 epochs over a small set overfit it',)
    """
    told = []
    if task != "pretrain":
        planned = (
            f": {epochs:g} epochs over a small set overfit it"
            if epochs is not None and epochs > _USUAL_EPOCHS
            else ""
        )
        told.append(f"stop by validation, expect 1-3 epochs{planned}")
    early = stop_at is not None and total_steps is not None and stop_at < _ENDED * total_steps
    if task == "pretrain" and schedule in _DECAYING and early:
        told.append(
            "replan the schedule to the shorter horizon; do not report the "
            f"mid-{schedule} loss at step {stop_at:g} as the final loss of the shorter run"
        )
    return tuple(told)
