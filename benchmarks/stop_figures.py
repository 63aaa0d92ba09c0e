"""Draw the figure of docs/stopping.md as SVG.

python -m benchmarks.stop_figures
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.curve_forecast import FOLDER
from benchmarks.scaling_figures import COLOURS, IMAGES, Axes
from planner.scaling.curves import forecast_curve, named_schedule, schedule_of
from planner.scaling.curves.annealing import published_prior
from planner.scaling.logs import read_log


def unseen_decay(path: Path) -> Axes:
    """Forecasts from the first half of a warm-up-stable-decay run, with and without schedule."""
    log = read_log(path)
    loss = log.metrics["loss"]
    end = float(loss.steps[-1])
    known = schedule_of(log.learning_rate, last_step=end, total_steps=end)
    assert known is not None
    seen = loss.steps <= 0.5 * end
    part = loss.steps[seen], loss.values[seen]
    prior = published_prior(without=path.name.split("_")[0])
    aware = forecast_curve(*part, known.schedule, prior=prior)
    blind = forecast_curve(
        *part, named_schedule("constant", end), schedule_aware=False, prior=prior
    )
    assert aware is not None
    assert blind is not None
    axes = Axes(
        title="A decay that the log does not show yet (100M model, 24,000 steps)",
        x_label="step",
        y_label="loss",
        x=(np.log10(6000.0), np.log10(25000.0)),
        y=(2.84, 3.26),
    )
    axes.dots(loss.steps[~seen][::2], loss.values[~seen][::2], "#999")
    drawn = part[0] >= 6000.0
    axes.dots(*(values[drawn][::2] for values in part), COLOURS[0])
    axes.line(blind.steps, blind.middle, COLOURS[1])
    axes.line(aware.steps, aware.middle, COLOURS[2])
    for bound in (aware.low, aware.high):
        axes.line(aware.steps, bound, COLOURS[2], width=0.8)
    axes.text(8000, 3.22, "seen", COLOURS[0])
    axes.text(16200, 3.03, "what followed", "#999")
    axes.text(13200, 3.14, "schedule unknown, taken as constant", COLOURS[1])
    axes.text(10500, 2.93, "schedule known, with its 80 % interval", COLOURS[2])
    return axes


def main() -> None:
    name = "stopping-unseen-decay.svg"
    (IMAGES / name).write_text(unseen_decay(FOLDER / "100M_wsd_20000_24000.csv").svg())
    print(name)


if __name__ == "__main__":
    main()
