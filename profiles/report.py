"""A profile, a study or a step as lines for a person."""

from __future__ import annotations

from collections.abc import Sequence

from profiles.at_once import COPY, PRODUCT, slowdowns_between
from profiles.diffusion import Study
from profiles.formats import FORMATS
from profiles.links import Group, links_between
from profiles.result import Profile, Result
from profiles.step import StepMeasurement

Cell = str | None


def table(columns: Sequence[str], rows: Sequence[Sequence[Cell]]) -> list[str]:
    """Aligned columns, the first to the left, the rest to the right; unknown is a dash.

    >>> table(["format", "rate"], [["bf16", "93.8"], ["tf32", None]])
    ['format  rate', 'bf16    93.8', 'tf32       -']
    """
    cells = [list(columns), *([each or "-" for each in row] for row in rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(columns))]
    return [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    ]


def profile_lines(profile: Profile) -> list[str]:
    """The profile in one screen."""
    device, environment = profile.device, profile.environment
    state = "complete" if profile.complete else "incomplete: --resume continues it"
    counted = [each for each in profile.results if each.measured]
    return [
        f"{device['name']} ({device.get('sku_id') or 'not in the accelerator table'}), "
        f"torch {environment.get('torch')}, {environment.get('num_threads')} host threads",
        f"{profile.preset} profile of {profile.created}, {state}: "
        f"{len(counted)} kernels measured, {len(profile.results) - len(counted)} not run",
        "",
        *table(["products", "best", "at m×n×k", "of FP32", "notes"], _formats(profile)),
        "",
        *table(["memory-bound", "bytes", "rate", "spread"], _moved(profile)),
        "",
        *table(["attention", "length", "forward", "with backward"], _attention(profile)),
        "",
        *link_lines(profile.results, after=[""]),
        *(f"- {each}" for each in (*_launch(profile), *profile.findings)),
    ]


def _best(results: Sequence[Result]) -> Result | None:
    return max(results, key=lambda each: each.flops_per_second or 0.0, default=None)


def _formats(profile: Profile) -> list[list[Cell]]:
    base = _best(profile.find("gemm", "fp32"))
    rows: list[list[Cell]] = []
    for number_format in FORMATS:
        best = _best(profile.find("gemm", number_format))
        if best is None:
            why = [each for each in profile.results if each.format == number_format and each.reason]
            if why:
                rows.append([number_format, None, None, None, why[0].flags[0]])
            continue
        rate = best.flops_per_second or 0.0
        sizes = "×".join(str(best.shape[name]) for name in ("m", "n", "k"))
        ratio = rate / (base.flops_per_second or 1.0) if base else None
        marks = [each for each in best.flags if each in ("emulated", "unreliable", "wrong-result")]
        rows.append(
            [
                number_format,
                si(rate, "FLOP/s"),
                sizes,
                None if ratio is None else f"{ratio:.2f}",
                ", ".join(marks),
            ]
        )
    return rows


def _moved(profile: Profile) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for each in profile.results:
        if each.kernel in ("copy", "h2d", "d2h") and each.median_s:
            how = str(each.shape.get("memory", each.mode))
            spread = (each.iqr_s or 0.0) / each.median_s
            rate = si(each.bytes_per_second or 0.0, "B/s")
            size = binary(int(each.shape["bytes"]))
            rows.append([f"{each.kernel}, {how}", size, rate, f"{100 * spread:.0f} %"])
    return rows


def _attention(profile: Profile) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    both = {each.key: each for each in profile.results if each.measured}
    for each in profile.results:
        if each.kernel != "sdpa" or not each.measured:
            continue
        whole = both.get(each.key.replace("sdpa/", "sdpa_backward/"))
        causal = "causal" if each.shape["causal"] else "full"
        rows.append(
            [
                f"{each.format}, {causal}",
                str(each.shape["length"]),
                si(each.flops_per_second or 0.0, "FLOP/s"),
                si(whole.flops_per_second or 0.0, "FLOP/s") if whole else None,
            ]
        )
    return rows


