"""The CUDA device against a stand-in for torch, written by hand from torch's documentation.

What only a GPU can show (that events measure, that caches are flushed) stays unchecked here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

import profiles.device
from profiles.device import CudaDevice, open_device
from profiles.environment import sku_of
from profiles.errors import ProfileError
from profiles.formats import support
from profiles.gauges import gauge_of
from profiles.sizes import sizes_for
from tests.profiles.replay import Card, Nvml


class Event:
    """Device time is ten times the host's order of recording."""

    ticks = 0.0

    def __init__(self, enable_timing: bool = False) -> None:
        assert enable_timing
        self.at = 0.0

    def record(self) -> None:
        self.at = Event.ticks

    def synchronize(self) -> None:
        return None

    def elapsed_time(self, end: Event) -> float:
        return end.at - self.at


def torch_with(properties: Any, *, count: int = 1, hip: str | None = None) -> Any:
    calls: list[str] = []
    cuda = SimpleNamespace(
        is_available=lambda: count > 0,
        device_count=lambda: count,
        set_device=lambda index: calls.append(f"set {index}"),
        get_device_properties=lambda index: properties,
        get_device_name=lambda index: "NVIDIA A100-SXM4-80GB",
        get_device_capability=lambda index: (8, 0),
        mem_get_info=lambda index: (60 * 2**30, 80 * 2**30),
        synchronize=lambda index=None: calls.append("synchronise"),
        empty_cache=lambda: calls.append("empty"),
        Event=Event,
    )
    return SimpleNamespace(
        cuda=cuda, version=SimpleNamespace(cuda="12.8", hip=hip), __version__="2.13.0", calls=calls
    )


A100 = SimpleNamespace(
    total_memory=84_987_740_160,
    L2_cache_size=41_943_040,
    multi_processor_count=108,
    uuid="11111111-2222-3333-4444-555555555555",
    pci_domain_id=0,
    pci_bus_id=7,
    pci_device_id=0,
)


@pytest.fixture
def a100(monkeypatch: pytest.MonkeyPatch) -> CudaDevice:
    torch = torch_with(A100)
    monkeypatch.setattr(profiles.device, "torch_module", lambda: torch)
    return CudaDevice("cuda")


def test_a_region_is_the_time_between_its_events_in_seconds(a100: CudaDevice) -> None:
    def call() -> None:
        Event.ticks += 1.5  # ms

    assert a100.region(call, 4).seconds == pytest.approx(6e-3)
    assert "synchronise" in a100.torch.calls


def test_its_identity_is_spelled_as_nvml_spells_it(a100: CudaDevice) -> None:
    assert a100.label == "cuda:0"
    assert a100.uuid == "GPU-11111111-2222-3333-4444-555555555555"
    assert a100.pci_bus_id == "00000000:07:00.0"
    library = Nvml([Card(uuid="GPU-other"), Card(uuid=a100.uuid)])
    assert gauge_of(a100, library).uuid == a100.uuid


def test_its_name_and_memory_give_the_accelerator(a100: CudaDevice) -> None:
    assert sku_of(a100)[0] == "a100-sxm4-80gb"
    assert support(a100, "tf32") == "native"
    assert support(a100, "fp8") == "unsupported"


def test_a_gpu_is_measured_at_larger_sizes(a100: CudaDevice) -> None:
    assert max(sizes_for(a100, "quick").cubes) >= 8192
    assert "tf32" in sizes_for(a100, "quick").formats


def test_torch_that_says_no_uuid_leaves_it_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    bare = SimpleNamespace(total_memory=1, multi_processor_count=1)
    torch = torch_with(bare)
    monkeypatch.setattr(profiles.device, "torch_module", lambda: torch)
    device = CudaDevice("cuda:0")
    assert device.uuid is None
    assert device.pci_bus_id is None


def test_an_amd_gpu_has_no_nvml(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = torch_with(A100, hip="6.4")
    monkeypatch.setattr(profiles.device, "torch_module", lambda: torch)
    device = CudaDevice("cuda:0")
    assert device.capability is None
    assert "AMD" in gauge_of(device).reason


def test_a_gpu_that_is_not_there_is_refused_with_those_that_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch = torch_with(A100, count=2)
    monkeypatch.setattr(profiles.device, "torch_module", lambda: torch)
    with pytest.raises(ProfileError, match="cuda:0, cuda:1"):
        open_device("cuda:5")
