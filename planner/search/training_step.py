"""Real optimizer steps of a torch module under one setting, timed, with their peak memory."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from planner.errors import PlannerError
from planner.search.module_file import Subject

SEED = 20_260  # of weights and data: every setting trains the same
RATE = 1e-4  # learning rate of the measured steps
FORMATS = {"bf16": "bfloat16", "fp16": "float16"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """What differs between trials."""

    precision: str  # fp32 | bf16 | fp16: mixed precision by autocast
    compile: str  # none | full
    micro_batch: int
    accumulation: int

    def words(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What some steps showed. Loss and gradient norm are of the first step."""

    seconds: tuple[float, ...]  # of each timed step
    loss: float | None
    gradient_norm: float | None  # unscaled
    peak_bytes: float | None  # on an accelerator; None on a processor
    out_of_memory: bool
    failure: str | None  # another reason why it did not run
    pruned: bool


def measure(
    subject: Subject,
    setting: Setting,
    device: str,
    *,
    warm_up: int,
    steps: int,
    report: Callable[[int, list[float]], bool] | None = None,
) -> Outcome:
    """Train `warm_up` steps and time `steps` more. Running out of memory is an outcome, not an
    error; `report` gets the times so far and says whether to stop."""
    runner: _Runner | None = None
    seconds: list[float] = []
    try:
        runner = _Runner(subject, setting, device)
        for _ in range(max(warm_up, 1)):
            runner.step()
        for number in range(steps):
            seconds.append(runner.timed_step())
            if report and report(number, seconds) and number + 1 < steps:
                return runner.outcome(seconds, pruned=True)
        return runner.outcome(seconds)
    except PlannerError:
        raise
    except (MemoryError, RuntimeError) as error:
        return _failed(error, runner, seconds)
    finally:
        _forget(device)


def _failed(error: Exception, runner: _Runner | None, seconds: list[float]) -> Outcome:
    """Out of memory, or a setting that the module or the device cannot run."""
    text = f"{type(error).__name__}: {error}".splitlines()[0][:200]
    memory = isinstance(error, MemoryError) or "out of memory" in str(error).lower()
    memory = memory or "can't allocate memory" in str(error).lower()
    return Outcome(
        seconds=(),
        loss=runner.loss if runner else None,
        gradient_norm=runner.norm if runner else None,
        peak_bytes=None,
        out_of_memory=memory,
        failure=text,
        pruned=False,
    )


def _forget(device: str) -> None:
    """Give back what a trial held before the next one measures."""
    import gc

    import torch

    gc.collect()
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()


class _Runner:
    """A module with its optimizer and data under one setting."""

    def __init__(self, subject: Subject, setting: Setting, device: str) -> None:
        import torch

        self._setting, self._subject, self._device = setting, subject, device
        torch.manual_seed(SEED)
        self._module = subject.build()
        if not isinstance(self._module, torch.nn.Module):
            kind = type(self._module).__name__
            raise PlannerError("model", subject.name, f"returns {kind}, not a torch module")
        self._module = self._module.to(device).train()
        parameters = [each for each in self._module.parameters() if each.requires_grad]
        if not parameters:
            raise PlannerError("model", subject.name, "has no parameter to train")
        self._optimizer = torch.optim.AdamW(parameters, lr=RATE)
        self._parameters = parameters
        scaled = setting.precision == "fp16"
        self._scaler = torch.amp.GradScaler(device.partition(":")[0], enabled=scaled)
        self._forward = self._compiled()
        self._batches = self._data()
        self.loss: float | None = None
        self.norm: float | None = None

    def _compiled(self) -> Any:
        import torch

        return torch.compile(self._module) if self._setting.compile == "full" else self._module

    def _data(self) -> list[tuple[Any, ...]]:
        """The samples of one global batch, the same for every setting, cut into micro-batches."""
        import torch

        torch.manual_seed(SEED + 1)
        size = self._setting.micro_batch * self._setting.accumulation
        whole = self._subject.batch(size)
        whole = whole if isinstance(whole, tuple | list) else (whole,)
        parts = [torch.as_tensor(each).to(self._device) for each in whole]
        if any(len(each) != size for each in parts):
            raise PlannerError("model", self._subject.name, f"batch({size}) must give {size} rows")
        size = self._setting.micro_batch
        cut = [[each[at : at + size] for at in range(0, len(each), size)] for each in parts]
        return list(zip(*cut, strict=True))

    def timed_step(self) -> float:
        started = time.perf_counter()
        self.step()
        return time.perf_counter() - started

    def step(self) -> None:
        """One optimizer step over the whole global batch, to the end of its work."""
        import torch

        self._optimizer.zero_grad(set_to_none=True)
        total = 0.0
        for batch in self._batches:
            loss = self._loss(batch) / len(self._batches)
            self._scaler.scale(loss).backward()
            total += float(loss.detach())
        if self.loss is None:
            self._scaler.unscale_(self._optimizer)
            grads = [each.grad for each in self._parameters if each.grad is not None]
            self.norm = float(torch.nn.utils.get_total_norm(grads))
            self.loss = total
        self._scaler.step(self._optimizer)
        self._scaler.update()
        if self._device.startswith("cuda"):
            torch.cuda.synchronize()

    def _loss(self, batch: tuple[Any, ...]) -> Any:
        with self._autocast():
            if self._subject.loss is None:
                output = self._forward(*batch)
                return output if output.numel() == 1 else output.float().square().mean()
            output = self._forward(batch[0])
            return self._subject.loss(output, *batch)

    def _autocast(self) -> Any:
        import torch

        if self._setting.precision == "fp32":
            return contextlib.nullcontext()
        kind = getattr(torch, FORMATS[self._setting.precision])
        return torch.autocast(self._device.partition(":")[0], dtype=kind)

    def outcome(self, seconds: list[float], *, pruned: bool = False) -> Outcome:
        import torch

        on_cuda = self._device.startswith("cuda")
        return Outcome(
            seconds=tuple(seconds),
            loss=self.loss,
            gradient_norm=self.norm,
            peak_bytes=float(torch.cuda.max_memory_allocated()) if on_cuda else None,
            out_of_memory=False,
            failure=None,
            pruned=pruned,
        )
