"""One forward and backward pass of a user's module on fake tensors."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import torch
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    FakeTensorMode,
    unset_fake_temporarily,
)
from torch.utils.checkpoint import checkpoint

from planner.tracing.recorder import GRADIENTS, STATES, Recorder, Step
from planner.tracing.substitutes import substitutes

if TYPE_CHECKING:
    from planner.search.module_file import Subject

FORMATS = ("fp32", "mixed", "pure-bf16")  # of a trace; mixed: autocast over FP32 weights


class NotAModuleError(Exception):
    """The user's function, batch or loss gives something that cannot be trained."""


def traced(subject: Subject, number_format: str, recompute: str, batches: tuple[int, ...]) -> Any:
    """(module, one Step for each size of `batches`) in one format."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    with mode, _default(number_format), substitutes():
        torch.manual_seed(0)
        module = built(subject, mode)
        if recompute == "full":
            checkpoint_units(module)
        recorder = Recorder()
        with recorder:
            recorder.label((each.data for each in module.parameters()), STATES)
            recorder.label(module.buffers(), STATES)
            label = _label_gradient(recorder)
            hooks = [
                each.register_post_accumulate_grad_hook(label)  # type: ignore[no-untyped-call]
                for each in module.parameters()
                if each.requires_grad
            ]
            steps = [_step(recorder, subject, module, number_format, size) for size in batches]
            for hook in hooks:
                hook.remove()
    return module, steps


@contextmanager
def _default(number_format: str) -> Iterator[None]:
    """Weights and inputs are made in this format: converting fake ones is not possible."""
    kept, fused = torch.get_default_dtype(), bool(torch.backends.mkldnn.enabled)
    torch.set_default_dtype(torch.bfloat16 if number_format == "pure-bf16" else torch.float32)
    _fuse(False)  # its recurrent layers keep nothing as others do
    try:
        yield
    finally:
        torch.set_default_dtype(kept)
        _fuse(fused)


def _fuse(enabled: bool) -> None:
    setattr(torch.backends.mkldnn, "enabled", enabled)  # noqa: B010 - typed as its getter


def built(subject: Subject, mode: FakeTensorMode | None = None) -> torch.nn.Module:
    """The user's module, ready to train. Raises NotAModuleError.

    A constructor that reads values, such as rates of stochastic depth by `linspace().item()`, runs
    on real tensors, which then become fake ones of `mode`.
    """
    try:
        module = subject.build()
    except DataDependentOutputException:
        if mode is None:
            raise
        with unset_fake_temporarily():
            module = subject.build()
        if isinstance(module, torch.nn.Module):
            _fake(module, mode)
    if not isinstance(module, torch.nn.Module):
        raise NotAModuleError(f"returns {type(module).__name__}, not a torch module")
    if not any(each.requires_grad and each.numel() for each in module.parameters()):
        raise NotAModuleError("has no parameter to train")
    return module.train()


def _fake(module: torch.nn.Module, mode: FakeTensorMode) -> None:
    """Every parameter and buffer as a fake tensor; shared ones stay shared."""
    made: dict[int, Any] = {}
    for each in module.modules():
        for name, parameter in each._parameters.items():
            if parameter is not None:
                if id(parameter) not in made:
                    fake = mode.from_tensor(parameter.data)
                    made[id(parameter)] = torch.nn.Parameter(fake, parameter.requires_grad)
                each._parameters[name] = made[id(parameter)]
        for name, buffer in each._buffers.items():
            if buffer is not None:
                each._buffers[name] = made.setdefault(id(buffer), mode.from_tensor(buffer))


def _label_gradient(recorder: Recorder) -> Any:
    def label(parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            recorder.label([parameter.grad], GRADIENTS)

    return label


def _step(
    recorder: Recorder, subject: Subject, module: torch.nn.Module, number_format: str, size: int
) -> Step:
    """Forward, loss and backward of `size` samples; gradients start absent and are gone after."""
    module.zero_grad(set_to_none=True)
    batch = _batch(subject, size)
    step = recorder.start()
    autocast = torch.autocast("cpu", torch.bfloat16)
    with autocast if number_format == "mixed" else nullcontext():
        loss = _loss(subject, module, batch)
    if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
        raise NotAModuleError("its loss is not one number")
    if not loss.requires_grad:
        raise NotAModuleError("its loss does not depend on its parameters")
    recorder.turn()
    torch.autograd.backward(loss)  # not loss.backward(), inside which no mode sees what runs again
    del loss
    module.zero_grad(set_to_none=True)
    recorder.start()
    return step


def _batch(subject: Subject, size: int) -> tuple[Any, ...]:
    whole = subject.batch(size)
    parts = tuple(whole) if isinstance(whole, tuple | list) else (whole,)
    for each in parts:
        if not isinstance(each, torch.Tensor) or not each.dim() or len(each) != size:
            raise NotAModuleError(f"batch({size}) must give tensors of {size} rows")
    return parts


def _loss(subject: Subject, module: torch.nn.Module, batch: tuple[Any, ...]) -> Any:
    """The file's own loss; else the output where it is one number, else its mean square."""
    if subject.loss is not None:
        return subject.loss(module(batch[0]), *batch)
    output = module(*batch)
    if not isinstance(output, torch.Tensor):
        what = type(output).__name__
        raise NotAModuleError(f"gives {what}, not a tensor: define loss(output, *batch) beside it")
    return output if output.numel() == 1 else output.float().square().mean()


def units(module: torch.nn.Module) -> list[torch.nn.Module]:
    """The parts that are sharded or recomputed as one: the children of the module, and those of a
    container in place of the container."""
    containers = (torch.nn.Sequential, torch.nn.ModuleList, torch.nn.ModuleDict)
    found: list[torch.nn.Module] = []
    for child in module.children():
        found += units(child) if isinstance(child, containers) else [child]
    return found or [module]


def checkpoint_units(module: torch.nn.Module) -> None:
    """Each unit of several layers keeps its inputs alone and runs forward again going back."""
    for unit in dict.fromkeys(units(module)):
        if any(True for _ in unit.children()):
            _checkpoint(unit)


def _checkpoint(unit: torch.nn.Module) -> None:
    plain = unit.forward

    def forward(*args: Any, **kwargs: Any) -> Any:
        return checkpoint(plain, *args, use_reentrant=False, preserve_rng_state=False, **kwargs)

    unit.forward = forward
