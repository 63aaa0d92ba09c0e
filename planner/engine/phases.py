"""The moments of a training step at which memory peaks, and what is alive at each.

A step peaks when the logits exist (end of the forward pass, start of the backward pass), while a
layer goes back beside everything the layers keep, or in the optimizer step. States stand apart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.activations import Formats, LayerBytes, formats, layer_bytes, stream_width
from planner.engine.batch import Batch
from planner.engine.choices import OFFLOADS, SHARDINGS
from planner.engine.gathered import Gathered, gathered, level
from planner.engine.losses import HeadBytes, head_bytes
from planner.engine.operations import tokens
from planner.engine.records import names
from planner.engine.stages import layers_on
from planner.engine.weights import StageWeights

Array = np.ndarray[Any, np.dtype[Any]]

LAYER_SPLIT = SHARDINGS.index("layer-split")
NO_OFFLOAD = OFFLOADS.index("none")
TOKEN_BYTES = 16.0  # an index into the vocabulary for input and label
ROTARY = 2.0  # tables of cosines and sines, a head wide each


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Bytes alive at one moment beside weights, states and standing gradients, (n,) each."""

    gradients: Array
    gathered: Array
    activations: Array
    logits: Array
    working: Array

    @property
    def total(self) -> Array:
        return self.gradients + self.gathered + self.activations + self.logits + self.working


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The moments of one step on one pipeline stage, and what stands all through it."""

    held: StageWeights  # parameters of the stage
    head_forward: Moment
    head_backward: Moment
    layers_backward: Moment
    optimizer: Moment
    standing_gradients: Array  # bytes in a buffer, or accumulated over micro-steps
    buffers: Array  # of gradient communication

    @property
    def worst(self) -> Moment:
        """The moment that needs most."""
        moments = (self.head_forward, self.head_backward, self.layers_backward, self.optimizer)
        found = moments[0]
        for other in moments[1:]:
            found = larger(found, other)
        return found


def larger(one: Moment, other: Moment) -> Moment:
    """Of each candidate the moment with the larger total."""
    worse = other.total > one.total
    if not worse.any():
        return one
    if worse.all():
        return other
    return Moment(
        **{
            name: np.where(worse, getattr(other, name), getattr(one, name))
            for name in names(Moment)
        }
    )


def in_flight(batch: Batch, stage: str) -> Array:
    """Micro-batches whose activations a stage holds at its peak under one-forward-one-backward.

    The first stage holds min(m, p), the second one less; interleaving v virtual stages raises it by
    1 + (p - 1) / (p·v) (Korthikanti et al. 2022, section 4.2.1). The last stage holds one, and so
    does every stage of a model whose layers are merely split over devices.
    """
    parallel = batch.parallel
    if stage == "last" or (parallel.pp == 1).all():
        return np.ones(1)
    extra = np.where(
        parallel.interleave > 1, 1 + (parallel.pp - 1) / (parallel.pp * parallel.interleave), 1.0
    )
    ahead = np.maximum(parallel.pp - (stage == "middle"), 1)
    number = np.minimum(parallel.accumulation, ahead) * extra
    result: Array = np.where(parallel.sharding == LAYER_SPLIT, 1.0, number)
    return result


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What a layer and the output layer need, whatever the pipeline stage."""

    each: Formats
    layer: LayerBytes
    head: HeadBytes
    tokens: Array  # (g, n) of one micro-batch on one device
    shared: Array  # (n,) bytes of tables that all layers use


def work(batch: Batch) -> Work:
    """Everything that both ends of a pipeline share."""
    each = formats(batch)
    return Work(
        each=each,
        layer=layer_bytes(batch, each),
        head=head_bytes(batch, each),
        tokens=tokens(batch),
        shared=_shared(batch, each.stream),
    )


def step_moments(batch: Batch, held: StageWeights, stage: str, mine: Work) -> Step:
    """All moments of a step on the `first`, `middle` or `last` pipeline stage."""
    count = layers_on(batch, stage)
    layers = count.sum(axis=0)
    whole = gathered(batch, mine.each, held, layers)
    head = mine.head
    one_pass = (mine.layer.kept * mine.tokens * count).sum(axis=0)
    kept = one_pass * in_flight(batch, stage) + mine.shared
    has_head = (batch.parallel.pp == 1) | (stage == "last")
    here = has_head * 1.0
    fresh, standing = _gradient_bytes(batch)
    entry = kept + head.hidden * here
    zero = np.zeros(1)
    return Step(
        held=held,
        head_forward=Moment(
            gradients=zero,
            gathered=whole.forward,
            activations=entry,
            logits=head.forward * here,
            working=zero,
        ),
        head_backward=Moment(
            gradients=zero,
            gathered=whole.head,
            activations=entry,
            logits=head.backward * here,
            working=zero,
        ),
        layers_backward=_layers_backward(
            batch, mine, held, whole, fresh, kept, one_pass, layers, head.held * here
        ),
        optimizer=_optimizer(batch, held, fresh),
        standing_gradients=standing * _gradient_params(batch, held),
        buffers=whole.buffers,
    )


