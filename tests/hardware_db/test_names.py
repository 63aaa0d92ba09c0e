"""Names: what people, drivers and published runs call an accelerator."""

from __future__ import annotations

import csv

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hardware_db import (
    Accelerator,
    AmbiguousName,
    HardwareError,
    UnknownName,
    accelerator,
    accelerators,
    resolve,
)
from hardware_db._tables import rows

GIB = 2**30


def test_every_alias_leads_to_rows_that_exist():
    known = {part.sku_id for part in accelerators()}
    for row in rows("aliases"):
        assert set(row["sku_ids"].split(";")) <= known, row["alias"]


def test_every_alias_resolves_or_lists_its_variants():
    for row in rows("aliases"):
        if row["kind"] == "family":
            with pytest.raises(AmbiguousName) as refused:
                resolve(row["alias"])
            assert refused.value.candidates == tuple(row["sku_ids"].split(";"))
        else:
            assert resolve(row["alias"]).sku_id == row["sku_ids"]


def test_every_id_and_every_product_name_resolves_to_itself():
    for part in accelerators():
        assert resolve(part.sku_id).sku_id == part.sku_id
        assert resolve(part.sku_id.upper().replace("-", " ")).sku_id == part.sku_id
        assert resolve(part.name).sku_id == part.sku_id


@pytest.mark.parametrize("family", ["A100", "h100", "V100", "B200", "H200", "A100 PCIe", "GH200"])
def test_a_family_name_is_refused_and_says_how_the_variants_differ(family: str):
    with pytest.raises(AmbiguousName) as refused:
        accelerator(family)
    assert len(refused.value.candidates) >= 2
    for sku in refused.value.candidates:
        assert sku in refused.value.remedy
    assert "GB/s" in refused.value.remedy
    assert refused.value.field == "sku"
    assert refused.value.value == family


def test_h100_variants_include_the_power_limited_part():
    with pytest.raises(AmbiguousName) as refused:
        accelerator("H100")
    assert refused.value.candidates == (
        "h100-sxm5-80gb",
        "h100-sxm5-96gb",
        "h100-pcie-80gb",
        "h100-nvl-94gb",
    )
    assert "500 W" in refused.value.remedy


@pytest.mark.parametrize(
    ("name", "sku"),
    [
        ("NVIDIA A100-SXM4-80GB", "a100-sxm4-80gb"),
        ("NVIDIA A100-PCIE-40GB", "a100-pcie-40gb"),
        ("NVIDIA A100 80GB PCIe", "a100-pcie-80gb"),
        ("NVIDIA H100 80GB HBM3", "h100-sxm5-80gb"),
        ("NVIDIA H100 PCIe", "h100-pcie-80gb"),
        ("NVIDIA H100 NVL", "h100-nvl-94gb"),
        ("NVIDIA H200", "h200-sxm5-141gb"),
        ("NVIDIA B200", "b200-sxm6-180gb"),
        ("NVIDIA GH200 480GB", "gh200-96gb"),
        ("NVIDIA GeForce RTX 4090", "rtx-4090"),
        ("Tesla V100-SXM2-32GB", "v100-sxm2-32gb"),
        ("Tesla T4", "t4"),
        ("NVIDIA A10G", "a10g"),
        ("NVIDIA L40S", "l40s"),
        ("NVIDIA RTX 6000 Ada Generation", "rtx-6000-ada"),
        ("AMD Instinct MI300X", "mi300x-192gb"),
        ("a100-80gb", "a100-sxm4-80gb"),
        ("  H100_SXM5_80GB ", "h100-sxm5-80gb"),
        ("h100 sxm", "h100-sxm5-80gb"),
        ("NVIDIA H100 96GB (500 W)", "h100-sxm5-96gb"),
        ("RTX 3090 24 GB", "rtx-3090"),
        ("4090", "rtx-4090"),
        ("mi300x", "mi300x-192gb"),
        ("tpu v5e", "tpu-v5e"),
    ],
)
def test_names_of_drivers_shops_and_people(name: str, sku: str):
    assert accelerator(name).sku_id == sku


def test_an_assumption_is_stated():
    assert "SXM" in resolve("A100-80GB").note
    assert resolve("a100-sxm4-80gb").note == ""


