"""Every kernel runs on this CPU in every format that it has, and gives the right result."""

from __future__ import annotations

import resource

import pytest
import torch

from profiles.catalogue import kernels
from profiles.device import Device, open_device
from profiles.formats import support
from profiles.kernels.attention import attention
from profiles.kernels.convolution import convolution
from profiles.kernels.gemm import PASSES, bmm, gemm
from profiles.kernels.kernel import Kernel
from profiles.kernels.layer import layer
from profiles.kernels.memory import allocate, copy, launch
from profiles.kernels.optimizer import VARIANTS, adamw
from profiles.kernels.pointwise import NAMES, cross_entropy, embedding, pointwise
from profiles.transformer import Dimensions, make_model

TINY = Dimensions(layers=2, hidden=32, heads=4, kv_heads=2, head_dim=8, ffn_hidden=64, gated=True)


@pytest.fixture(scope="module")
def device() -> Device:
    return open_device("cpu")


def small(number_format: str) -> list[Kernel]:
    """One of each kind."""
    return [
        *(gemm(32, 24, 16, number_format, way) for way in PASSES),
        bmm(3, 8, 8, 8, number_format),
        convolution(2, 4, 8, 6, 3, number_format),
        convolution(2, 4, 8, 6, 3, number_format, layout="nhwc", backward=True),
        attention(1, 2, 16, 8, number_format),
        attention(1, 2, 16, 8, number_format, causal=False, backward=True),
        *(pointwise(name, 16, 32, number_format) for name in NAMES),
        pointwise("gelu", 16, 32, number_format, backward=True),
        cross_entropy(16, 50, number_format),
        embedding(16, 50, 8, number_format),
        layer(1, 8, TINY, number_format),
    ]


@pytest.mark.parametrize("number_format", ["fp64", "fp32", "bf16", "fp16"])
def test_kernels_agree_with_fp64_within_what_their_format_allows(
    device: Device, number_format: str
) -> None:
    for kernel in small(number_format):
        ready = kernel.make(device)
        ready.call()
        error = ready.error()
        assert error is None or error <= kernel.tolerance, kernel.key


def test_memory_that_is_allocated_is_mapped_page_by_page(device: Device) -> None:
    size = 2**27  # more than the C library keeps
    call = allocate(size).make(device).call
    call()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    call()
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    assert faults >= size // 2**21  # huge pages at most


def test_cold_products_are_measured_steady_too(device: Device) -> None:
    planned = [each for each in kernels(device, "quick") if each.name == "gemm"]
    cold, steady = (
        {(each.format, tuple(each.shape.items())) for each in planned if each.mode == mode}
        for mode in ("cold", "steady")
    )
    assert cold
    assert cold <= steady


@pytest.mark.parametrize("number_format", ["int8", "fp8"])
def test_eight_bit_products_agree_with_fp64(device: Device, number_format: str) -> None:
    kernel = gemm(32, 32, 64, number_format)
    assert (kernel.make(device).error() or 0.0) <= kernel.tolerance


def test_a_wrong_result_shows_as_an_error_beyond_the_tolerance(
    device: Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = torch.mm
    monkeypatch.setattr(torch, "mm", lambda a, b: plain(a, b) * 1.01)
    kernel = gemm(64, 64, 64, "fp32")
    assert (kernel.make(device).error() or 0.0) > kernel.tolerance


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_first_adam_step_moves_every_parameter_by_the_rate(
    device: Device, variant: str
) -> None:
    kernel = adamw(2, 256, "fp32", variant)
    assert (kernel.make(device).error() or 0.0) <= kernel.tolerance


def test_copies_arrive(device: Device) -> None:
    assert copy(4096).make(device).error() == 0.0
    launch().make(device).call()


def test_work_is_counted_from_the_shape() -> None:
    kernel = gemm(2, 3, 5, "bf16")
    assert kernel.flops == 60
    assert kernel.bytes == 2 * (2 * 5 + 5 * 3 + 2 * 3)
    causal, full = attention(1, 1, 4, 8, "fp32"), attention(1, 1, 4, 8, "fp32", causal=False)
    assert full.flops == 4 * 4 * 4 * 8
    assert causal.flops == 4 * 10 * 8


@pytest.mark.parametrize("preset", ["quick", "full"])
def test_the_catalogue_measures_each_kernel_once_and_small_before_large(
    device: Device, preset: str
) -> None:
    planned = kernels(device, preset)
    assert len({each.key for each in planned}) == len(planned)
    for number_format in ("fp32", "bf16", "fp16"):
        sides = [
            int(each.shape["m"])
            for each in planned
            if each.name == "gemm"
            and each.format == number_format
            and each.shape["m"] == each.shape["n"] == each.shape["k"]
            and "pass" not in each.shape
            and each.mode == "steady"
        ]
        assert sides == sorted(sides)


def test_support_says_what_the_processor_documents(device: Device) -> None:
    assert support(device, "fp32") == "native"
    assert support(device, "tf32") == "unsupported"
    assert support(device, "fp8") == "emulated"


def test_the_module_has_the_parameters_that_its_dimensions_say() -> None:
    whole = Dimensions(
        layers=3, hidden=32, heads=4, kv_heads=2, head_dim=8, ffn_hidden=64, gated=True, vocab=100
    )
    model = make_model(whole)
    norms = (2 * 3 + 1) * 32
    expected = 3 * whole.layer_params + 100 * 32 + norms
    assert sum(each.numel() for each in model.parameters()) == expected