def _shared(batch: Batch, stream: Array) -> Array:
    """Token ids, and rotary tables or a mask that all layers use."""
    parallel, software = batch.parallel, batch.software
    head_dim = np.max(batch.shape.blocks.head_dim, axis=0)
    rows = parallel.micro_batch * parallel.seq_len / parallel.cp
    tables = ROTARY * software.rotary * head_dim * parallel.seq_len * stream
    masked = (parallel.attention > 0) & (software.plain_kind > 0)
    mask = np.where(masked, stream * parallel.seq_len**2, 0.0) if masked.any() else 0.0
    result: Array = TOKEN_BYTES * rows + tables + mask
    return result


def _gradient_bytes(batch: Batch) -> tuple[Array, Array]:
    """(bytes per parameter that appear in the backward pass, bytes that stand all the time)."""
    parallel, software = batch.parallel, batch.software
    stands = (software.main_gradients > 0) | (parallel.accumulation > 1)
    bytes_each = batch.recipe.grad_bytes * _gradients_here(batch)
    return np.where(stands, 0.0, bytes_each), np.where(stands, bytes_each, 0.0)


def _gradients_here(batch: Batch) -> Array:
    """Offloaded states take their gradients with them."""
    result: Array = (batch.parallel.offload == NO_OFFLOAD) * 1.0
    return result


def _gradient_params(batch: Batch, held: StageWeights) -> Array:
    """Gradients that one device keeps, in parameters."""
    split = level(batch) >= batch.recipe.grad_shard_from
    result: Array = np.where(split, held.trainable_sharded, held.trainable)
    return result


def _layers_backward(
    batch: Batch,
    mine: Work,
    held: StageWeights,
    whole: Gathered,
    fresh: Array,
    kept: Array,
    one_pass: Array,
    layers: Array,
    held_logits: Array,
) -> Moment:
    """The highest of the first layer's turn, the last one's, and the end of the pass."""
    layer, rows = mine.layer, mine.tokens
    split = _gradient_params(batch, held) / np.maximum(held.trainable, 1.0)
    trained = np.where(batch.software.frozen > 0, 0.0, 1.0) * fresh * (level(batch) < 3)
    ffn = _highest(batch, rows * layer.ffn_back) + trained * held.down
    attention = _highest(batch, rows * layer.attention_back) + trained * held.network
    again = _highest(batch, rows * layer.again)
    working = again + np.maximum(ffn, attention) + whole.gradients + _decoded(batch, held)
    all_gradients = fresh * _gradient_params(batch, held)
    outer = np.where(batch.software.frozen > 0, 0.0, fresh * split * held.head)
    per_layer = (all_gradients - outer) / np.maximum(layers, 1.0)
    first = Moment(
        gradients=outer,
        gathered=whole.layers,
        activations=kept,
        logits=held_logits,
        working=working,
    )
    if not fresh.any():
        return first
    last = Moment(
        gradients=outer + per_layer * np.maximum(layers - 1, 0.0),
        gathered=whole.last,
        activations=kept - one_pass * (1 - 1 / np.maximum(layers, 1.0)),
        logits=held_logits,
        working=working,
    )
    entry = rows.max(axis=0) * mine.each.stream * stream_width(batch)
    end = Moment(
        gradients=all_gradients,
        gathered=np.zeros(1),
        activations=np.zeros(1),
        logits=held_logits,
        working=_embedding_end(batch, held, fresh, entry),
    )
    return larger(larger(first, last), end)


def _highest(batch: Batch, values: Array) -> Array:
    """The largest of the kinds of layers that a candidate has, (n,)."""
    if len(values) == 1:
        return values[0]  # type: ignore[no-any-return]
    result: Array = np.where(batch.shape.blocks.count > 0, values, -np.inf).max(axis=0)
    return result


def _embedding_end(batch: Batch, held: StageWeights, fresh: Array, entry: Array) -> Array:
    """A tied matrix is summed from the output layer's share and the input's."""
    tied = (batch.shape.tied > 0) & (batch.software.frozen == 0) & (fresh > 0)
    if not tied.any():
        return entry
    matrix = held.head * (3 * batch.recipe.weight_bytes - fresh)
    result: Array = np.where(tied, matrix, entry)
    return result


def _decoded(batch: Batch, held: StageWeights) -> Array:
    """A 4-bit base is decoded one matrix at a time, in 16 bits."""
    result: Array = 2.0 * batch.software.dequantised * held.down
    return result


def _optimizer(batch: Batch, held: StageWeights, fresh: Array) -> Moment:
    """All gradients and what the update allocates."""
    recipe, parallel = batch.recipe, batch.parallel
    here = parallel.offload == NO_OFFLOAD
    own = np.where(level(batch) >= 1, held.trainable_sharded, held.trainable)
    largest = np.maximum(held.head, held.down) / np.where(
        level(batch) >= 1, np.maximum(parallel.shard_degree, 1), 1
    )
    largest = np.where(batch.software.frozen > 0, 0.0, largest)
    working = (recipe.update_temporary * own + recipe.update_largest * largest) * here
    zero = np.zeros(1)
    rows = parallel.micro_batch * parallel.seq_len / parallel.cp
    return Moment(
        gradients=fresh * _gradient_params(batch, held),
        gathered=zero,
        activations=TOKEN_BYTES * rows,
        logits=zero,
        working=working,
    )
