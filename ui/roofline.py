"""A profile as a roofline: what each kernel reached against what the machine lets it reach."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from profiles.at_once import COPY, PRODUCT
from profiles.formats import FORMATS
from profiles.links import COLLECTIVES
from profiles.result import Profile, Result

CACHED = 1.25  # times the memory's rate, from which a copy is said to run in a cache
_FAMILIES = {
    "gemm": "products",
    "bmm": "products",
    "sdpa": "attention",
    "conv": "convolution",
    "layer": "layer",
    "layer_compiled": "layer",
    "adamw": "optimizer",
    "copy": "memory",
    "h2d": "memory",
    "d2h": "memory",
    "allocate": "memory",
    **dict.fromkeys((*COLLECTIVES, PRODUCT, COPY), "collective"),
    "launch": "launch",
    "layer_norm": "elementwise",
    "rms_norm": "elementwise",
    "softmax": "elementwise",
    "gelu": "elementwise",
    "silu": "elementwise",
    "dropout": "elementwise",
    "add": "elementwise",
    "cross_entropy": "elementwise",
    "embedding": "elementwise",
}
_PLACELESS = ("launch", "memory", "collective")  # their arithmetic, if any, says nothing
FAMILIES = (*dict.fromkeys(_FAMILIES.values()), "other")


def family(kernel: str) -> str:
    """What kind of work a kernel is.

    >>> family("sdpa_backward"), family("all_reduce")
    ('attention', 'collective')
    """
    return _FAMILIES.get(kernel.removesuffix("_backward"), "other")


def shape_text(result: Result) -> str:
    """The shape of a kernel in one line.

    >>> result = Result(kernel="gemm", format="bf16", shape={"m": 64, "n": 32, "k": 16},
    ...     mode="steady", median_s=1.0, iqr_s=0.0, n=3, flops=1.0, bytes=1.0)
    >>> shape_text(result)
    '64×32×16'
    """
    shape = result.shape
    if {"m", "n", "k"} <= set(shape):
        rest = [f"{name} {size}" for name, size in shape.items() if name not in ("m", "n", "k")]
        return ", ".join([f"{shape['m']}×{shape['n']}×{shape['k']}", *rest])
    return ", ".join(f"{name} {size}" for name, size in shape.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """One measured kernel that computes."""

    result: Result
    intensity: float  # FLOP a byte of compulsory traffic
    rate: float  # FLOP/s

    @property
    def family(self) -> str:
        return family(self.result.kernel)


@dataclass(frozen=True, slots=True, kw_only=True)
class Roof:
    """The best rate of a format."""

    format: str
    rate: float  # FLOP/s
    best: Result  # the product that reached it


@dataclass(frozen=True, slots=True, kw_only=True)
class Roofline:
    """What bounds the kernels of one machine, and the kernels."""

    points: tuple[Point, ...]
    roofs: Mapping[str, Roof]  # by format, in the order of profiles.formats.FORMATS
    memory: float | None  # bytes/s of the largest copy
    cache: float | None  # bytes/s of the fastest copy, where caches make it clearly faster

    def ridge(self, number_format: str) -> float | None:
        """FLOP a byte from which a kernel can use all arithmetic of a format."""
        roof = self.roofs.get(number_format)
        return roof.rate / self.memory if roof and self.memory else None


def roofline_of(profile: Profile) -> Roofline:
    """The roofline of a profile; kernels whose result was wrong are left out."""
    sound = [each for each in profile.results if each.measured and "wrong-result" not in each.flags]
    points = [point for each in sound if (point := _point(each)) is not None]
    found = {each: _roof(points, each) for each in FORMATS}
    memory, cache = _traffic(sound)
    return Roofline(
        points=tuple(points),
        roofs={name: roof for name, roof in found.items() if roof is not None},
        memory=memory,
        cache=cache,
    )


def _point(result: Result) -> Point | None:
    rate = result.flops_per_second
    if not rate or not result.bytes or family(result.kernel) in _PLACELESS:
        return None
    return Point(result=result, intensity=result.flops / result.bytes, rate=rate)


def _roof(points: list[Point], number_format: str) -> Roof | None:
    """The best product of a format; another kernel does not stand in for the arithmetic units."""
    own = [p for p in points if p.result.format == number_format and p.family == "products"]
    if not own:
        return None
    best = max(own, key=lambda point: point.rate)
    return Roof(format=number_format, rate=best.rate, best=best.result)


def copies(profile: Profile) -> list[Result]:
    """Copies inside the device that leave the caches as they are, by size."""
    found = [each for each in profile.find("copy", "fp32") if each.mode == "steady"]
    return sorted(found, key=lambda each: each.bytes)


def _traffic(results: list[Result]) -> tuple[float | None, float | None]:
    found = sorted(
        (each for each in results if each.kernel == "copy" and each.mode == "steady"),
        key=lambda each: each.bytes,
    )
    if not found:
        return None, None
    memory = found[-1].bytes_per_second or 0.0
    fastest = max(each.bytes_per_second or 0.0 for each in found)
    return memory, fastest if fastest > CACHED * memory else None
