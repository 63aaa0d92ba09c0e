"""Convolutions and batched products by how they compare with the plain product they stand for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.profile_device.products import ProductCurve
from planner.profile_device.reader import Measured

Array = np.ndarray[Any, np.dtype[Any]]
Dims = tuple[float, float, float, float]  # m, n, k, groups

_REACH = 2.0  # doublings of a dimension over which a measured comparison fades
_TRUST = 1e-6  # so that far from everything the nearest decide


@dataclass(frozen=True, slots=True, kw_only=True)
class Relative:
    """Measured operations of one kind, format and direction against the product curve."""

    curve: ProductCurve
    ways: tuple[str, ...]  # passes that the operation consists of
    dims: Array  # (n, 4) m, n, k, groups of the forward product
    seconds: Array  # (n,)
    ratios: Array  # (n,) logarithm of measured over the curve's

    def answer(self, dims: Dims, ways: tuple[str, ...] | None = None) -> tuple[float, bool]:
        """Seconds of the operation, or of some of its passes alone, and whether it was measured."""
        apart = np.sqrt(np.sum(np.log2(self.dims / np.array(dims)) ** 2, axis=1))
        nearest = int(np.argmin(apart))
        if apart[nearest] == 0 and ways is None:
            return float(self.seconds[nearest]), True
        near = np.exp(-0.5 * ((apart - apart[nearest]) / _REACH) ** 2) + _TRUST
        ratio = float(np.exp(np.sum(near * self.ratios) / np.sum(near)))
        return ratio * grouped_seconds(self.curve, dims, ways or self.ways), False


def grouped_seconds(curve: ProductCurve, dims: Dims, ways: Sequence[str]) -> float:
    """Seconds of `groups` equal products in one launch, the passes of `ways` one after another."""
    m, n, k, groups = dims
    found = 0.0
    for way in ways:
        sides = {"forward": (m, n, k), "input": (m, k, n), "weight": (n, k, m)}[way]
        one = float(curve.seconds(*sides, way))
        start = float(curve.terms(*sides, way)[0])
        found += one + (groups - 1) * max(one - start, 0.0)
    return found


def relative(
    curve: ProductCurve,
    rows: Sequence[tuple[Dims, float]],
    ways: tuple[str, ...],
) -> Relative | None:
    """Compare measured (dims, seconds) with the curve. None where nothing was measured."""
    if not rows:
        return None
    expected = [grouped_seconds(curve, dims, ways) for dims, _ in rows]
    seconds = np.array([each for _, each in rows])
    return Relative(
        curve=curve,
        ways=ways,
        dims=np.array([dims for dims, _ in rows], dtype=np.float64),
        seconds=seconds,
        ratios=np.log(seconds / np.array(expected)),
    )


def batched_rows(results: Sequence[Measured], number_format: str) -> list[tuple[Dims, float]]:
    """Batched products of a format, with their seconds."""
    return _rows(results, "bmm", number_format, ("batch", "m", "n", "k"), _batched)


def convolution_rows(
    results: Sequence[Measured], kernel: str, number_format: str, layout: str
) -> list[tuple[Dims, float]]:
    """Convolutions (`conv`, `conv_backward`) of a format and memory layout, with their seconds."""
    names = ("batch", "channels", "side", "out_channels", "kernel")
    chosen = [each for each in results if each.shape.get("layout") == layout]
    return _rows(chosen, kernel, number_format, names, _convolved)


def _batched(sizes: Sequence[float]) -> Dims:
    batch, m, n, k = sizes
    return m, n, k, batch


def _convolved(sizes: Sequence[float]) -> Dims:
    """Positions by output channels by inputs of one position; the padding keeps the side."""
    batch, channels, side, out_channels, kernel = sizes
    return batch * side**2, out_channels, channels * kernel**2, 1.0


def _rows(
    results: Sequence[Measured],
    kernel: str,
    number_format: str,
    names: Sequence[str],
    dims: Callable[[Sequence[float]], Dims],
) -> list[tuple[Dims, float]]:
    found = []
    for each in results:
        sizes = [each.shape.get(name) for name in names]
        if each.kernel == kernel and each.format == number_format and all(map(_is_size, sizes)):
            found.append((dims([float(size) for size in sizes if size is not None]), each.seconds))
    return found


def _is_size(value: object) -> bool:
    return isinstance(value, int) and value > 0
