"""Operations that memory bounds: norms, softmax, activations, additions, loss, embedding."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from profiles.device import Device
from profiles.formats import BYTES, EPSILON
from profiles.kernels.kernel import Kernel, Ready, random, relative, wide

_ROWS = 8  # rows that are checked

NAMES = ("layer_norm", "rms_norm", "softmax", "gelu", "silu", "add", "dropout")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Passes:
    """Tensors of the whole size that are read and written."""

    forward: int
    backward: int


_PASSES = {  # compulsory: inputs once, outputs once
    "layer_norm": _Passes(forward=2, backward=3),
    "rms_norm": _Passes(forward=2, backward=3),
    "softmax": _Passes(forward=2, backward=3),
    "gelu": _Passes(forward=2, backward=3),
    "silu": _Passes(forward=2, backward=3),
    "add": _Passes(forward=3, backward=0),
    "dropout": _Passes(forward=2, backward=2),
}


def pointwise(
    name: str, rows: int, width: int, format: str, *, backward: bool = False, cold: bool = False
) -> Kernel:
    """One of `NAMES` over (rows, width); with `backward`, forward and backward together."""
    assert name in NAMES
    passes = _PASSES[name]
    count = passes.forward + (passes.backward if backward else 0)
    elements = rows * width
    return Kernel(
        name=f"{name}_backward" if backward else name,
        format=format,
        shape={"rows": rows, "width": width},
        flops=0.0,
        bytes=float(count * elements * BYTES[format]),
        held=float((count + 2) * elements * BYTES[format]),
        make=lambda device: _make(device, name, rows, width, format, backward),
        tolerance=0.0 if name == "dropout" else 16 * EPSILON[format],
        mode="cold" if cold else "steady",
    )


def _function(torch: Any, name: str, other: Any, width: int) -> Callable[[Any], Any]:
    f = torch.nn.functional
    functions: dict[str, Callable[[Any], Any]] = {
        "layer_norm": lambda x: f.layer_norm(x, (width,)),
        "rms_norm": lambda x: f.rms_norm(x, (width,)),
        "softmax": lambda x: f.softmax(x, -1),
        "gelu": f.gelu,
        "silu": f.silu,
        "add": lambda x: x + other[: len(x)].to(x),
        "dropout": lambda x: f.dropout(x, 0.1),
    }
    return functions[name]


def _make(device: Device, name: str, rows: int, width: int, format: str, backward: bool) -> Ready:
    torch = device.torch
    x = random(device, rows, width, format=format)
    other = random(device, rows, width, format=format) if name == "add" else None
    function = _function(torch, name, other, width)

    def error() -> float | None:
        if name == "dropout":
            return None
        with torch.no_grad():
            wanted = function(wide(x[:_ROWS]))
            return relative(function(x)[:_ROWS], wanted)

    if not backward:
        return Ready(lambda: function(x), error)
    x.requires_grad_()
    gradient = torch.randn_like(x)
    return Ready(lambda: torch.autograd.grad(function(x), x, gradient), error)


def cross_entropy(rows: int, vocab: int, format: str) -> Kernel:
    """Loss over logits in a format, forward and backward, as torch computes it."""
    elements = rows * vocab
    return Kernel(
        name="cross_entropy_backward",
        format=format,
        shape={"rows": rows, "vocab": vocab},
        flops=0.0,
        bytes=float(3 * elements * BYTES[format]),
        held=float(4 * elements * max(4, BYTES[format])),
        make=lambda device: _make_loss(device, rows, vocab, format),
        tolerance=16 * EPSILON[format],
    )


def _make_loss(device: Device, rows: int, vocab: int, format: str) -> Ready:
    torch = device.torch
    logits = random(device, rows, vocab, format=format).requires_grad_()
    targets = torch.randint(vocab, (rows,), device=device.label)
    loss = torch.nn.functional.cross_entropy

    def error() -> float:
        wanted = loss(wide(logits[:_ROWS]), targets[:_ROWS].cpu(), reduction="none")
        with torch.no_grad():
            return relative(loss(logits[:_ROWS], targets[:_ROWS], reduction="none"), wanted)

    return Ready(lambda: torch.autograd.grad(loss(logits, targets), logits), error)


def embedding(rows: int, vocab: int, width: int, format: str) -> Kernel:
    """Gather of `rows` tokens, and the scatter of their gradients into a dense matrix."""
    gathered = rows * width * BYTES[format]
    return Kernel(
        name="embedding_backward",
        format=format,
        shape={"rows": rows, "vocab": vocab, "width": width},
        flops=0.0,
        bytes=float(4 * gathered + vocab * width * BYTES[format]),
        held=float(4 * gathered + 2 * vocab * width * BYTES[format]),
        make=lambda device: _make_embedding(device, rows, vocab, width, format),
    )


def _make_embedding(device: Device, rows: int, vocab: int, width: int, format: str) -> Ready:
    torch = device.torch
    table = random(device, vocab, width, format=format).requires_grad_()
    tokens = torch.randint(vocab, (rows,), device=device.label)
    gradient = random(device, rows, width, format=format)
    look_up = torch.nn.functional.embedding
    return Ready(
        lambda: torch.autograd.grad(look_up(tokens, table), table, gradient),
        lambda: relative(look_up(tokens, table)[:_ROWS], wide(table[tokens[:_ROWS]])),
    )
