"""What a profile found that a person should know: slow formats, gains, alignment."""

from __future__ import annotations

from collections.abc import Sequence

from profiles.result import Result

SLOWER = 0.8  # of the FP32 rate, under which a format is called slower
FASTER = 1.2
MISALIGNED = 0.9  # of the aligned rate

_NAMES = {each: each.upper() for each in ("fp64", "tf32", "fp16", "bf16", "fp8", "int8")}


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


def _compared(results: Sequence[Result], number_format: str) -> str | None:
    base, other = _cubes(results, "fp32"), _cubes(results, number_format)
    name = _NAMES[number_format]
    if other and not any(each.measured for each in other.values()):
        first = next(iter(other.values()))
        return f"{name}: not measured: {first.reason}" if first.reason else None
    both = [side for side in base if side in other and base[side].measured and other[side].measured]
    if not both:
        return None
    side = max(both)
    ratio = (base[side].median_s or 0) / (other[side].median_s or 1)
    rate = other[side].flops_per_second or 0.0
    said = f"{name} products of {side}³ run at {rate / 1e9:.3g} GFLOP/s"
    skipped = [each for each in other.values() if "skipped-slow" in each.flags]
    more = f"; larger ones were skipped, {skipped[0].reason}" if skipped else ""
    emulated = ": the device emulates it" if "emulated" in other[side].flags else ""
    doubtful = any("unreliable" in each.flags for each in (base[side], other[side]))
    more += " (times vary by 25 % or more)" if doubtful else ""
    if ratio < SLOWER:
        return f"{said}, {1 / ratio:.3g} times slower than FP32{emulated}{more}"
    if ratio > FASTER:
        return f"{said}, {ratio:.3g} times faster than FP32{more}"
    return f"{said}, as fast as FP32{more}"


def _misaligned(results: Sequence[Result]) -> str | None:
    """The worst neighbour of an aligned cube."""
    worst: tuple[float, str] | None = None
    for number_format in ("fp32", "tf32", "bf16", "fp16"):
        for side, cube in _cubes(results, number_format).items():
            if not cube.measured:
                continue
            for each in _neighbours(results, number_format, side):
                share = (each.flops_per_second or 0) / (cube.flops_per_second or 1)
                sizes = "×".join(str(each.shape[name]) for name in ("m", "n", "k"))
                if worst is None or share < worst[0]:
                    worst = share, f"{number_format.upper()} {sizes} instead of {side}³"
    if worst is None or worst[0] > MISALIGNED:
        return None
    return f"alignment: {worst[1]} reaches {100 * worst[0]:.0f} % of the rate"


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
