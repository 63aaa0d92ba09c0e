"""What the table says of each accelerator: units, training rates, links, memory, sources."""

from __future__ import annotations

import csv
import pickle

import pytest

import hardware_db
from hardware_db import Accelerator, accelerator, accelerators
from hardware_db._tables import rows

GIB = 2**30
PARTS = accelerators()
IDS = [part.sku_id for part in PARTS]
each_part = pytest.mark.parametrize("part", PARTS, ids=IDS)


def test_no_id_appears_twice():
    assert len(set(IDS)) == len(IDS)


@each_part
def test_every_row_says_where_it_was_read_and_when(part: Accelerator):
    assert part.source.strip()
    assert part.confidence.strip()
    assert part.as_of[:4].isdigit()


@each_part
def test_figures_are_in_si_units_and_believable(part: Accelerator):
    assert 2010 <= part.year <= 2027
    for number_format, rate in part.peak_flops.items():
        assert number_format in hardware_db.FORMATS
        assert 3e10 <= rate <= 2e16, number_format  # an entry CPU's FP64 to a rack part's FP4
    assert part.memory_bandwidth is not None
    assert 5e10 <= part.memory_bandwidth <= 1e13
    assert part.tdp_watts is None or 15 <= part.tdp_watts <= 1500
    assert part.pcie_bytes_per_second is None or 1e9 <= part.pcie_bytes_per_second <= 1.3e11
    assert part.boost_hertz is None or 7e8 <= part.boost_hertz <= 6e9
    assert part.logical_devices in (1, 2)


@each_part
def test_usable_memory_is_a_little_less_than_the_nameplate(part: Accelerator):
    if part.form_factor == "cpu":
        assert part.memory_bytes is None
        assert part.usable_bytes is None
        return
    assert part.memory_bytes is not None
    assert part.usable_bytes is not None
    assert part.memory_bytes == part.nameplate_gb * GIB
    assert 0.7 * part.memory_bytes <= part.usable_bytes <= part.memory_bytes
    assert part.usable_basis in ("measured", "rule")
    assert part.usable_source


@pytest.mark.parametrize(
    ("sku", "low", "high"),
    [
        ("a100-sxm4-80gb", 79.14, 79.35),
        ("a800-sxm4-80gb", 79.35, 79.35),
        ("v100-sxm2-32gb", 31.72, 31.75),
        ("t4", 14.56, 14.75),
        ("h100-sxm5-80gb", 79.1, 79.4),
    ],
)
def test_usable_memory_is_what_out_of_memory_messages_print(sku: str, low: float, high: float):
    assert low <= accelerator(sku).usable_bytes / GIB <= high


@pytest.mark.parametrize(
    ("sku", "tflops"),
    [
        ("rtx-3090", 71),
        ("rtx-4090", 165.2),
        ("rtx-5090", 209.5),
        ("rtx-a6000", 154.8),
        ("rtx-6000-ada", 364),
        ("a100-sxm4-80gb", 312),
        ("h100-sxm5-80gb", 989),
        ("h100-nvl-94gb", 835.5),
        ("h200-sxm5-141gb", 989),
        ("rtx-3070-ti", 43.5),
        ("h100-pcie-80gb", 756.5),
        ("l40s", 362),
        ("b200-sxm6-180gb", 2250),
        ("gb200-nvl72-186gb", 2500),
        ("mi300x-192gb", 1307.4),
        ("tpu-v5p", 459),
    ],
)
def test_bf16_peak_is_dense_with_fp32_accumulation(sku: str, tflops: float):
    assert accelerator(sku).peak("bf16") == pytest.approx(tflops * 1e12, rel=0.02)


GEFORCE = [part for part in PARTS if part.name.startswith("GeForce")]


@pytest.mark.parametrize("part", GEFORCE, ids=[part.sku_id for part in GEFORCE])
def test_geforce_accumulates_in_fp32_at_half_rate(part: Accelerator):
    fast = part.fp16_accumulate_flops
    assert fast is not None
    assert part.peak("fp16") == pytest.approx(fast / 2, rel=0.01)
    if part.supports("bf16") == "native":
        assert part.peak("bf16") == part.peak("fp16")


@each_part
def test_eight_bit_products_are_not_the_sparse_headline(part: Accelerator):
    sixteen, eight = part.peak("bf16"), part.peak("fp8")
    if sixteen and eight:
        assert eight / sixteen <= 4.0  # Gaudi3's FP16 runs at a quarter; elsewhere twice
        assert part.sku_id.startswith("gaudi3") or eight / sixteen <= 2.05


@each_part
def test_a_link_is_one_way_and_no_slower_than_the_host_bus(part: Accelerator):
    if part.link is None:
        return
    assert part.link.domain_size >= 1
    assert 4e10 <= part.link.bytes_per_second <= 1e12


def test_one_way_link_rates_are_half_the_datasheet_figure():
    for row in rows("accelerators"):
        one_way, both = row["link_oneway_gbyte_per_s"], row["link_bidirectional_gbyte_per_s"]
        assert bool(one_way) == bool(both), row["sku_id"]
        if one_way:
            assert float(one_way) == pytest.approx(float(both) / 2), row["sku_id"]


@each_part
def test_a_format_that_is_not_in_hardware_has_no_peak(part: Accelerator):
    for number_format in hardware_db.FORMATS:
        support = part.supports(number_format)
        if part.peak(number_format) is not None:
            slow_fp8 = (part.sku_id, number_format) == ("tpu-v6e", "fp8")
            assert support == "native" or slow_fp8, number_format


