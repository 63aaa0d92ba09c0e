"""Two training steps of a case on fake tensors; the second one is measured."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

import torch
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.distributed._tools.mem_tracker import MemTracker

from benchmarks.memory_truth import optimizers
from benchmarks.memory_truth.case import Case
from benchmarks.memory_truth.live import LiveStorages
from benchmarks.memory_truth.transformer import Transformer

PHASES = ("layers-forward", "head-forward", "head-backward", "layers-backward", "optimizer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Traced:
    """What one step of a case holds. Bytes throughout; a column of the table each."""

    params: int  # number
    trainable_params: int  # number
    param_bytes: int  # weights in the format that the layers hold
    grad_bytes: int  # gradients alive when the optimizer steps
    optimizer_bytes: int  # state, FP32 master weights included
    saved_activation_bytes_per_layer: int  # what one more layer keeps until the backward pass
    saved_logits_bytes: int  # what output layer and loss keep until the backward pass
    weight_cast_bytes: int  # cached 16-bit copies of FP32 weights, at their most
    peak_forward_bytes: int
    peak_backward_bytes: int
    peak_optimizer_bytes: int
    peak_bytes: int
    peak_phase: str  # of PHASES
    peak_head_bytes: int  # highest while output layer and loss run, in either direction
    peak_layers_backward_bytes: int  # highest after the output layer's backward pass
    grads_at_peak_bytes: int
    activations_at_peak_bytes: int
    weight_casts_at_peak_bytes: int
    mem_tracker_peak_bytes: int  # of the same step by torch.distributed._tools.MemTracker


class Step:
    """A model, its optimizer, and one training step of them."""

    def __init__(self, case: Case, tracker: LiveStorages) -> None:
        self.case, self.tracker = case, tracker
        self.borders: list[int] = []  # live activation bytes at each mark of a micro-step
        self.model = Transformer(case, self.mark)
        self.trainable = [p for p in self.model.parameters() if p.requires_grad]
        self.masters = (
            optimizers.MasterWeights(self.trainable) if case.precision == "bf16-master" else None
        )
        stepped = self.masters.masters if self.masters else self.trainable
        self.optimizers = optimizers.build(case.optimizer, stepped)
        self._label_constants()

    def _label_constants(self) -> None:
        self.tracker.label((p.data for p in self.model.parameters()), "parameters")
        for parameter in self.trainable:
            parameter.register_post_accumulate_grad_hook(self._label_gradient)
        if self.masters:
            self.tracker.label((p.data for p in self.masters.masters), "optimizer")
            self.tracker.label((p.grad for p in self.masters.masters), "gradients")

    def _label_gradient(self, parameter: torch.Tensor) -> None:
        if parameter.grad is not None:
            self.tracker.label([parameter.grad], "gradients")

    def mark(self, name: str) -> None:
        """A border inside the forward or backward pass."""
        self.borders.append(self.tracker.live["activations"])
        self.tracker.enter_phase("layers-forward" if name == "layer" else name)

    def run(self, tokens: torch.Tensor, targets: torch.Tensor) -> None:
        """Micro-steps and one optimizer step."""
        for optimizer in self.optimizers:
            optimizer.zero_grad(set_to_none=self.masters is None)
        for _ in range(self.case.accumulation):
            self._micro_step(tokens, targets)
        self.tracker.enter_phase("optimizer")
        self.grad_bytes = self.tracker.live["gradients"]
        for optimizer in self.optimizers:
            optimizer.step()
        if self.masters:
            self.masters.copy_back()

    def _micro_step(self, tokens: torch.Tensor, targets: torch.Tensor) -> None:
        self.tracker.enter_phase("layers-forward")
        self.borders.clear()
        autocast = torch.autocast("cpu", torch.bfloat16)
        with autocast if self.case.precision == "bf16-autocast" else nullcontext():
            loss, held = self.model(tokens, targets)
        loss.backward()
        del held

    def state_tensors(self) -> list[torch.Tensor]:
        """What the optimizers keep between steps."""
        states = (state for each in self.optimizers for state in each.state.values())
        return [v for state in states for v in state.values() if isinstance(v, torch.Tensor)]


def trace(case: Case) -> Traced:
    """Peak memory of one steady training step of `case`."""
    tracker = LiveStorages()
    with FakeTensorMode():
        with tracker:
            step = Step(case, tracker)
            tokens = torch.zeros(case.micro_batch, case.seq_len, dtype=torch.long)
            targets = torch.zeros(case.tokens, dtype=torch.long)
            step.run(tokens, targets)
            tracker.label(step.state_tensors(), "optimizer")
        tracker.peaks.clear()
        torchs = _mem_tracker(step)
        torchs.track_external(tokens, targets)
        with torchs, tracker:
            step.run(tokens, targets)
    return _summary(step, _torch_peak(torchs))


class _TotalTracker(MemTracker):
    """torch's tracker without statistics per module.

    Those hook every parameter, which fails on frozen ones, and allow one forward pass per module,
    which rules out accumulation. The totals do not need them.
    """

    def _pre_fw_hook(self, module, inputs) -> None:  # type: ignore[no-untyped-def]
        pass

    def _post_fw_hook(self, module, inputs, outputs) -> None:  # type: ignore[no-untyped-def]
        pass

    def _pre_bw_hook(self, module, args) -> None:  # type: ignore[no-untyped-def]
        pass

    def _post_bw_hook(self, module, args) -> None:  # type: ignore[no-untyped-def]
        pass


def _mem_tracker(step: Step) -> MemTracker:
    tracker = _TotalTracker()
    tracker.track_external(*(p.data for p in step.model.parameters()), *step.state_tensors())
    if step.masters:
        tracker.track_external(*(m.data for m in step.masters.masters))
        tracker.track_external(*(m.grad for m in step.masters.masters))
    else:
        tracker.track_external(*(p.grad for p in step.trainable))
    return tracker


def _torch_peak(tracker: MemTracker) -> int:
    snapshot = tracker.get_tracker_snapshot("peak")
    return snapshot[torch.device("cpu")]["Total"]


def _summary(step: Step, mem_tracker_peak: int) -> Traced:
    tracker, layers = step.tracker, step.case.layers
    totals = {
        phase: sum(tracker.peaks[phase].values()) for phase in PHASES if phase in tracker.peaks
    }
    phase = max(totals, key=totals.__getitem__)
    at_peak = tracker.peaks[phase]
    return Traced(
        params=sum(p.numel() for p in step.model.parameters()),
        trainable_params=sum(p.numel() for p in step.trainable),
        param_bytes=tracker.live["parameters"],
        grad_bytes=step.grad_bytes,
        optimizer_bytes=tracker.live["optimizer"],
        saved_activation_bytes_per_layer=step.borders[layers] - step.borders[layers - 1],
        saved_logits_bytes=step.borders[layers + 2] - step.borders[layers + 1],
        weight_cast_bytes=max(peak["weight_casts"] for peak in tracker.peaks.values()),
        peak_forward_bytes=max(totals["layers-forward"], totals["head-forward"]),
        peak_backward_bytes=max(totals["head-backward"], totals["layers-backward"]),
        peak_optimizer_bytes=totals["optimizer"],
        peak_bytes=totals[phase],
        peak_phase=phase,
        peak_head_bytes=max(totals["head-forward"], totals["head-backward"]),
        peak_layers_backward_bytes=totals["layers-backward"],
        grads_at_peak_bytes=at_peak["gradients"],
        activations_at_peak_bytes=at_peak["activations"],
        weight_casts_at_peak_bytes=at_peak["weight_casts"],
        mem_tracker_peak_bytes=mem_tracker_peak,
    )
