"""Forecast the final loss of published curves from their first part.

`python -m benchmarks.curve_forecast [FOLDER]` reads the curves of arXiv:2503.12811 (three sizes of
model, nine schedules; columns step, lr, loss). Only the first part of a curve is fitted; the whole
schedule is known, the losses of the rest are not. The constants that the fit starts from come from
the published sizes *other than the curve's own*, so that nothing of its second half is used.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from planner.scaling.curves import Schedule, forecast_curve, named_schedule, schedule_of
from planner.scaling.curves.annealing import published_prior
from planner.scaling.logs import Series, read_log

FRACTIONS = (0.3, 0.5, 0.7)
WANTED = {0.3: (1.0, None), 0.5: (0.7, 2.0), 0.7: (None, None)}  # median and worst, per cent
FOLDER = Path(__file__).resolve().parents[1] / ".." / "shared" / "data" / "scaling" / "multipower"


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecasted:
    """Relative errors of a final loss, in per cent."""

    error: float  # with the schedule
    covered: bool  # by the interval of 80 %
    blind: float  # of the same form without knowledge of the schedule


def forecasted(loss: Series, schedule: Schedule, size: str, fraction: float) -> Forecasted:
    """Fit the first `fraction` of the steps, compare with the last loss."""
    end, final = float(loss.steps[-1]), float(loss.values[-1])
    seen = loss.steps <= fraction * end
    prior = published_prior(without=size)
    steps, values = loss.steps[seen], loss.values[seen]
    aware = forecast_curve(steps, values, schedule, prior=prior)
    constant = named_schedule("constant", end)
    blind = forecast_curve(steps, values, constant, schedule_aware=False, prior=prior)
    assert aware is not None
    assert blind is not None
    return Forecasted(
        error=100.0 * (aware.final_loss / final - 1.0),
        covered=aware.final_low <= final <= aware.final_high,
        blind=100.0 * (blind.final_loss / final - 1.0),
    )


def study(folder: Path) -> dict[str, dict[float, Forecasted]]:
    """Every curve at every fraction."""
    found = {}
    for path in sorted(folder.glob("*.csv")):
        log = read_log(path)
        loss = log.metrics["loss"]
        end = float(loss.steps[-1])
        known = schedule_of(log.learning_rate, last_step=end, total_steps=end)
        assert known is not None
        size = path.name.split("_")[0]
        found[path.stem] = {f: forecasted(loss, known.schedule, size, f) for f in FRACTIONS}
    return found


def main(folder: Path) -> int:
    if not folder.is_dir():
        print(f"no curves in {folder}: give the folder of the multi-power curves", file=sys.stderr)
        return 2
    found = study(folder)
    print("error of the final loss, %, with the schedule known (in brackets: taken as constant)\n")
    print(f"{'curve':24}" + "".join(f"{f'from {f:.0%}':>18}" for f in FRACTIONS))
    for name, row in found.items():
        cells = (f"{row[f].error:+.2f} ({row[f].blind:+.2f})" for f in FRACTIONS)
        print(f"{name:24}" + "".join(f"{cell:>18}" for cell in cells))
    print()
    for fraction in FRACTIONS:
        errors = np.abs([row[fraction].error for row in found.values()])
        blind = np.abs([row[fraction].blind for row in found.values()])
        covered = np.mean([row[fraction].covered for row in found.values()])
        median, worst = WANTED[fraction]
        print(
            f"from {fraction:.0%}: median {np.median(errors):.2f} (wanted < {median or '-'}), "
            f"worst {errors.max():.2f} (wanted < {worst or '-'}), 80 % interval holds "
            f"{covered:.0%}; schedule unknown: median {np.median(blind):.2f}, "
            f"worst {blind.max():.2f}"
        )
    return 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER))
