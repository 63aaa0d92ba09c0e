"""Which kernels a profile measures, in the order in which they matter."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import product

from profiles.device import Device
from profiles.kernels.attention import attention
from profiles.kernels.convolution import convolution
from profiles.kernels.gemm import bmm, gemm
from profiles.kernels.kernel import Kernel
from profiles.kernels.layer import layer
from profiles.kernels.memory import allocate, copy, launch, transfer
from profiles.kernels.optimizer import adamw
from profiles.kernels.pointwise import cross_entropy, embedding, pointwise
from profiles.sizes import Sizes, sizes_for

_ODD = (-1, 1)  # neighbours of an aligned size


def kernels(device: Device, preset: str) -> list[Kernel]:
    """Every kernel of `quick` or `full`, small before large within a family, none twice."""
    sizes = sizes_for(device, preset)
    planned = [
        *_memory(device, sizes),
        *_ladder(sizes),
        *_products(sizes),
        *_attention(sizes),
        *_layers(sizes),
        *_pointwise(sizes),
        *_updates(sizes),
        *_convolutions(sizes),
        *_alignment(sizes),
        *_compiled(sizes),
    ]
    return list({each.key: each for each in planned}.values())


def _memory(device: Device, sizes: Sizes) -> Iterator[Kernel]:
    yield launch()
    yield from (copy(size) for size in sizes.copies)
    yield copy(sizes.copies[-1], cold=True)
    if device.kind == "cuda":
        for size, direction, pinned in product(sizes.transfers, ("h2d", "d2h"), (True, False)):
            yield transfer(size, direction, pinned=pinned)
    if device.kind != "mps":
        yield allocate(sizes.copies[-1])


def _ladder(sizes: Sizes) -> Iterator[Kernel]:
    """Cubes in every format: speed against size, and what a format costs."""
    for number_format, side in product(sizes.all_formats, sizes.cubes):
        weighed = sizes.weighed and side == sizes.cubes[-1]
        yield replace(gemm(side, side, side, number_format), weighed=weighed)


def _products(sizes: Sizes) -> Iterator[Kernel]:
    for number_format in sizes.formats:
        ordered = sorted(sizes.products, key=lambda each: each[0] * each[1] * each[2])
        yield from (gemm(*shape, number_format) for shape in ordered)
        for shape, way in product(sizes.backward_products, ("input", "weight")):
            yield gemm(*shape, number_format, way)
        yield from (gemm(*shape, number_format, cold=True) for shape in sizes.cold_products)
        yield from (bmm(*shape, number_format) for shape in sizes.batched)


def _alignment(sizes: Sizes) -> Iterator[Kernel]:
    side = sizes.aligned
    for number_format, off in product(sizes.formats, _ODD):
        yield gemm(side + off, side, side, number_format)
        yield gemm(side, side + off, side, number_format)
        yield gemm(side, side, side + off, number_format)


def _attention(sizes: Sizes) -> Iterator[Kernel]:
    heads, width = sizes.heads
    for number_format, length in product(sizes.formats, sizes.lengths):
        for backward in (False, True):
            yield attention(1, heads, length, width, number_format, backward=backward)
    for number_format in sizes.formats:
        for backward in (False, True):
            yield attention(
                1, heads, sizes.lengths[-2], width, number_format, causal=False, backward=backward
            )


def _pointwise(sizes: Sizes) -> Iterator[Kernel]:
    for number_format, (rows, width) in product(sizes.formats, sizes.planes):
        for name in ("layer_norm", "rms_norm", "softmax", "gelu", "silu", "dropout"):
            yield pointwise(name, rows, width, number_format)
            yield pointwise(name, rows, width, number_format, backward=True)
        yield pointwise("add", rows, width, number_format)
    for number_format, (rows, vocab) in product(sizes.formats, sizes.logits):
        yield cross_entropy(rows, vocab, number_format)
    for rows, vocab, width in sizes.embeddings:
        yield embedding(rows, vocab, width, "fp32")


def _updates(sizes: Sizes) -> Iterator[Kernel]:
    for variant, (tensors, elements) in product(sizes.variants, sizes.parameters):
        yield adamw(tensors, elements, "fp32", variant)


def _convolutions(sizes: Sizes) -> Iterator[Kernel]:
    for number_format, layout, backward in product(sizes.formats, ("nchw", "nhwc"), (False, True)):
        for shape in sizes.convolutions:
            yield convolution(*shape, number_format, layout=layout, backward=backward)


def _layers(sizes: Sizes) -> Iterator[Kernel]:
    for number_format, (batch, length, dimensions) in product(sizes.formats, sizes.layers):
        yield layer(batch, length, dimensions, number_format)


def _compiled(sizes: Sizes) -> Iterator[Kernel]:
    """Last, since compiling takes a minute."""
    if sizes.compiled:
        for number_format in sizes.formats:
            yield layer(*sizes.layers[-1], number_format, compiled=True)