@each_part
def test_memory_fields_name_figures_that_exist(part: Accelerator):
    for field in part.memory_fields:
        if field in hardware_db.FORMATS:
            assert part.peak(field) is not None, field
        elif field == "link_domain":
            assert part.link is not None
        else:
            assert getattr(part, field) is not None, field


@pytest.mark.parametrize(
    ("sku", "bf16", "tf32", "fp8"),
    [
        ("t4", "emulated", "unsupported", "unsupported"),
        ("v100-sxm2-16gb", "emulated", "unsupported", "unsupported"),
        ("rtx-2080-ti", "emulated", "unsupported", "unsupported"),
        ("p100-pcie-16gb", "emulated", "unsupported", "unsupported"),
        ("a100-sxm4-80gb", "native", "native", "unsupported"),
        ("rtx-3090", "native", "native", "unsupported"),
        ("rtx-4090", "native", "native", "native"),
        ("h100-sxm5-80gb", "native", "native", "native"),
        ("mi250x-128gb", "native", "unsupported", "unsupported"),
        ("mi300x-192gb", "native", "native", "native"),
        ("tpu-v4", "native", "unsupported", "unsupported"),
        ("epyc-7763", "emulated", "unsupported", "unsupported"),
    ],
)
def test_formats_follow_the_hardware_not_what_the_framework_accepts(
    sku: str, bf16: str, tf32: str, fp8: str
):
    part = accelerator(sku)
    assert [part.supports(each) for each in ("bf16", "tf32", "fp8")] == [bf16, tf32, fp8]


def test_fp4_begins_with_blackwell():
    native = {part.architecture for part in PARTS if part.supports("fp4") == "native"}
    assert "Blackwell" in native
    assert not native & {"Hopper", "Ada Lovelace", "CDNA3"}


def test_an_unknown_format_is_refused_with_the_known_ones():
    with pytest.raises(hardware_db.UnknownName, match=r"format: 'bf61': .*bf16"):
        accelerator("t4").peak("bf61")


@pytest.mark.parametrize(
    ("sku", "number_format", "fraction"),
    [
        ("a100-sxm4-80gb", "bf16", 0.87),
        ("h100-sxm5-80gb", "bf16", 0.80),
        ("h100-sxm5-80gb", "fp8", 0.71),
        ("b200-sxm6-180gb", "bf16", 0.78),
        ("mi300x-192gb", "bf16", 0.51),
        ("v100-sxm2-32gb", "fp16", 0.75),
    ],
)
def test_measured_fraction_of_the_peak(sku: str, number_format: str, fraction: float):
    assert accelerator(sku).achievable_fraction(number_format) == pytest.approx(fraction, abs=0.005)


def test_what_nobody_measured_is_unknown():
    assert accelerator("tpu-v5p").achievable_fraction("bf16") is None
    assert accelerator("h100-sxm5-80gb").achievable_fraction("fp64") is None


def test_measured_fractions_are_rate_over_our_own_peak():
    for row in rows("achievable"):
        part = accelerator(row["sku_id"])
        peak = part.peak(row["format"])
        assert peak == float(row["peak_tflops"]) * 1e12, row["sku_id"]
        ratio = float(row["achieved_tflops"]) / float(row["peak_tflops"])
        assert float(row["fraction"]) == pytest.approx(ratio, abs=0.001)
        assert 0.4 <= ratio <= 1.15, row[
            "sku_id"
        ]  # boost clocks; a sparse peak would give 0.5 less
        assert row["source"]


def test_unknown_memory_is_none_and_not_zero():
    assert accelerator("epyc-9654").memory_bytes is None
    assert accelerator("tpu-v5e").tdp_watts is None


def test_accelerators_work_as_keys_and_travel_to_other_processes():
    part = accelerator("a10g")
    assert {part: 1}[accelerator("A10G")] == 1
    assert pickle.loads(pickle.dumps(part)) == part


def test_the_shared_table_is_carried_over(shared):
    """Every row of the table that this one was made from, the corrected figures apart."""
    corrected = {("tpu-v5p", "nameplate_gb")}
    with (shared / "data/hardware/accelerators.csv").open(encoding="utf-8") as file:
        for row in csv.DictReader(file):
            part = accelerator(row["sku_id"])
            assert part.memory_bandwidth == float(row["mem_bw_gbyte_per_s"]) * 1e9
            if row["bf16_tflops"]:
                assert part.peak("bf16") == pytest.approx(float(row["bf16_tflops"]) * 1e12)
            if row["tdp_w"]:
                assert part.tdp_watts == float(row["tdp_w"])
            if part.nameplate_gb and (part.sku_id, "nameplate_gb") not in corrected:
                assert part.nameplate_gb == float(row["mem_gb"])


LAPTOPS = [part for part in PARTS if part.form_factor == "laptop"]


@pytest.mark.parametrize("part", LAPTOPS, ids=[part.sku_id for part in LAPTOPS])
def test_a_laptop_gpu_states_the_power_that_its_rates_assume(part: Accelerator):
    assert f"gives it {part.tdp_watts:g} W" in part.note
    assert part.from_memory("bf16"), "a rate that the power decides widens an answer"
    units = part.multiprocessors
    assert part.peak("bf16") == pytest.approx(units * part.boost_hertz * 512, rel=0.01)


@pytest.mark.parametrize("name", ["rtx-4070", "rtx-4080", "rtx-4090", "rtx-5080", "rtx-5090"])
def test_a_laptop_gpu_is_slower_than_the_desktop_part_of_its_name(name: str):
    laptop, desktop = accelerator(f"{name}-laptop"), accelerator(name)
    assert laptop.peak("bf16") < desktop.peak("bf16")
    assert laptop.tdp_watts < desktop.tdp_watts
