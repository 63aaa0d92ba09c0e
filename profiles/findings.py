"""What a profile found that a person should know: slow formats, gains, alignment."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from profiles.result import Result

SLOWER = 0.8  # of the FP32 rate, under which a format is called slower
FASTER = 1.2
MISALIGNED = 0.9  # of the aligned rate

_NAMES = {each: each.upper() for each in ("fp64", "tf32", "fp16", "bf16", "fp8", "int8")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """Products of one format against FP32, at the largest cube that both ran."""

    format: str
    side: int
    rate: float  # FLOP/s
    ratio: float  # of the rate to FP32's
    emulated: bool
    skipped: str | None  # why larger ones were
    doubtful: bool  # times of one of the two vary by 25 % or more


def findings(results: Sequence[Result]) -> list[str]:
    """Sentences; the numbers are medians of products at the largest size that both formats ran."""
    found = [_compared(results, each) for each in _NAMES]
    found.append(_misaligned(results))
    return [each for each in found if each]


def _cubes(results: Sequence[Result], number_format: str) -> dict[int, Result]:
    return {
        int(each.shape["m"]): each
        for each in results
        if each.kernel == "gemm"
        and each.format == number_format
        and set(each.shape) == {"m", "n", "k"}
        and each.shape["m"] == each.shape["n"] == each.shape["k"]
    }


def comparison(results: Sequence[Result], number_format: str) -> Comparison | None:
    """A format against FP32; None where the largest size that both ran does not exist."""
    base, other = _cubes(results, "fp32"), _cubes(results, number_format)
    both = [side for side in base if side in other and base[side].measured and other[side].measured]
    if not both:
        return None
    side = max(both)
    skipped = [each for each in other.values() if "skipped-slow" in each.flags]
    return Comparison(
        format=number_format,
        side=side,
        rate=other[side].flops_per_second or 0.0,
        ratio=(base[side].median_s or 0) / (other[side].median_s or 1),
        emulated="emulated" in other[side].flags,
        skipped=skipped[0].reason if skipped else None,
        doubtful=any("unreliable" in each.flags for each in (base[side], other[side])),
    )


def not_measured(results: Sequence[Result], number_format: str) -> str | None:
    """Why no product of a format ran; None where one did or none was tried."""
    tried = _cubes(results, number_format)
    if not tried or any(each.measured for each in tried.values()):
        return None
    return next(iter(tried.values())).reason


def _compared(results: Sequence[Result], number_format: str) -> str | None:
    name = _NAMES[number_format]
    why = not_measured(results, number_format)
    if why:
        return f"{name}: not measured: {why}"
    found = comparison(results, number_format)
    if found is None:
        return None
    said = f"{name} products of {found.side}³ run at {found.rate / 1e9:.3g} GFLOP/s"
    more = f"; larger ones were skipped, {found.skipped}" if found.skipped else ""
    emulated = ": the device emulates it" if found.emulated else ""
    more += " (times vary by 25 % or more)" if found.doubtful else ""
    if found.ratio < SLOWER:
        return f"{said}, {1 / found.ratio:.3g} times slower than FP32{emulated}{more}"
    if found.ratio > FASTER:
        return f"{said}, {found.ratio:.3g} times faster than FP32{more}"
    return f"{said}, as fast as FP32{more}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Misalignment:
    """The worst neighbour of an aligned cube."""

    format: str
    sizes: str  # m×n×k
    side: int  # of the cube
    share: float  # of the cube's rate


def misalignment(results: Sequence[Result]) -> Misalignment | None:
    """The neighbour that loses most; None where none loses a tenth."""
    worst: Misalignment | None = None
    for number_format in ("fp32", "tf32", "bf16", "fp16"):
        for side, cube in _cubes(results, number_format).items():
            for each in _neighbours(results, number_format, side) if cube.measured else ():
                share = (each.flops_per_second or 0) / (cube.flops_per_second or 1)
                if worst is None or share < worst.share:
                    sizes = "×".join(str(each.shape[name]) for name in ("m", "n", "k"))
                    worst = Misalignment(format=number_format, sizes=sizes, side=side, share=share)
    return worst if worst is not None and worst.share <= MISALIGNED else None


def _misaligned(results: Sequence[Result]) -> str | None:
    found = misalignment(results)
    if found is None:
        return None
    name = f"{found.format.upper()} {found.sizes} instead of {found.side}³"
    return f"alignment: {name} reaches {100 * found.share:.0f} % of the rate"


def _neighbours(results: Sequence[Result], number_format: str, side: int) -> list[Result]:
    return [
        each
        for each in results
        if each.kernel == "gemm"
        and each.format == number_format
        and each.measured
        and set(each.shape) == {"m", "n", "k"}
        and sorted(abs(int(each.shape[name]) - side) for name in ("m", "n", "k")) == [0, 0, 1]
    ]