def link_lines(results: Sequence[Result], *, after: Sequence[str] = ()) -> list[str]:
    """Latency and bus bandwidth of collectives, fitted over their sizes, and `after`; nothing where
    none was measured."""
    rows: list[list[Cell]] = [
        [
            f"{name}, {_ranks(group)}",
            duration(link.latency_s) if link else None,
            si(link.bytes_per_second, "B/s") if link else None,
        ]
        for group, links in links_between(results).items()
        for name, link in links.items()
    ]
    if not rows:
        return []
    return [
        *table(["collectives, FP32", "latency", "bus bandwidth"], rows),
        *_slowdown_lines(results),
        *after,
    ]


def _slowdown_lines(results: Sequence[Result]) -> list[str]:
    return [
        f"{_ranks(group)} at once: a product takes {ratios[PRODUCT]:.2f}, a copy "
        f"{ratios[COPY]:.2f} times what one alone takes"
        for group, ratios in slowdowns_between(results).items()
        if {PRODUCT, COPY} <= set(ratios)
    ]


def _ranks(group: Group) -> str:
    nodes = f" on {group.nodes} nodes" if group.nodes > 1 else ""
    return f"{group.ranks} ranks{nodes} ({group.backend})"


def _launch(profile: Profile) -> list[str]:
    found = profile.find("launch", "fp32")
    if not found or found[0].median_s is None:
        return []
    return [f"the smallest operation takes {1e6 * found[0].median_s:.2g} µs"]


def study_lines(study: Study) -> list[str]:
    """The size-scaling study with the right and the wrong timing side by side."""
    columns = ["side", "NumPy", "torch", "speed-up", "cells/s", "unsynchronised", "would claim"]
    rows: list[list[Cell]] = [
        [
            str(row.side),
            duration(row.numpy_s),
            duration(row.torch_s),
            f"{row.speedup:.3g}",
            f"{row.cells_per_second:.3g}",
            duration(row.unsynchronised_s),
            f"{row.wrong_speedup:.3g}",
        ]
        for row in study.rows
    ]
    side = study.saturated_side
    return [
        f"2-D diffusion, FP32, one time step on {study.device}: NumPy on one thread, torch on "
        f"{study.threads}",
        *table(columns, rows),
        "the device still speeds up at the largest size"
        if side is None
        else f"the device is saturated from {side}² on",
        *(f"{side}² left out: {why}" for side, why in study.left_out),
    ]


def step_lines(name: str, found: StepMeasurement) -> list[str]:
    """One measured training step."""
    rows: list[list[Cell]] = [
        ["step", f"{duration(found.step_s)} ({duration(found.low_s)} to {duration(found.high_s)})"],
        ["steady steps", f"{found.n}, {found.warmup_steps} of warm-up dropped"],
        ["peak memory", f"{binary(found.peak_bytes)} ({found.memory_method})"],
    ]
    if found.phases is not None:
        parts = found.phases
        rows[1:1] = [
            ["forward", duration(parts.forward_s)],
            ["backward", duration(parts.backward_s)],
            ["optimizer", duration(parts.update_s)],
        ]
    if found.compile_s is not None:
        rows.append(["compilation", f"{duration(found.compile_s)}, {found.recompiles} recompiles"])
    if found.energy_j is not None:
        rows.append(["energy a step", f"{found.energy_j:.3g} J"])
    width = max(len(row[0] or "") for row in rows)
    return [
        name,
        *(f"{row[0]:<{width}}  {row[1]}" for row in rows),
        *(f"- {each}" for each in found.flags),
    ]


def si(value: float, unit: str) -> str:
    """Three digits with a decimal prefix.

    >>> si(9.38e10, "FLOP/s")
    '93.8 GFLOP/s'
    """
    for size, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= size:
            return f"{value / size:.3g} {prefix}{unit}"
    return f"{value:.3g} {unit}"


def binary(size: int) -> str:
    """Bytes with a binary prefix.

    >>> binary(262144)
    '256 KiB'
    """
    for power, prefix in ((3, "GiB"), (2, "MiB"), (1, "KiB")):
        if size >= 1024**power:
            return f"{size / 1024**power:.4g} {prefix}"
    return f"{size} B"


def duration(seconds: float) -> str:
    """Seconds in the unit that suits them.

    >>> duration(0.00123)
    '1.23 ms'
    """
    for size, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
