"""A real training step of a torch module: forward, backward, optimizer, in a chosen format."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from profiles.device import Device
from profiles.errors import ProfileError

PRECISIONS = ("fp32", "tf32", "bf16", "fp16", "pure-bf16", "fp64")
COMPILES = ("none", "regional", "full")
OPTIMIZERS = ("adamw", "adamw-foreach", "adamw-fused", "sgd", "sgd-momentum", "none")

_RATE = 1e-4


@dataclass(slots=True)
class TrainingStep:
    """The three phases of one optimizer step; calling it runs them all."""

    forward: Callable[[], Any]  # returns the loss
    backward: Callable[[Any], None]
    update: Callable[[], None]

    def __call__(self) -> None:
        loss = self.forward()
        self.backward(loss)
        self.update()


def training_step(
    model: Any,
    batch: Callable[[], tuple[Any, Any]],
    loss_of: Callable[[Any, Any], Any],
    device: Device,
    *,
    precision: str = "fp32",
    optimizer: str = "adamw",
    compile: str = "none",
    accumulation: int = 1,
) -> TrainingStep:
    """Steps of `model` on `device` over what `batch()` gives: inputs and targets.

    bf16 and fp16 are torch's autocast over FP32 weights, fp16 with a gradient scaler; pure-bf16
    has weights, gradients and optimizer states in BF16. `regional` compiles each member of the
    model's lists of layers, `full` the whole model. Raises ProfileError for unknown words.
    """
    for name, word, words in (
        ("precision", precision, PRECISIONS),
        ("optimizer", optimizer, OPTIMIZERS),
        ("compile", compile, COMPILES),
    ):
        if word not in words:
            raise ProfileError(name, word, f"one of {', '.join(words)}")
    torch = device.torch
    model = model.to(device.label, _weights(torch, precision)).train()
    run = _compiled(torch, model, compile)
    stepper = _optimizer(torch, optimizer, model.parameters())
    scaler = torch.amp.GradScaler(device.kind, enabled=precision == "fp16")
    cast = torch.autocast(
        device.kind,
        dtype=torch.float16 if precision == "fp16" else torch.bfloat16,
        enabled=precision in ("bf16", "fp16"),
    )

    def forward() -> Any:
        total = None
        for _ in range(accumulation):
            inputs, targets = batch()
            with cast:
                loss = loss_of(run(inputs), targets) / accumulation
            if total is not None:  # all but the last micro-batch go back at once
                scaler.scale(total).backward()
            total = loss
        return total

    def update() -> None:
        if stepper is not None:
            scaler.step(stepper)
            scaler.update()
        model.zero_grad(set_to_none=True)

    return TrainingStep(
        forward=forward, backward=lambda loss: scaler.scale(loss).backward(), update=update
    )


def _weights(torch: Any, precision: str) -> Any:
    return {"pure-bf16": torch.bfloat16, "fp64": torch.float64}.get(precision, torch.float32)


def _compiled(torch: Any, model: Any, compile: str) -> Any:
    if compile == "full":
        return torch.compile(model)
    if compile == "regional":
        lists = [each for each in model.modules() if isinstance(each, torch.nn.ModuleList)]
        if not lists:
            raise ProfileError("compile", compile, "the model has no list of layers; use full")
        for layers in lists:
            for layer in layers:
                layer.compile()
    return model


def _optimizer(torch: Any, name: str, parameters: Any) -> Any:
    if name == "none":
        return None
    if name.startswith("sgd"):
        momentum = 0.9 if name.endswith("momentum") else 0.0
        return torch.optim.SGD(parameters, lr=_RATE, momentum=momentum)
    variants: dict[str, dict[str, bool]] = {
        "adamw": {},
        "adamw-foreach": {"foreach": True},
        "adamw-fused": {"fused": True},
    }
    return torch.optim.AdamW(parameters, lr=_RATE, **variants[name])


def transformer_step(
    model: Any, device: Device, *, vocab: int, micro_batch: int, seq_len: int, **settings: Any
) -> TrainingStep:
    """Next-token steps over random tokens; `settings` as `training_step` takes them."""
    torch = device.torch

    def batch() -> tuple[Any, Any]:
        tokens = torch.randint(vocab, (micro_batch, seq_len + 1), device=device.label)
        return tokens[:, :-1], tokens[:, 1:]

    def loss_of(logits: Any, targets: Any) -> Any:
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    return training_step(model, batch, loss_of, device, **settings)
