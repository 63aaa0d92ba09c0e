"""What all figures share: colours that read on light and on dark, frame, toolbar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from plotly.graph_objects import Figure

ACCENT = "#2f7fd6"
GOOD, DOUBT, BAD = "#179c6d", "#c48a0a", "#d5484f"
QUIET = "#8a94a3"
GRID = "rgba(128,136,148,0.22)"
AXIS = "rgba(128,136,148,0.6)"

COLOURS = {
    # a step's parts: computing blue, done again violet, talking orange, waiting grey
    "matmul": "#2f7fd6",
    "attention": "#5aa2ea",
    "output_layer": "#1f5ca8",
    "elementwise": "#8fc1f2",
    "casts": "#b3d4f5",
    "embedding": "#174a87",
    "routing": "#3aa5b8",
    "recompute": "#8b6fd1",
    "sharding": "#e0862f",
    "data_parallel": "#f0a95c",
    "tensor_parallel": "#c9661a",
    "context_parallel": "#b8812e",
    "expert_parallel": "#d9722b",
    "pipeline": "#8a94a3",
    "launch": "#a9b1bd",
    "overhead": "#737d8c",
    "input": "#b8812e",
    "accumulation": "#5fae93",
    "optimizer": "#179c6d",
    "offload": "#b55a86",
    "page_mapping": "#c77fa3",
    # memory
    "weights": "#2f7fd6",
    "gradients": "#5aa2ea",
    "master_weights": "#1f5ca8",
    "moments": "#8fc1f2",
    "frozen": "#3aa5b8",
    "gathered": "#e0862f",
    "activations": "#8b6fd1",
    "logits": "#b55a86",
    "working": "#5fae93",
    "buffers": "#c9661a",
    "reserve": "#a9b1bd",
    "context": "#737d8c",
    # a run
    "training": "#2f7fd6",
    "evaluation": "#3aa5b8",
    "checkpoints": "#e0862f",
    "startup": "#8a94a3",
    "failures": "#d5484f",
    # number formats
    "fp64": "#8b6fd1",
    "fp32": "#2f7fd6",
    "tf32": "#3aa5b8",
    "fp16": "#e0862f",
    "bf16": "#179c6d",
    "fp8": "#b55a86",
    "int8": "#b8812e",
}
_SPARE = ("#3aa5b8", "#b55a86", "#5fae93", "#b8812e", "#6f7fc4")

TOOLBAR: dict[str, Any] = {
    "displaylogo": False,
    "modeBarButtons": [["toImage"]],
}
FIGURE_FORMATS = ("png", "svg")  # that the camera of a figure saves
_SCALE = {"png": 2, "svg": 1}  # a vector needs no more dots


def toolbar(name: str, saved_as: str) -> dict[str, Any]:
    """A figure's toolbar: its camera saves `forerun-NAME` in one of `FIGURE_FORMATS`.

    >>> toolbar("step", "svg")["toImageButtonOptions"]
    {'format': 'svg', 'scale': 1, 'filename': 'forerun-step'}
    """
    assert saved_as in FIGURE_FORMATS, saved_as
    saved = {"format": saved_as, "scale": _SCALE[saved_as], "filename": f"forerun-{name}"}
    return TOOLBAR | {"toImageButtonOptions": saved}


def colour(name: str) -> str:
    """The colour of a part, the same in every figure and table; a spare one for a new part."""
    return COLOURS.get(name) or _SPARE[sum(map(ord, name)) % len(_SPARE)]


def framed(figure: Figure, *, height: int, left: int = 8) -> Figure:
    """The common frame: no background, quiet grid, no legend (the table beside is the legend)."""
    figure.update_layout(
        height=height,
        margin={"l": left, "r": 12, "t": 12, "b": 8},
        paper_bgcolor="rgba(0,0,0,0)",
        plot_bgcolor="rgba(0,0,0,0)",
        showlegend=False,
        bargap=0.28,
        hoverlabel={"align": "left"},
        dragmode=False,
        modebar={"bgcolor": "rgba(0,0,0,0)", "color": QUIET, "activecolor": ACCENT},
    )
    figure.update_xaxes(gridcolor=GRID, zeroline=False, automargin=True, tickfont_size=12)
    figure.update_yaxes(gridcolor=GRID, zeroline=False, automargin=True, tickfont_size=12)
    return figure