@pytest.mark.parametrize(
    ("memory_gib", "sku"), [(15.77, "v100-sxm2-16gb"), (31.74, "v100-sxm2-32gb")]
)
def test_reported_memory_decides_between_parts_of_one_name(memory_gib: float, sku: str):
    assert accelerator("V100-SXM2", memory_bytes=memory_gib * GIB).sku_id == sku


def test_a_part_with_memory_that_no_row_has_is_not_taken_for_its_relative():
    with pytest.raises(UnknownName, match="rtx-3080-10gb"):
        accelerator("NVIDIA GeForce RTX 3080", memory_bytes=11.77 * GIB)
    with pytest.raises(UnknownName, match="none with 48 GB"):
        accelerator("L4 48GB")
    with pytest.raises(AmbiguousName, match="also sold with 12 GB"):
        accelerator("RTX 3080")


@pytest.mark.parametrize(
    ("name", "near"),
    [("h200x", "h200-sxm5-141gb"), ("mi300y", "mi300x-192gb"), ("rtx4091", "rtx-4090")],
)
def test_an_unknown_name_gives_the_nearest_known(name: str, near: str):
    with pytest.raises(UnknownName) as refused:
        accelerator(name)
    assert near in refused.value.candidates
    assert near in str(refused.value)


@pytest.mark.parametrize("name", ["", "  ", "-", "NVIDIA", "x" * 10_000, "💥", None, 7, ["h100"]])
def test_what_is_no_name_is_refused(name: object):
    with pytest.raises(UnknownName):
        accelerator(name)  # type: ignore[arg-type]


@given(st.text(max_size=200))
def test_any_text_resolves_or_is_refused_with_a_remedy(name: str):
    answer = _answer(name)
    if isinstance(answer, HardwareError):
        assert answer.remedy
        assert "\n" not in str(answer)


def test_labels_of_published_runs_resolve(shared):
    with (shared / "data/fidelity/runs.csv").open(encoding="utf-8") as file:
        labels = {(row["gpu"], row["sku_id"]) for row in csv.DictReader(file)}
    assert len(labels) > 10
    for label, sku in labels:
        assert accelerator(label).sku_id == sku, label
    with (shared / "data/fidelity/gpu_hours.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            assert accelerator(row["gpu"])


def test_catalogue_names_of_skypilot_resolve_unless_ambiguous(shared):
    with (shared / "data/hardware/alias_skypilot.csv").open(encoding="utf-8") as file:
        table = [row for row in csv.DictReader(file) if row["sku_id"]]
    for row in table:
        answer = _answer(row["skypilot_accelerator_name"])
        if isinstance(answer, AmbiguousName):
            assert row["sku_id"] in answer.candidates
        elif isinstance(answer, HardwareError):
            assert row["ambiguous"] == "yes", answer
        else:
            assert answer.sku_id == row["sku_id"]


def _answer(name: str) -> Accelerator | HardwareError:
    try:
        return accelerator(name)
    except HardwareError as refused:
        return refused


LAPTOPS = [part for part in accelerators() if part.form_factor == "laptop"]


@pytest.mark.parametrize("part", LAPTOPS, ids=[part.sku_id for part in LAPTOPS])
def test_a_laptop_gpu_never_resolves_to_the_desktop_part(part: Accelerator):
    """As NVML prints it and as people write it; the driver's memory tells equal names apart."""
    plain = part.name.removeprefix("GeForce ").partition(" Laptop")[0]
    printed = "NVIDIA " + part.name.removesuffix(" 8GB").removesuffix(" 16GB")
    for name in (printed, f"{plain} Laptop", f"{plain} Mobile"):
        assert resolve(name, memory_bytes=part.usable_bytes).sku_id == part.sku_id


@pytest.mark.parametrize(
    "name",
    ["NVIDIA GeForce RTX 2080 Laptop GPU", "RTX 4090 Max-Q", "NVIDIA GeForce RTX 6090 Laptop GPU"],
)
def test_a_laptop_gpu_that_nobody_recorded_is_refused(name: str):
    with pytest.raises(UnknownName, match="not in the table"):
        resolve(name)
