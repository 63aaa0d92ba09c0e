"""Seconds of a matrix product on a measured device: its own time, or a bounded efficiency curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.profile_device.levenberg import least_squares
from planner.profile_device.reader import Measured

Array = np.ndarray[Any, np.dtype[Any]]
Sides = Array | float

FEWEST = 6  # shapes that a curve needs
PASSES = ("forward", "input", "weight")
_REACH = 1.0  # doublings of a dimension over which a measured shape's residual fades
_TRUST = 0.3  # weight that a far shape's residual must overcome
_PRIOR = 0.15  # how strongly a parameter is held to its start, per doubling
_DOUBT = 0.3  # weight of a doubtful measurement in the fit


@dataclass(frozen=True, slots=True, kw_only=True)
class Shapes:
    """Measured products of one format, (n,) each."""

    m: Array
    n: Array
    k: Array
    way: Array  # code of the pass
    seconds: Array
    bytes: Array  # compulsory traffic
    weight: Array  # 1, or less where the measurement is doubtful

    @property
    def flops(self) -> Array:
        return 2 * self.m * self.n * self.k

    def without(self, index: int) -> Shapes:
        """All but one shape."""
        keep = np.arange(len(self.m)) != index
        return Shapes(**{name: getattr(self, name)[keep] for name in Shapes.__dataclass_fields__})


@dataclass(frozen=True, slots=True, kw_only=True)
class ProductCurve:
    """2·m·n·k / (P·e(m)·e(n)·e(k)·pass) + bytes/B + start, never above the roofline.

    e(x) = x/(x + x₀) is what short dimensions leave of the best rate P. Near a measured shape the
    curve bends to it; a measured shape answers itself.
    """

    shapes: Shapes
    parameters: Array  # logarithms: start, 1/P, m0, n0, k0, 1/B, input, weight
    residuals: Array  # (n,) logarithm of measured over curve
    peak: float  # FLOP/s of the fastest measured product
    bandwidth: float  # bytes/s of the fastest measured traffic, caches included
    element_bytes: float

    def seconds(self, m: Sides, n: Sides, k: Sides, way: str = "forward") -> Array:
        """Seconds of products of these dimensions (arrays that broadcast)."""
        m, n, k = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (m, n, k)))
        code = PASSES.index(way)
        moved = self.element_bytes * (m * k + k * n + m * n)
        curve = _curve(self.parameters, m, n, k, np.full(m.shape, code), moved)
        bent = curve * np.exp(self._bend(m, n, k, code))
        bounded = np.maximum(bent, np.maximum(2 * m * n * k / self.peak, moved / self.bandwidth))
        return self._answered(m, n, k, code, bounded)

    def terms(
        self, m: Sides, n: Sides, k: Sides, way: str = "forward"
    ) -> tuple[Array, Array, Array]:
        """Seconds of start, compute and traffic by the curve alone."""
        m, n, k = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (m, n, k)))
        moved = self.element_bytes * (m * k + k * n + m * n)
        return _terms(self.parameters, m, n, k, np.full(m.shape, PASSES.index(way)), moved)

    def _distances(self, m: Array, n: Array, k: Array, code: int) -> Array:
        """(..., shapes) in doublings; another pass is one doubling away."""
        known = self.shapes
        apart = sum(
            np.log2(np.maximum(x, 1)[..., None] / y) ** 2
            for x, y in ((m, known.m), (n, known.n), (k, known.k))
        )
        result: Array = np.sqrt(apart + (known.way != code))
        return result

    def _bend(self, m: Array, n: Array, k: Array, code: int) -> Array:
        near = np.exp(-0.5 * (self._distances(m, n, k, code) / _REACH) ** 2) * self.shapes.weight
        result: Array = np.sum(near * self.residuals, axis=-1) / (np.sum(near, axis=-1) + _TRUST)
        return result

    def _answered(self, m: Array, n: Array, k: Array, code: int, otherwise: Array) -> Array:
        distances = self._distances(m, n, k, code)
        nearest = np.argmin(distances, axis=-1)
        exact = np.take_along_axis(distances, nearest[..., None], axis=-1)[..., 0] == 0
        result: Array = np.where(exact, self.shapes.seconds[nearest], otherwise)
        return result

    def measured(self, m: Sides, n: Sides, k: Sides, way: str = "forward") -> Array:
        """Whether a shape was measured itself, booleans."""
        m, n, k = np.broadcast_arrays(*(np.asarray(each, dtype=np.float64) for each in (m, n, k)))
        result: Array = np.min(self._distances(m, n, k, PASSES.index(way)), axis=-1) == 0
        return result


def is_product(row: Measured) -> bool:
    """Whether a result is a matrix product that a curve can take."""
    return (
        row.kernel == "gemm"
        and all(_is_size(row.shape.get(name)) for name in ("m", "n", "k"))
        and row.shape.get("pass", "forward") in PASSES
        and row.flops > 0
        and row.bytes > 0
    )


def is_steady(row: Measured) -> bool:
    """Whether it is a product whose operands stayed in the caches between calls, where they fit."""
    return is_product(row) and row.mode == "steady"


def _is_size(value: object) -> bool:
    return isinstance(value, int) and value > 0


def shapes_of(results: Sequence[Measured], number_format: str) -> Shapes | None:
    """The measured products of a format; None where they are too few for a curve."""
    rows = [each for each in results if each.format == number_format and is_steady(each)]
    if len(rows) < FEWEST:
        return None

    def column(name: str) -> Array:
        return np.array([float(each.shape[name]) for each in rows])

    return Shapes(
        m=column("m"),
        n=column("n"),
        k=column("k"),
        way=np.array([PASSES.index(str(each.shape.get("pass", "forward"))) for each in rows]),
        seconds=np.array([each.seconds for each in rows]),
        bytes=np.array([each.bytes for each in rows]),
        weight=np.array([_DOUBT if each.doubtful else 1.0 for each in rows]),
    )


def fit_products(
    shapes: Shapes, element_bytes: float, *, begin: Array | None = None
) -> ProductCurve:
    """The curve through measured products, in logarithms, each parameter held near its prior.

    `begin` is where the search starts, the prior where nothing is given.
    """
    peak = float(np.max(shapes.flops / shapes.seconds))
    bandwidth = float(np.max(shapes.bytes / shapes.seconds))
    start = np.log(
        [
            float(np.min(shapes.seconds)) / 10,
            1 / peak,
            16.0,
            16.0,
            16.0,
            1 / (10 * bandwidth),
            1.0,
            1.0,
        ]
    )
    root = np.sqrt(shapes.weight)

    def residuals(parameters: Array) -> Array:
        curve = _curve(parameters, shapes.m, shapes.n, shapes.k, shapes.way, shapes.bytes)
        apart = np.log(shapes.seconds / curve)
        robust = np.sign(apart) * np.sqrt(2 * (np.sqrt(1 + (apart / 0.2) ** 2) - 1)) * 0.2
        held = _PRIOR * 0.2 * (parameters - start) / np.log(2)
        result: Array = np.concatenate([root * robust, held])
        return result

    parameters = least_squares(residuals, start if begin is None else begin)
    curve = _curve(parameters, shapes.m, shapes.n, shapes.k, shapes.way, shapes.bytes)
    return ProductCurve(
        shapes=shapes,
        parameters=parameters,
        residuals=np.log(shapes.seconds / curve),
        peak=peak,
        bandwidth=bandwidth,
        element_bytes=element_bytes,
    )


def _curve(parameters: Array, m: Array, n: Array, k: Array, way: Array, moved: Array) -> Array:
    start, compute, traffic = _terms(parameters, m, n, k, way, moved)
    result: Array = start + compute + traffic
    return result


def _terms(
    parameters: Array, m: Array, n: Array, k: Array, way: Array, moved: Array
) -> tuple[Array, Array, Array]:
    start, per_flop, m0, n0, k0, per_byte, by_input, by_weight = np.exp(parameters)
    share = m / (m + m0) * n / (n + n0) * k / (k + k0)
    factor = np.array([1.0, by_input, by_weight])[way]
    compute = 2 * m * n * k * per_flop / np.maximum(share, 1e-12) * factor
    return np.full_like(compute, start), compute, moved * per_byte
