"""Whole training steps, the largest micro-batch, gradient noise: on the real CPU."""

from __future__ import annotations

import gc
import shutil
from typing import Any

import pytest
import torch

from profiles.device import Device, open_device
from profiles.errors import ProfileError
from profiles.largest import largest_micro_batch
from profiles.live_memory import peak_of
from profiles.noise import gradient_noise
from profiles.step import measure_step
from profiles.training import TrainingStep, training_step, transformer_step
from profiles.transformer import Dimensions, make_model

TINY = Dimensions(layers=2, hidden=64, heads=4, kv_heads=4, head_dim=16, ffn_hidden=128, vocab=256)


@pytest.fixture(scope="module")
def device() -> Device:
    return open_device("cpu")


def tiny(device: Device, micro_batch: int = 2, **settings: Any) -> TrainingStep:
    return transformer_step(
        make_model(TINY), device, vocab=256, micro_batch=micro_batch, seq_len=32, **settings
    )


@pytest.mark.parametrize("precision", ["fp32", "bf16", "pure-bf16", "fp64"])
def test_a_step_trains_in_every_format(device: Device, precision: str) -> None:
    model = make_model(TINY)
    step = transformer_step(
        model, device, vocab=256, micro_batch=2, seq_len=32, precision=precision
    )
    before = model.layers[0].qkv.weight.detach().clone()
    step()
    assert not torch.equal(before, model.layers[0].qkv.weight.detach())


def test_a_measured_step_has_its_parts_and_their_sum_is_near_the_whole() -> None:
    device = open_device("cpu")
    device.clock = "cpu"  # what other processes take is not counted
    found = measure_step(tiny(device), device=device, steps=5, seconds=20)
    assert found.n >= 3
    assert found.phases is not None
    parts = found.phases.forward_s + found.phases.backward_s + found.phases.update_s
    assert 0.3 < parts / found.step_s < 3
    assert found.energy_j is None or found.energy_j > 0
    assert found.compile_s is None


def test_a_loop_of_ones_own_is_measured_as_a_function(device: Device) -> None:
    calls = []
    found = measure_step(lambda: calls.append(torch.ones(10)), device=device, steps=4, seconds=1)
    assert len(calls) >= len(found.trace_s)
    assert found.phases is None


def test_peak_memory_counts_every_tensor_once(device: Device) -> None:
    gc.collect()
    kept: list[torch.Tensor] = []

    def work() -> None:
        a = torch.zeros(1000, 1000)  # 4 MB
        b = a + 1  # 8 MB together
        c = b.view(-1)[:10]  # a view takes nothing
        del a, b
        kept.append(c.clone())

    found = peak_of(work, device)
    assert found.allocated_bytes - found.before_bytes == pytest.approx(8e6, rel=0.001)


def test_peak_memory_of_a_linear_step_is_what_arithmetic_says(device: Device) -> None:
    """Weights, their gradient and a moment of 4 MB each, inputs and outputs of 40 kB."""
    gc.collect()
    model = torch.nn.Linear(1000, 1000, bias=False)
    step = training_step(
        model,
        lambda: (torch.randn(10, 1000), None),
        lambda out, _: out.square().mean(),
        device,
        optimizer="sgd-momentum",
    )
    step()
    gc.collect()
    before = peak_of(lambda: None, device).before_bytes
    found = peak_of(step, device)
    assert found.allocated_bytes - before == pytest.approx(4e6, rel=0.1)  # the gradient


def test_accumulation_runs_every_micro_batch(device: Device) -> None:
    seen = []

    def batch() -> tuple[Any, Any]:
        seen.append(1)
        return torch.randn(2, 4), None

    model = torch.nn.Linear(4, 1)
    training_step(model, batch, lambda out, _: out.sum(), device, accumulation=3)()
    assert len(seen) == 3


