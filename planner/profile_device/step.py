"""One training step on a measured device: every operation by its own measured time or curve."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from planner.engine.constants import constants
from planner.engine.operations import (
    Product,
    attention_flops,
    head_product,
    layer_products,
    tokens,
)
from planner.engine.weights import local_weights
from planner.errors import PlannerError
from planner.profile_device.figures import ELEMENT_BYTES, Figures
from planner.profile_device.reader import FIELD
from planner.profile_device.traffic import TrafficCurve

if TYPE_CHECKING:
    from planner.engine.batch import Batch

Array = np.ndarray[Any, np.dtype[Any]]

FORMATS = {"fp32": "fp32", "tf32": "tf32", "fp16": "fp16", "bf16": "bf16", "pure-bf16": "bf16"}
BACKWARD = 3.5  # attention forward and backward over forward alone (Dao 2023, section 3)
_ADAMW_PASSES = 7  # parameter, gradient, moments read; all but the gradient written
_CAST = 6.0  # bytes per element that a cast between FP32 and 16 bits moves
_NORM_PASSES, _ACTIVATION_PASSES, _ADD_PASSES = 5, 5, 3  # tensors read and written, both ways
_VARIANTS: dict[str, tuple[str, ...]] = {  # kernels that stand for an optimizer, best first
    "adamw": ("loop", "foreach"),
    "adamw-foreach": ("foreach", "loop"),
    "adamw-fused": ("fused",),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledStep:
    """Seconds of one optimizer step on one measured device, as a sum of named parts."""

    parts: Mapping[str, float]  # s
    measured_share: float  # of the products' seconds, by shapes that were measured themselves

    @property
    def total(self) -> float:
        return sum(self.parts.values())


def profiled_step(
    batch: Batch, figures: Figures, *, precision: str, optimizer: str = "adamw"
) -> ProfiledStep:
    """The step of a batch of one configuration on the one device of `figures`.

    Raises PlannerError where the profile lacks the format or a kernel that the step needs, or where
    the layout spans several devices.
    """
    assert batch.size == 1, "one configuration at a time"
    if float(np.max(batch.parallel.num_devices)) > 1:
        raise PlannerError(FIELD, figures.recorded.device_name, "it is of one device: count 1")
    if precision not in FORMATS:
        known = ", ".join(FORMATS)
        raise PlannerError("training.precision", precision, f"profiles answer for {known}")
    work = _Work(batch=batch, figures=figures, format=FORMATS[precision])
    steps = float(np.max(batch.parallel.accumulation))
    parts = {name: seconds * steps for name, seconds in work.micro_batch().items()}
    parts["optimizer"] = work.optimizer(optimizer)
    return ProfiledStep(parts=parts, measured_share=work.measured_share())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """One micro-batch of one configuration on one device."""

    batch: Batch
    figures: Figures
    format: str

    @property
    def count(self) -> Array:
        """Layers by kind, (g, 1)."""
        return self.batch.shape.blocks.count

    @property
    def size(self) -> float:
        return float(ELEMENT_BYTES[self.format])

    @property
    def wide(self) -> bool:
        """Whether 16-bit products run over FP32 weights and residuals: autocast."""
        return bool(np.max(self.batch.software.wide)) and self.size < 4

    def micro_batch(self) -> dict[str, float]:
        """Parts of one micro-batch, forward and backward, seconds."""
        return {
            "matmul": self._layers(self.products()),
            "attention": self._layers(self.attention()),
            "elementwise": self._layers(self.elementwise()),
            "casts": self._layers(self.casts()) if self.wide else 0.0,
            "output_layer": self.output_layer(),
            "embedding": self.embedding(),
            "launch": self.launches(),
        }

    def _layers(self, seconds: Array) -> float:
        return float(np.sum(seconds * self.count))

    def products(self) -> Array:
        """Forward, by input and by weight, per layer, (g, 1)."""
        return sum((self._both_ways(each) for each in layer_products(self.batch)), np.zeros(1))

    def _both_ways(self, product: Product) -> Array:
        curve = self.figures.product(self.format)
        m, n, k = (np.maximum(each, 1) for each in (product.m, product.n, product.k))
        seconds = (
            curve.seconds(m, n, k)
            + curve.seconds(m, k, n, "input")
            + curve.seconds(n, k, m, "weight")
        )
        exists = (product.n > 0) & (product.k > 0)
        result: Array = np.where(exists, seconds * product.groups, 0.0)
        return result

    def measured_share(self) -> float:
        """Share of the forward products' seconds whose shape was measured."""
        curve = self.figures.product(self.format)
        known, total = 0.0, 0.0
        for each in layer_products(self.batch):
            m, n, k = (np.maximum(x, 1) for x in (each.m, each.n, each.k))
            seconds = curve.seconds(m, n, k) * self.count * ((each.n > 0) & (each.k > 0))
            total += float(np.sum(seconds))
            known += float(np.sum(seconds * curve.measured(m, n, k)))
        return known / total if total else 0.0

    def attention(self) -> Array:
        """Forward and backward, per layer."""
        blocks = self.batch.shape.blocks
        causal = bool(np.max(blocks.causal))
        curve = self.figures.attention(self.format, causal=causal, backward=True)
        curve = curve or self.figures.attention(self.format, causal=not causal, backward=True)
        if curve is None:
            raise self._lacks("attention")
        seconds = curve.seconds(attention_flops(self.batch) * BACKWARD, self.batch.parallel.seq_len)
        result: Array = seconds
        return result

    def elementwise(self) -> Array:
        """Norms, activation, residual additions both ways, rotary; per layer."""
        blocks, m = self.batch.shape.blocks, tokens(self.batch)
        stream = "fp32" if self.wide else self.format
        width = ELEMENT_BYTES[stream]
        hidden = m * self.batch.shape.hidden
        norm = "layer_norm" if np.max(self.batch.software.layer_norm) else "rms_norm"
        gated = bool(np.max(blocks.gated))
        inner = m * (blocks.ffn_hidden + blocks.shared_hidden)
        activation = self._curve("silu_backward" if gated else "gelu_backward", self.format)
        add, plain = self._curve("add", stream), self._curve("add", self.format)
        heads = m * (blocks.heads + blocks.kv_heads) * blocks.head_dim
        result: Array = (
            2 * self._curve(f"{norm}_backward", stream).seconds(_NORM_PASSES * hidden * width)
            + activation.seconds(_ACTIVATION_PASSES * inner * self.size)
            + 4 * add.seconds(_ADD_PASSES * hidden * width)
            + (3 * plain.seconds(_ADD_PASSES * inner * self.size) if gated else 0.0)
            + self.batch.software.rotary * 6 * plain.seconds(_ADD_PASSES * heads * self.size)
        )
        return result

    def casts(self) -> Array:
        """Autocast: weights and inputs down, gradients of weights and inputs up; per layer."""
        copy = self._curve("copy", "fp32")
        result: Array = np.zeros(1)
        for each in layer_products(self.batch):
            elements = 2 * (each.n * each.k + each.m * each.k) * each.groups
            result = result + copy.seconds(_CAST * elements)
        return result

    def output_layer(self) -> float:
        """Logits, loss, and their way back."""
        product = head_product(self.batch)
        if not np.max(product.n):
            return 0.0
        seconds = self._both_ways(product)
        logits = float(np.max(product.m * product.n))
        loss = self._curve("cross_entropy_backward", "fp32" if self.wide else self.format)
        total = float(np.max(seconds)) + float(
            loss.seconds(3 * logits * (4 if self.wide else self.size))
        )
        if self.wide:
            elements = 2 * (product.n * product.k + product.m * product.k) + 2 * logits
            total += float(np.max(self._curve("copy", "fp32").seconds(_CAST * elements)))
        return total

    def embedding(self) -> float:
        """Gather and dense gradient; a tied matrix also adds both of its gradients."""
        shape = self.batch.shape
        table = float(np.max(shape.input_embedding_params))
        if not table:
            return 0.0
        rows = float(np.max(tokens(self.batch))) * float(np.max(shape.hidden))
        width = 4 if self.wide else self.size
        seconds = float(
            self._curve("embedding_backward", "fp32").seconds(width * (4 * rows + table))
        )
        if np.max(shape.tied):
            added = _ADD_PASSES * table * width
            seconds += float(
                self._curve("add", "fp32" if self.wide else self.format).seconds(added)
            )
        return seconds

    def launches(self) -> float:
        """Host work that the kernels' own times do not hold: modules and autograd, added where the
        host waits for each operation, hidden behind long kernels where it does not."""
        launch = self.figures.launch_seconds
        if launch is None:
            raise self._lacks("launch")
        recipe = self.batch.recipe
        host = float(np.sum(recipe.host_layer * self.count)) * launch
        if self.figures.recorded.kind == "cpu":
            return host
        device = sum(self._layers(each()) for each in (self.products, self.attention))
        power = constants().overlap_power
        longest = max(device, host, 1e-30)
        return float(longest * (1 + (min(device, host) / longest) ** power) ** (1 / power) - device)

    def optimizer(self, name: str) -> float:
        """The update of every parameter."""
        if name == "none":
            return 0.0
        if name not in _VARIANTS:
            remedy = f"profiles measure {', '.join(_VARIANTS)}"
            raise PlannerError("training.optimizer", name, remedy)
        wanted = _VARIANTS[name]
        if name == "adamw" and self.figures.recorded.kind != "cpu":
            wanted = wanted[::-1]  # torch's own choice: a loop on a CPU, foreach elsewhere
        found = (self.figures.traffic("adamw", "fp32", variant=each) for each in wanted)
        curve = next((each for each in found if each is not None), None)
        if curve is None:
            raise self._lacks(f"the {wanted[0]} optimizer")
        updated = float(np.max(local_weights(self.batch).updated))
        width = 4 if self.wide else self.size
        return float(curve.seconds(_ADAMW_PASSES * updated * width))

    def _curve(self, kernel: str, number_format: str) -> TrafficCurve:
        found = self.figures.traffic(kernel, number_format)
        if found is None:
            raise self._lacks(f"{kernel} in {number_format}")
        return found

    def _lacks(self, what: str) -> PlannerError:
        remedy = f"the profile did not measure {what}: forerun profile --resume completes it"
        return PlannerError(FIELD, self.figures.recorded.device_name, remedy)
