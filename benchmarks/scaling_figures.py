"""Draw the figures of docs/scaling.md as SVG.

python -m benchmarks.scaling_figures
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from benchmarks.scaling_families import families
from planner.scaling.allocation import optimum
from planner.scaling.bootstrap import bootstrap
from planner.scaling.fit import fit_runs
from planner.scaling.frontier import size_curve
from planner.scaling.laws import law

IMAGES = Path(__file__).resolve().parents[1] / "docs" / "images"
WIDTH, HEIGHT, MARGIN = 640, 360, 56  # pixels
COLOURS = ("#1b6ca8", "#c0392b", "#2e8b57", "#8e5ea2")


@dataclass(frozen=True, kw_only=True)
class Axes:
    """A plot with a log x axis and a linear y axis."""

    title: str
    x_label: str
    y_label: str
    x: tuple[float, float]  # decades
    y: tuple[float, float]
    parts: list[str] = field(default_factory=list)

    def at(self, x: float, y: float) -> tuple[float, float]:
        """Pixels of a point."""
        across = (np.log10(x) - self.x[0]) / (self.x[1] - self.x[0])
        up = (y - self.y[0]) / (self.y[1] - self.y[0])
        inner_width, inner_height = WIDTH - 2 * MARGIN, HEIGHT - 2 * MARGIN
        return MARGIN + across * inner_width, HEIGHT - MARGIN - up * inner_height

    def line(self, xs: np.ndarray, ys: np.ndarray, colour: str, width: float = 2) -> None:
        """A curve, clipped to the axes."""
        inside = [(x, y) for x, y in zip(xs, ys, strict=True) if self.y[0] <= y <= self.y[1]]
        points = " ".join("{:.1f},{:.1f}".format(*self.at(x, y)) for x, y in inside)
        style = f'fill="none" stroke="{colour}" stroke-width="{width}"'
        self.parts.append(f'<polyline points="{points}" {style}/>')

    def dots(self, xs: np.ndarray, ys: np.ndarray, colour: str) -> None:
        """Points, clipped to the axes."""
        for x, y in zip(xs, np.clip(ys, *self.y), strict=True):
            left, top = self.at(x, y)
            self.parts.append(
                f'<circle cx="{left:.1f}" cy="{top:.1f}" r="2.6" fill="{colour}" opacity="0.7"/>'
            )

    def text(self, x: float, y: float, words: str, colour: str = "#333") -> None:
        """A label whose left end is at a point."""
        left, top = self.at(x, y)
        self.parts.append(f'<text x="{left:.1f}" y="{top:.1f}" fill="{colour}">{words}</text>')

    def svg(self) -> str:
        """The whole drawing."""
        frame = (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
            'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="#fff"/>'
        )
        labels = (
            f'<text x="{MARGIN}" y="24" font-size="14">{self.title}</text>'
            f'<text x="{WIDTH / 2}" y="{HEIGHT - 12}" text-anchor="middle">{self.x_label}</text>'
            f'<text x="14" y="{HEIGHT / 2}" text-anchor="middle" '
            f'transform="rotate(-90 14 {HEIGHT / 2})">{self.y_label}</text>'
        )
        return "\n".join([frame, *self._ticks(), *self.parts, labels, "</svg>"]) + "\n"

    def _ticks(self) -> list[str]:
        lines = []
        for decade in range(int(np.ceil(self.x[0])), int(self.x[1]) + 1):
            left, bottom = self.at(10.0**decade, self.y[0])
            lines.append(
                f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{MARGIN}" y2="{bottom:.1f}" '
                f'stroke="#ddd"/><text x="{left:.1f}" y="{bottom + 16:.1f}" '
                f'text-anchor="middle">1e{decade}</text>'
            )
        for value in np.linspace(*self.y, 5):
            left, top = self.at(10 ** self.x[0], value)
            lines.append(
                f'<line x1="{left:.1f}" x2="{WIDTH - MARGIN}" y1="{top:.1f}" y2="{top:.1f}" '
                f'stroke="#ddd"/><text x="{left - 6:.1f}" y="{top + 4:.1f}" '
                f'text-anchor="end">{value:.3g}</text>'
            )
        return lines


def flat_optimum() -> Axes:
    """Loss against size at four budgets; the band within 0.5 % of the best is thick."""
    axes = Axes(
        title="The optimum is flat: loss against model size at a budget (besiroglu2024)",
        x_label="parameters; thick: within 0.5 % of the best loss",
        y_label="loss, nats per token",
        x=(7.5, 13),
        y=(1.9, 3.1),
    )
    for colour, flops in zip(COLOURS, (1e20, 1e21, 1e22, 1e24), strict=True):
        curve = size_curve(flops=flops, points=121)
        params, losses = (
            np.array([getattr(p, name) for p in curve]) for name in ("params", "loss")
        )
        axes.line(params, losses, colour, 1)
        flat = np.array([point.in_band for point in curve])
        axes.line(params[flat], losses[flat], colour, 5)
        best = optimum(flops=flops)
        assert best.loss is not None
        axes.text(params[-1], losses[-1] + 0.02, f"{flops:.0e} FLOP".replace("+", ""), colour)
    return axes


def worth_of_epochs() -> Axes:
    """Loss of a 1B model against tokens when only so many are unique."""
    axes = Axes(
        title="Repeated data: a 1 B model on ever more tokens (muennighoff2023)",
        x_label="training tokens",
        y_label="loss, nats per token",
        x=(9.5, 13),
        y=(2.1, 2.9),
    )
    tokens = np.geomspace(10**9.5, 1e13, 200)
    for colour, unique in zip(COLOURS, (5e9, 2e10, 1e11, np.inf), strict=True):
        losses = law("muennighoff2023").loss(1e9, tokens, unique_tokens=unique)
        axes.line(tokens, losses, colour)
        words = f"{unique / 1e9:.0f} B unique" if np.isfinite(unique) else "all unique"
        axes.text(3e12, float(losses[-1]) + 0.015, words, colour)
    return axes


def hold_out_residuals() -> Axes:
    """Epoch's runs against the law of those below 1e20 FLOP, with the 80 % interval."""
    family = families()[0]
    small, large = family.runs.take(~family.held_out), family.runs.take(family.held_out)
    fitted = bootstrap(fit_runs(small))
    axes = Axes(
        title="Fitted below 1e20 FLOP (blue), predicted above (red), 80 % interval (grey)",
        x_label="training FLOP",
        y_label="observed over predicted, %",
        x=(18, 22.2),
        y=(-6, 6),
    )
    forecast = fitted.forecast(large.params, large.tokens)
    for flops, low, high in zip(
        large.flops, forecast.low / forecast.value, forecast.high / forecast.value, strict=True
    ):
        axes.line(np.array([flops, flops]), 100 * np.array([low - 1, high - 1]), "#bbb", 3)
    for runs, colour in ((small, COLOURS[0]), (large, COLOURS[1])):
        predicted = fitted.fit.predict(runs.params, runs.tokens)
        axes.dots(runs.flops, 100 * (runs.losses / predicted - 1), colour)
    return axes


def main() -> None:
    """Write the three figures."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name, axes in (
        ("scaling-flat-optimum", flat_optimum()),
        ("scaling-repeated-data", worth_of_epochs()),
        ("scaling-hold-out", hold_out_residuals()),
    ):
        (IMAGES / f"{name}.svg").write_text(axes.svg(), encoding="utf-8")
        print(IMAGES / f"{name}.svg")


if __name__ == "__main__":
    main()
