"""The largest micro-batch that fits, by doubling and bisection; out of memory is an answer."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass

from profiles.device import Device
from profiles.errors import ProfileError

_MOST = 65536
_HEAD = 0.95  # of the limit that a prediction may reach before it is tried


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One micro-batch that was tried, or foreseen not to fit."""

    micro_batch: int
    fits: bool
    peak_bytes: int | None  # None where it did not run to its end
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Largest:
    """The answer with everything that was tried for it."""

    micro_batch: int | None  # None = not even one sequence fits
    limit_bytes: int | None
    bounded: bool  # False: the search ended at its own limit, more may fit
    attempts: tuple[Attempt, ...]


def largest_micro_batch(
    peak_of: Callable[[int], int],
    device: Device,
    *,
    limit_bytes: int | None = None,
    most: int = _MOST,
) -> Largest:
    """The largest micro-batch whose step runs, where `peak_of(n)` runs one and returns its peak.

    Running out of memory is caught and cleaned up. On a CPU, where the system would end the whole
    process, sizes that two smaller ones predict beyond `limit_bytes` (default: what is free now)
    are not tried.
    """
    if most < 1:
        raise ProfileError("most", most, "at least 1")
    limit = limit_bytes if limit_bytes is not None else device.free_bytes
    attempts: list[Attempt] = []

    def fits(size: int) -> bool:
        attempts.append(_try(peak_of, size, device, limit, attempts))
        return attempts[-1].fits

    low, high = 0, 1
    while high <= most and fits(high):
        low, high = high, 2 * high
    bounded = high <= most or low < most
    high = min(high, most + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return Largest(
        micro_batch=low or None,
        limit_bytes=limit,
        bounded=bounded and low < most,
        attempts=tuple(attempts),
    )


def _try(
    peak_of: Callable[[int], int],
    size: int,
    device: Device,
    limit: int | None,
    before: list[Attempt],
) -> Attempt:
    foreseen = _foreseen(size, before)
    if device.kind != "cuda" and limit is not None and foreseen and foreseen > _HEAD * limit:
        reason = f"foreseen {foreseen:.4g} bytes of {limit:.4g}"
        return Attempt(micro_batch=size, fits=False, peak_bytes=None, reason=reason)
    try:
        peak = peak_of(size)
    except (RuntimeError, MemoryError) as error:
        if not _out_of_memory(error):
            raise
        reason = " ".join(str(error).split())[:160]
        return Attempt(micro_batch=size, fits=False, peak_bytes=None, reason=reason)
    finally:
        gc.collect()
        device.release()
    fits = limit is None or device.kind == "cuda" or peak <= limit
    return Attempt(micro_batch=size, fits=fits, peak_bytes=peak)


def _foreseen(size: int, before: list[Attempt]) -> float | None:
    """Peak at `size` on the line through the two largest sizes that ran."""
    ran = {each.micro_batch: each.peak_bytes for each in before if each.peak_bytes is not None}
    if len(ran) < 2:
        return None
    (x0, y0), (x1, y1) = sorted(ran.items())[-2:]
    return y1 + (y1 - y0) / (x1 - x0) * (size - x1)


def _out_of_memory(error: Exception) -> bool:
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(
        word in text for word in ("out of memory", "allocate memory", "not enough memory")
    )
