"""The size-scaling study as a figure."""

from __future__ import annotations

from pathlib import Path

from profiles.diffusion import Study
from profiles.errors import ProfileError
from profiles.figure import Line, svg


def write_figure(study: Study, path: Path) -> None:
    """Seconds a step against the grid's side: NumPy, torch, and torch without waiting for it."""
    lines = [
        Line(name="NumPy, one thread", points=[(r.side, r.numpy_s) for r in study.rows]),
        Line(name="torch", points=[(r.side, r.torch_s) for r in study.rows]),
        Line(
            name="torch, unsynchronised", points=[(r.side, r.unsynchronised_s) for r in study.rows]
        ),
    ]
    text = svg(f"2-D diffusion on {study.device}", "side of the grid, cells", "s a step", lines)
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        remedy = f"cannot be written: {error.strerror}"
        raise ProfileError("--figure", str(path), remedy) from error
