"""Read a profile file: the few fields that planning needs, each checked."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planner.errors import PlannerError
from planner.named_file import opened
from profiles.links import COLLECTIVES, follows_shape

SCHEMA = "forerun-profile/1"
MOST_BYTES = 64 * 2**20
MOST_RESULTS = 20_000
MOST_RATE = 1e19  # FLOP/s or bytes/s of one device: ten times what any promises
MOST_LINK_RATE = 1e14  # bytes/s of a collective: thirty times what any link promises
SHORTEST, LONGEST = 1e-10, 1e6  # seconds of a call: under any clock's tick, and eleven days
LEAST_MEMORY, MOST_MEMORY = 2**20, 2**50  # bytes
MOST_SIZE = 2**53  # of a dimension
FIELD = "hardware.profile"
_LONGEST = 80  # characters of a device's name
_LONGEST_WORD = 40  # of a word in a shape
_DATE = 10  # of 2026-11-30T12:00:00
DOUBTFUL = frozenset({"unreliable", "wrong-result", "single-sample"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One kernel that ran."""

    kernel: str
    format: str
    mode: str  # cold | steady
    shape: Mapping[str, int | str]
    seconds: float  # a call, median
    flops: float
    bytes: float  # compulsory traffic
    doubtful: bool  # flagged unreliable, wrong or sampled once


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A profile file as planning sees it."""

    device_name: str
    kind: str  # cpu | cuda | mps
    sku_id: str | None
    memory_bytes: float | None
    threads: int | None  # of the host
    created: str
    complete: bool
    results: tuple[Measured, ...]
    cache_bytes: float | None = None  # of the last level


def read_recorded(path: str | Path) -> Recorded:
    """The profile in a file. Raises PlannerError, field `hardware.profile`, for anything else."""
    try:
        with opened(Path(path).expanduser()) as file:
            raw = file.read(MOST_BYTES + 1)
    except (OSError, ValueError, RuntimeError) as error:  # also a home that is not known
        reason = getattr(error, "strerror", None) or str(error)
        raise PlannerError(FIELD, str(path), f"cannot be read: {reason}") from error
    if len(raw) > MOST_BYTES:
        raise PlannerError(FIELD, str(path), f"larger than {MOST_BYTES >> 20} MiB: no profile")
    try:
        found = json.loads(raw)
    except (ValueError, RecursionError):
        raise PlannerError(FIELD, str(path), "is no JSON: measure with forerun profile") from None
    return recorded_of(found, str(path))


def recorded_of(found: Any, path: str) -> Recorded:
    """The profile in a parsed JSON value."""
    if not isinstance(found, dict) or found.get("schema") != SCHEMA:
        schema = found.get("schema") if isinstance(found, dict) else None
        remedy = f"schema {schema!r}, this version reads {SCHEMA}: measure again"
        raise PlannerError(FIELD, path, remedy[:200])
    device, results = found.get("device"), found.get("results")
    if not isinstance(device, dict) or not isinstance(device.get("name"), str):
        raise PlannerError(FIELD, path, "damaged: it names no device")
    if not isinstance(results, list):
        raise PlannerError(FIELD, path, "damaged: it holds no list of results")
    if len(results) > MOST_RESULTS:
        remedy = f"holds {len(results)} results: at most {MOST_RESULTS}, leave some groups out"
        raise PlannerError(FIELD, path, remedy)
    environment = found.get("environment")
    threads = environment.get("num_threads") if isinstance(environment, dict) else None
    return Recorded(
        device_name=_printable(device["name"]) or "unnamed device",
        kind=_printable(str(device.get("kind", ""))),
        sku_id=device.get("sku_id") if isinstance(device.get("sku_id"), str) else None,
        memory_bytes=_memory(device.get("memory_bytes"), path),
        threads=threads if isinstance(threads, int) else None,
        created=_printable(str(found.get("created", "")))[:_DATE],
        complete=found.get("complete", True) is True,
        results=tuple(measured_of(results, path)),
        cache_bytes=_cache(device.get("cache_bytes")),
    )


def measured_of(results: Iterable[Any], path: str) -> Iterable[Measured]:
    """The kernels that ran; a damaged one is refused, not skipped."""
    for index, each in enumerate(results):
        try:
            if each["median_s"] is None:
                continue
            yield _measured(each)
        except (KeyError, TypeError, ValueError, OverflowError):
            raise PlannerError(FIELD, path, f"damaged: results[{index}]: measure again") from None


def _measured(row: Mapping[str, Any]) -> Measured:
    seconds = _positive(row["median_s"])
    flops, moved = float(row["flops"]), float(row["bytes"])
    if seconds is None or not SHORTEST <= seconds <= LONGEST:
        raise ValueError("not a time")
    if not 0 <= flops / seconds <= MOST_RATE:
        raise ValueError("not a time of this work")
    if not 0 <= moved / seconds <= MOST_RATE:
        raise ValueError("not a time of this traffic")
    shape = _shape(row["shape"])
    _check_work(row["kernel"], shape, flops)
    _check_collective(str(row["kernel"]), shape, moved, seconds)
    return Measured(
        kernel=str(row["kernel"]),
        format=str(row["format"]),
        mode=str(row["mode"]),
        shape=shape,
        seconds=seconds,
        flops=flops,
        bytes=moved,
        doubtful=bool(DOUBTFUL & set(row.get("flags", ()))),
    )


def _check_work(kernel: object, shape: Mapping[str, int | str], flops: float) -> None:
    """A product's work follows from its dimensions; rates are taken of either."""
    sides = [shape.get(name) for name in ("m", "n", "k")]
    if kernel != "gemm" or not all(isinstance(each, int) for each in sides):
        return
    work = 2.0 * math.prod(each for each in sides if isinstance(each, int))
    if not math.isclose(flops, work, rel_tol=1e-6):
        raise ValueError("not the work of this shape")


def _check_collective(
    kernel: str, shape: Mapping[str, int | str], moved: float, seconds: float
) -> None:
    """A collective's traffic follows from its buffer and its ranks, and links have their limits."""
    if not follows_shape(kernel, shape, moved):
        raise ValueError("not the traffic of this shape")
    if kernel in COLLECTIVES and moved / seconds > MOST_LINK_RATE:
        raise ValueError("not a time of this traffic")


def _memory(value: Any, path: str) -> float | None:
    """Bytes of a device's memory, null where its driver does not tell."""
    if value is None:
        return None
    size = _positive(value)
    if size is None or not LEAST_MEMORY <= size <= MOST_MEMORY:
        raise PlannerError(FIELD, path, f"damaged: device.memory_bytes is {value!r:.40}")
    return size


def _cache(value: Any) -> float | None:
    """Bytes of a device's last-level cache, None for what cannot be one."""
    size = _positive(value)
    return size if size is not None and size <= MOST_MEMORY else None


def _printable(text: str) -> str:
    """Without control characters, which would reach a terminal; cut where no name goes on."""
    return "".join(each for each in text[:_LONGEST] if each.isprintable()).strip()


def _shape(found: Any) -> dict[str, int | str]:
    if not isinstance(found, dict):
        raise TypeError("not a shape")
    shape: dict[str, int | str] = dict(found)
    for size in shape.values():
        if isinstance(size, bool) or not isinstance(size, int | str):
            raise ValueError("not a shape")
        if isinstance(size, int) and not 0 <= size <= MOST_SIZE:
            raise ValueError("not a size")
        if isinstance(size, str) and (len(size) >= _LONGEST_WORD or not size.isprintable()):
            raise ValueError("not a word")
    return shape


def _positive(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 < value <= sys.float_info.max else None
