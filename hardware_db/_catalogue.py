"""The accelerators by id and by every other name that people and drivers give them."""

from __future__ import annotations

from functools import cache
from typing import Literal, cast

from hardware_db._accelerator import Accelerator, Achievable, Link
from hardware_db._names import Match, find
from hardware_db._tables import GIB, GIGA, MEGA, MIB, TERA, Row, integer, number, rows, words

# Columns that hold a format's peak, best first: a matrix unit where there is one. TFLOP/s.
_PEAK_COLUMNS = {
    "fp64": ("fp64_matrix_tflops", "fp64_vector_tflops"),
    "fp32": ("fp32_matrix_tflops", "fp32_vector_tflops"),
    "tf32": ("tf32_tflops",),
    "fp16": ("fp16_fp32_accumulate_tflops",),
    "bf16": ("bf16_tflops",),
    "fp8": ("fp8_tflops",),
    "int8": ("int8_tops",),
    "fp4": ("fp4_tflops",),
}


def accelerators() -> tuple[Accelerator, ...]:
    """Every accelerator in the table, in its order (by maker, then generation)."""
    return tuple(_load(row["sku_id"]) for row in rows("accelerators"))


def accelerator(name: str, *, memory_bytes: float | None = None) -> Accelerator:
    """The accelerator of this id, product name, driver name or label.

    `memory_bytes`, the total memory that the driver reports, decides between parts that share a
    name. Raises AmbiguousName for a family (`A100`), with the variants and how they differ, and
    UnknownName with the nearest known names.

    >>> accelerator("NVIDIA GeForce RTX 4090").sku_id
    'rtx-4090'
    >>> accelerator("NVIDIA GeForce RTX 3080", memory_bytes=10.5e9).sku_id
    'rtx-3080-10gb'
    """
    return _load(resolve(name, memory_bytes=memory_bytes).sku_id)


def resolve(name: str, *, memory_bytes: float | None = None) -> Match:
    """The id behind a name, and what was assumed to get there (empty when nothing was).

    >>> resolve("A100-80GB").sku_id, resolve("A100-80GB").note
    ('a100-sxm4-80gb', 'memory stated, form factor not: the SXM part, as cloud catalogues mean it')
    """
    return find(name, memory_bytes)


@cache
def _load(sku_id: str) -> Accelerator:
    row = _row(sku_id)
    gigabytes = number(row["nameplate_gb"])
    return Accelerator(
        sku_id=sku_id,
        vendor=row["vendor"],
        name=row["name"],
        architecture=row["architecture"],
        compute_capability=_capability(row["compute_capability"]),
        gfx_target=row["gfx_target"] or None,
        year=int(row["year"]),
        form_factor=row["form_factor"],
        nameplate_gb=gigabytes,
        memory_bytes=None if gigabytes is None else gigabytes * GIB,
        usable_bytes=number(row["usable_gib"], GIB),
        usable_basis=cast(Literal["measured", "rule"] | None, row["usable_basis"] or None),
        usable_source=row["usable_source"],
        memory_type=row["memory_type"],
        memory_bandwidth=number(row["memory_bandwidth_gbyte_per_s"], GIGA),
        peak_flops=_peaks(row),
        fp16_accumulate_flops=number(row["fp16_fp16_accumulate_tflops"], TERA),
        link=_link(row),
        pcie_bytes_per_second=number(row["pcie_oneway_gbyte_per_s"], GIGA),
        host_link_name=row["host_link_name"] or None,
        host_bytes_per_second=number(row["host_link_oneway_gbyte_per_s"], GIGA),
        tdp_watts=number(row["tdp_watts"]),
        multiprocessors=integer(row["multiprocessors"]),
        boost_hertz=number(row["boost_mhz"], MEGA),
        l2_bytes=number(row["l2_mib"], MIB),
        logical_devices=int(row["logical_devices"]),
        msrp_usd=number(row["msrp_usd"]),
        achievable=_achievable().get(sku_id, {}),
        memory_fields=words(row["memory_fields"]),
        confidence=row["confidence"],
        as_of=row["as_of"],
        source=row["source"],
        note=row["note"],
    )


@cache
def _rows_by_id() -> dict[str, Row]:
    return {row["sku_id"]: row for row in rows("accelerators")}


def _row(sku_id: str) -> Row:
    return _rows_by_id()[sku_id]


def _capability(cell: str) -> tuple[int, int] | None:
    if not cell:
        return None
    major, minor = cell.split(".")
    return int(major), int(minor)


def _peaks(row: Row) -> dict[str, float]:
    peaks = {}
    for format, columns in _PEAK_COLUMNS.items():
        stated = next((row[column] for column in columns if row[column]), "")
        if stated:
            peaks[format] = float(stated) * TERA
    return peaks


def _link(row: Row) -> Link | None:
    rate = number(row["link_oneway_gbyte_per_s"], GIGA)
    if not row["link_name"] or rate is None:
        return None
    size = int(row["link_domain_devices"])
    return Link(name=row["link_name"], bytes_per_second=rate, domain_size=size)


@cache
def _achievable() -> dict[str, dict[str, Achievable]]:
    table: dict[str, dict[str, Achievable]] = {}
    for row in rows("achievable"):
        table.setdefault(row["sku_id"], {})[row["format"]] = Achievable(
            format=row["format"],
            fraction=float(row["fraction"]),
            method=row["method"],
            confidence=row["confidence"],
            source=row["source"],
            note=row["note"],
        )
    return table
