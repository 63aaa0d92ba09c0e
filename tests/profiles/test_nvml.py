"""NVIDIA's management library in every state in which people meet it."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest

from profiles.nvml import NEEDED, open_gauge
from tests.profiles import replay
from tests.profiles.replay import Card, Nvml


def test_units_are_converted_once() -> None:
    state = open_gauge(uuid="GPU-a", pci_bus_id=None, library=Nvml([Card()])).state()
    assert state.power_watts == 120.0
    assert state.core_hertz == 1.41e9
    assert state.power_limit_watts == 400.0
    assert state.temperature_celsius == 41.0
    assert state.throttle == ()


def test_a_device_is_found_by_its_pci_bus_whatever_the_width_of_the_domain() -> None:
    library = Nvml(
        [Card(uuid="GPU-a", bus="00000000:07:00.0"), Card(uuid="GPU-b", bus="0000:0A:00.0")]
    )
    gauge = open_gauge(uuid=None, pci_bus_id="00000000:0a:00.0", library=library)
    assert gauge.uuid == "GPU-b"


def test_without_uuid_and_bus_no_index_is_guessed_among_several() -> None:
    gauge = open_gauge(uuid=None, pci_bus_id=None, library=Nvml([Card(), Card(uuid="GPU-b")]))
    assert not gauge.present
    assert "several" in gauge.reason


def test_a_uuid_that_nvml_does_not_know_is_nobody_elses() -> None:
    gauge = open_gauge(uuid="GPU-x", pci_bus_id=None, library=Nvml([Card()]))
    assert not gauge.present


def test_an_old_pynvml_is_named_with_its_remedy() -> None:
    old = SimpleNamespace(**dict.fromkeys(NEEDED[:-1]), NVMLError=replay.NVMLError)
    gauge = open_gauge(uuid="GPU-a", pci_bus_id=None, library=old)
    assert "nvmlDeviceGetTotalEnergyConsumption" in gauge.reason
    assert "pip install nvidia-ml-py" in gauge.reason


def test_a_mig_instance_does_not_claim_the_power_of_the_whole_board() -> None:
    library = Nvml([Card(instances=("MIG-1",))])
    gauge = open_gauge(uuid="MIG-1", pci_bus_id=None, library=library)
    assert gauge.power_watts() is None
    assert gauge.energy_joules() is None
    assert any("MIG" in each for each in gauge.notes)


@pytest.mark.parametrize("answer", [replay.NOT_SUPPORTED, 0])
def test_power_that_is_not_supported_is_unknown_and_never_zero(answer: object) -> None:
    gauge = open_gauge(uuid="GPU-a", pci_bus_id=None, library=Nvml([Card(milliwatts=answer)]))
    assert gauge.power_watts() is None
    assert gauge.state().power_watts is None


def test_unified_memory_has_no_figure_of_its_own() -> None:
    for total in (replay.NOT_SUPPORTED, 0):
        gauge = open_gauge(uuid="GPU-a", pci_bus_id=None, library=Nvml([Card(total=total)]))
        assert gauge.memory_bytes() is None


def test_a_refused_reading_is_noted_and_the_others_are_kept() -> None:
    library = Nvml([Card(megahertz=replay.NO_PERMISSION)])
    gauge = open_gauge(uuid="GPU-a", pci_bus_id=None, library=library)
    state = gauge.state()
    assert state.core_hertz is None
    assert state.power_watts == 120.0
    assert any("permission" in each for each in gauge.notes)


def test_a_device_lost_in_the_middle_becomes_unknown() -> None:
    card = Card()
    gauge = open_gauge(uuid="GPU-a", pci_bus_id=None, library=Nvml([card]))
    assert gauge.power_watts() == 120.0
    card.milliwatts = replay.LOST
    assert gauge.power_watts() is None
    assert any("lost" in each for each in gauge.notes)


def test_throttle_reasons_are_words() -> None:
    library = Nvml([Card(reasons=0x4 | 0x40)])
    state = open_gauge(uuid="GPU-a", pci_bus_id=None, library=library).state()
    assert state.throttle == ("software power cap", "hardware thermal slowdown")


def test_other_processes_are_those_beside_this_one() -> None:
    library = Nvml([Card(pids=[os.getpid(), 1, 2])])
    assert open_gauge(uuid="GPU-a", pci_bus_id=None, library=library).state().other_processes == 2


def test_nothing_is_ever_set() -> None:
    from pathlib import Path

    import profiles

    for path in Path(profiles.__file__).parent.rglob("*.py"):
        assert "nvmlDeviceSet" not in path.read_text(encoding="utf-8")
