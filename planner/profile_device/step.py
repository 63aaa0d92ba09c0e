"""One training step on a measured device: every operation by its own measured time or curve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch, splits_data_alone
from planner.engine.choices import LOSSES
from planner.engine.constants import constants
from planner.engine.formats import ATTENTION, MATMUL
from planner.engine.launch import host_seconds
from planner.engine.layer import MATH, elementwise_factor
from planner.engine.operations import (
    Product,
    attention_flops,
    head_product,
    layer_products,
    tokens,
)
from planner.engine.step import LOGIT_TRAFFIC, logit_traffic
from planner.engine.update import NO_OFFLOAD
from planner.engine.weights import local_weights
from planner.profile_device.figures import ELEMENT_BYTES, Figures
from planner.profile_device.host import Tensors, exposed_seconds, host_constants, update_seconds
from planner.profile_device.page_mapping import mapped_seconds
from planner.profile_device.traffic import TrafficCurve

Array = np.ndarray[Any, np.dtype[Any]]

BACKWARD = 3.5  # attention forward and backward over forward alone (Dao 2023, section 3)
_EAGER = LOSSES.index("eager")  # the loss that profiles time
_LAYER_TENSORS = 5  # matrices of a layer with a plain or a gated inner layer, about
_CAST = 6.0  # bytes per element that a cast between FP32 and 16 bits moves
_NORM_PASSES, _ACTIVATION_PASSES, _ADD_PASSES = 5, 5, 3  # tensors read and written, both ways


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfiledStep:
    """Seconds of one optimizer step on one measured device, as a sum of named parts.

    A part that the profile has no kernel for is in `lacking`, with what it lacks, and not in
    `parts`.
    """

    parts: Mapping[str, float]  # s
    measured: float  # s of the parts, by products whose shapes were measured themselves
    lacking: Mapping[str, str]

    @property
    def total(self) -> float:
        return sum(self.parts.values())


class _KernelMissingError(Exception):
    """The profile did not time what a part consists of."""


def profiled_step(
    batch: Batch, figures: Figures, *, precision: str, optimizer: str = "adamw"
) -> ProfiledStep:
    """What each device does in the step of a batch of one configuration on devices of `figures`,
    communication apart. The layout splits the data alone.

    Raises PlannerError where the profile lacks the format's products.
    """
    assert batch.size == 1, "one configuration at a time"
    assert splits_data_alone(batch), "of other layouts a device does not do whole layers"
    for number_format in (MATMUL[precision], ATTENTION[precision]):
        figures.product(number_format)
    work = _Work(batch=batch, figures=figures, precision=precision, optimizer=optimizer)
    steps = float(np.max(batch.parallel.accumulation))
    parts: dict[str, float] = {}
    lacking: dict[str, str] = {}
    for name, seconds in work.parts().items():
        try:
            parts[name] = seconds() * (1.0 if name == "optimizer" else steps)
        except _KernelMissingError as lack:
            lacking[name] = str(lack)
    parts["page_mapping"] = mapped_seconds(batch, figures)
    return ProfiledStep(parts=parts, measured=work.measured(parts) * steps, lacking=lacking)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """One micro-batch of one configuration on one device."""

    batch: Batch
    figures: Figures
    precision: str
    optimizer: str

    def parts(self) -> dict[str, Callable[[], float]]:
        """Parts of one micro-batch, forward and backward, and the update; seconds."""
        return {
            "matmul": lambda: self._layers(self.products()),
            "attention": lambda: self._layers(self.attention()),
            "elementwise": lambda: self._layers(self.elementwise()),
            "casts": lambda: self._layers(self.casts()) if self.wide else 0.0,
            "output_layer": self.output_layer,
            "embedding": self.embedding,
            "launch": self.launches,
            "optimizer": self.update,
        }

    @property
    def format(self) -> str:
        """Of activations and of the products that no low-precision recipe touches."""
        return ATTENTION[self.precision]

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

    @property
    def frozen(self) -> bool:
        """Whether the weights of the layers have no gradients: adapters."""
        return bool(np.max(self.batch.recipe.adapters))

    def _layers(self, seconds: Array) -> float:
        return float(np.sum(seconds * self.count))

    def products(self) -> Array:
        """Forward, by input and by weight, per layer, (g, 1)."""
        if MATMUL[self.precision] != self.format:
            raise _KernelMissingError(f"products with the scaling and casts of {self.precision}")
        return sum((self._both_ways(each) for each in layer_products(self.batch)), np.zeros(1))

    def _both_ways(self, product: Product) -> Array:
        """Seconds forward and backward, (g, 1)."""
        return sum((seconds for seconds, _ in self._passes(product)), np.zeros(1))

    def _passes(self, product: Product) -> list[tuple[Array, Array]]:
        """Seconds of each pass, and whether its shape was measured; (g, 1) each."""
        curve = self.figures.product(self.format)
        m, n, k = (np.maximum(each, 1) for each in (product.m, product.n, product.k))
        ways = [(m, n, k, "forward"), (m, k, n, "input"), (n, k, m, "weight")]
        exists = (product.n > 0) & (product.k > 0)
        cold = self.figures.cold(self.format, n * k, m * k + k * n + m * n)
        return [
            (
                np.where(exists, (curve.seconds(*way) + cold) * product.groups, 0.0),
                curve.measured(*way),
            )
            for way in (ways[:2] if self.frozen else ways)
        ]

    def measured(self, parts: Mapping[str, float]) -> float:
        """Seconds of one micro-batch's products whose shapes were measured."""
        if self.figures.extrapolated:
            return 0.0
        total = 0.0
        if "matmul" in parts:
            for each in layer_products(self.batch):
                total += sum(self._layers(s * known) for s, known in self._passes(each))
        if parts.get("output_layer"):
            passes = self._passes(head_product(self.batch))
            total += sum(float(np.max(s * known)) for s, known in passes)
        return total

    def attention(self) -> Array:
        """Forward and backward, per layer."""
        blocks = self.batch.shape.blocks
        if np.max(self.batch.parallel.attention == MATH):
            raise _KernelMissingError("attention without a flash kernel")
        if np.max(blocks.state_space):
            raise _KernelMissingError("state-space scans")
        causal = bool(np.max(blocks.causal))
        curve = self.figures.attention(self.format, causal=causal, backward=True)
        curve = curve or self.figures.attention(self.format, causal=not causal, backward=True)
        if curve is None:
            raise _KernelMissingError(f"attention in {self.format}")
        seconds = curve.seconds(attention_flops(self.batch) * BACKWARD, self.batch.parallel.seq_len)
        result: Array = seconds
        return result

    def elementwise(self) -> Array:
        """Norms, activation, residual additions both ways, rotary; per layer.

        Profiles time separate kernels; a stack that fuses them takes less, in the ratio that
        published runs show.
        """
        blocks, m = self.batch.shape.blocks, tokens(self.batch)
        stream = "fp32" if self.wide else self.format
        width = ELEMENT_BYTES[stream]
        hidden = m * self.batch.shape.hidden
        norm = "layer_norm" if np.max(self.batch.software.layer_norm) else "rms_norm"
        gated = bool(np.max(blocks.gated))
        routed = blocks.top_k * blocks.expert_hidden
        inner = m * (blocks.ffn_hidden + blocks.shared_hidden + routed)
        activation = self._curve("silu_backward" if gated else "gelu_backward", self.format)
        add, plain = self._curve("add", stream), self._curve("add", self.format)
        heads = m * (blocks.heads + blocks.kv_heads) * blocks.head_dim
        separate = (
            2 * self._curve(f"{norm}_backward", stream).seconds(_NORM_PASSES * hidden * width)
            + activation.seconds(_ACTIVATION_PASSES * inner * self.size)
            + 4 * add.seconds(_ADD_PASSES * hidden * width)
            + (3 * plain.seconds(_ADD_PASSES * inner * self.size) if gated else 0.0)
            + self.batch.software.rotary * 6 * plain.seconds(_ADD_PASSES * heads * self.size)
        )
        c = constants()
        result: Array = separate * elementwise_factor(self.batch, c) / c.elementwise_eager
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
        """Logits, loss, and their way back; another loss than torch's own by its traffic."""
        product = head_product(self.batch)
        if not np.max(product.n):
            return 0.0
        seconds = self._both_ways(product)
        logits = float(np.max(product.m * product.n))
        loss = self._curve("cross_entropy_backward", "fp32" if self.wide else self.format)
        leaner = float(np.max(logit_traffic(self.batch)) / LOGIT_TRAFFIC[_EAGER])
        total = float(np.max(seconds)) + leaner * float(
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
        if not table or self.frozen:
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
        """Host work that the kernels' own times do not hold: modules and autograd."""
        own = host_constants(self.figures)
        if own is None:
            raise _KernelMissingError("a launch")
        host = self._layers(host_seconds(self.batch, own))
        device = sum(map(self._where_known, (self.products, self.attention)))
        return exposed_seconds(self.figures, device, host)

    def _where_known(self, part: Callable[[], Array]) -> float:
        """Seconds of the layers' part; 0 where the profile lacks its kernel."""
        try:
            return self._layers(part())
        except _KernelMissingError:
            return 0.0

    def update(self) -> float:
        """The update of every parameter."""
        width = 4 if self.wide else self.size
        found = update_of(self.batch, self.figures, self.optimizer, width)
        if found is None:
            raise _KernelMissingError(f"the {self.optimizer} optimizer")
        return found

    def _curve(self, kernel: str, number_format: str) -> TrafficCurve:
        found = self.figures.traffic(kernel, number_format)
        if found is None:
            raise _KernelMissingError(f"{kernel} in {number_format}")
        return found


def update_of(batch: Batch, figures: Figures, optimizer: str, width: float) -> float | None:
    """Seconds to update every parameter of `width` bytes; offloaded states are the host's. None
    where the profile did not time the optimizer."""
    if np.max(batch.parallel.offload != NO_OFFLOAD):
        return 0.0
    return update_seconds(figures, optimizer, _updated(batch), width)


def _updated(batch: Batch) -> list[Tensors]:
    """The tensors that the optimizer updates: the largest ones, and the rest by their mean."""
    params = float(np.max(local_weights(batch).updated))
    if batch.table is not None:
        largest, others = min(batch.table.largest, params), max(batch.table.tensors - 1, 1)
        return [Tensors(1, largest), Tensors(others, (params - largest) / others)]
    shape = batch.shape
    tables = [float(np.max(each)) for each in (shape.input_embedding_params, shape.head_params)]
    whole = [each for each in tables if each > 0 and sum(tables) < params]  # not of adapters
    number = max(_LAYER_TENSORS * float(np.sum(shape.blocks.count)), 1.0)
    return [*(Tensors(1, each) for each in whole), Tensors(number, (params - sum(whole)) / number)]