@pytest.mark.parametrize("word", ["precision", "optimizer", "compile"])
def test_unknown_words_are_refused(device: Device, word: str) -> None:
    with pytest.raises(ProfileError, match=word):
        tiny(device, **{word: "nonsense"})


def test_the_largest_micro_batch_is_found_by_doubling_and_bisection(device: Device) -> None:
    found = largest_micro_batch(lambda n: 1000 + 7 * n, device, limit_bytes=1000 + 7 * 77)
    assert found.micro_batch in range(62, 78)  # a CPU is not filled beyond 95 %
    assert found.bounded
    assert all(each.micro_batch < 200 for each in found.attempts if each.peak_bytes)


def test_on_a_cpu_a_size_that_would_not_fit_is_foreseen_and_not_run(device: Device) -> None:
    ran = []

    def peak(size: int) -> int:
        ran.append(size)
        assert size <= 8, "the system would have ended this process"
        return 100 * size

    assert largest_micro_batch(peak, device, limit_bytes=850).micro_batch == 8


def test_running_out_of_memory_is_caught_and_smaller_sizes_go_on(device: Device) -> None:
    def peak(size: int) -> int:
        if size > 5:
            raise RuntimeError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return 1

    found = largest_micro_batch(peak, device, limit_bytes=10**12)
    assert found.micro_batch == 5
    assert any("out of memory" in each.reason for each in found.attempts)


def test_any_other_failure_is_not_taken_for_a_lack_of_memory(device: Device) -> None:
    def peak(_: int) -> int:
        raise RuntimeError("shape mismatch")

    with pytest.raises(RuntimeError, match="shape mismatch"):
        largest_micro_batch(peak, device)


def test_nothing_fits_is_an_answer(device: Device) -> None:
    assert largest_micro_batch(lambda n: 10**6, device, limit_bytes=10).micro_batch is None


def test_gradient_noise_is_that_of_a_problem_solved_by_hand() -> None:
    """Mean squares of y − wx at w = 0 with x = 1, y ~ N(1, 2²): G = −2, tr(Σ) = 4·2², ratio 4."""
    generator = torch.Generator().manual_seed(0)
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    batches = [1 + 2 * torch.randn(4, 1, generator=generator) for _ in range(2000)]

    def loss_of(y: Any) -> Any:
        return (model(torch.ones_like(y)) - y).square().mean()

    found = gradient_noise(model, loss_of, batches, size=4)
    assert found.noise_scale == pytest.approx(4.0, rel=0.15)
    assert found.low is not None
    assert found.high is not None
    assert found.low < 4.0 < found.high * 1.1
    assert float(model.weight.detach().abs().max()) == 0  # weights did not change


def test_a_gradient_that_drowns_in_noise_is_unknown() -> None:
    generator = torch.Generator().manual_seed(1)
    model = torch.nn.Linear(1, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    draws = [torch.randn(1, 1, generator=generator) for _ in range(2)]
    batches = [sign * each for each in draws for sign in (1, -1)]
    found = gradient_noise(
        model, lambda y: (model(torch.ones_like(y)) - y).square().mean(), batches, size=1
    )
    assert found.noise_scale is None


def test_too_few_micro_batches_are_refused() -> None:
    model = torch.nn.Linear(1, 1)
    with pytest.raises(ProfileError, match="at least 4"):
        gradient_noise(model, lambda y: model(y).sum(), [torch.ones(1, 1)], size=1)


@pytest.mark.filterwarnings("ignore")  # torch warns while it compiles
@pytest.mark.skipif(shutil.which("g++") is None, reason="compiling for a CPU needs g++")
def test_layers_compiled_one_by_one_share_one_compilation(device: Device) -> None:
    found = measure_step(tiny(device, compile="regional"), device=device, steps=3, seconds=60)
    assert found.compile_s is not None
    assert found.compile_s > 10 * found.step_s
    assert found.recompiles == 0
    assert any("eager step" in each for each in found.flags)
