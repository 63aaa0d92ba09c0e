"""Cases of kind F, what sensors say, and U43, hygiene of timing."""

from __future__ import annotations

from pathlib import Path

import pytest

from planner.engine.assumptions import assumed
from planner.planning.plan import plan
from planner.run import Run
from profiles.energy import energy_of, estimated, total_joules
from profiles.errors import ProfileError
from profiles.modules import make_module, parameter_count
from profiles.nvml import open_gauge
from profiles.trace import steady_step
from tests.profiles import replay
from tests.profiles.replay import Card, Nvml


def test_u43_a_steady_step_out_of_a_trace_with_compilation() -> None:
    found = steady_step([79.075, 0.607, 0.115, 0.106, 0.1], later_drift=0.05, state_recorded=True)
    assert 0.1 <= found.step_s <= 0.107
    assert "warm-up dropped" in found.flags
    assert "clock/thermal state recorded" in found.flags
    assert found.derate == (0.0, 0.05)
    assert found.low_s <= 0.1
    assert found.high_s >= 1.05 * found.step_s


def test_u43_without_a_known_drift_up_to_15_percent_is_in_the_interval() -> None:
    found = steady_step([79.075, 0.607, 0.115, 0.106, 0.1])
    assert found.high_s >= 1.15 * found.step_s
    assert any("0-15%" in each for each in found.flags)


@pytest.mark.parametrize(
    "library",
    [
        Nvml(init_error=replay.NVMLError_LibraryNotFound),
        Nvml(init_error=replay.NVMLError_DriverNotLoaded),
        Nvml(cards=[]),
        Nvml(cards=[], shutdown_error=replay.NVMLError_Uninitialized),
        Nvml(cards=[Card()], shutdown_error=replay.NVMLError_Uninitialized),
    ],
)
def test_u55_no_driver_and_no_library_are_said_and_never_raised(library: Nvml) -> None:
    gauge = open_gauge(uuid="GPU-none", pci_bus_id=None, library=library)
    assert not gauge.present
    assert gauge.reason
    assert gauge.energy_joules() is None
    gauge.close()


def test_u55_closing_a_driver_that_has_gone_is_quiet() -> None:
    library = Nvml([Card()], shutdown_error=replay.NVMLError_Uninitialized)
    open_gauge(uuid="GPU-a", pci_bus_id=None, library=library).close()


def test_u55_without_a_gpu_the_planner_answers_all_the_same() -> None:
    made = plan(
        Run(
            model="gpt2-124m",
            data={"tokens": "1B", "seq_len": 1024},
            hardware={"sku": "a100-sxm4-80gb", "count": 1},
        )
    )
    assert made.step.seconds > 0


def test_u56_the_fastest_card_is_cuda_0_whatever_nvml_calls_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    library = Nvml(
        [
            Card(name="GTX1060-6GB", uuid="GPU-A", bus="00000000:01:00.0"),
            Card(name="GTX1080Ti", uuid="GPU-B", bus="00000000:02:00.0"),
        ]
    )
    for gauge in (
        open_gauge(uuid="GPU-B", pci_bus_id=None, library=library),
        open_gauge(uuid=None, pci_bus_id="00000000:02:00.0", library=library),
    ):
        assert gauge.name == "GTX1080Ti"
        assert any("CUDA_DEVICE_ORDER" in each for each in gauge.notes)


def test_u56_no_warning_where_the_order_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDA_DEVICE_ORDER", "PCI_BUS_ID")
    library = Nvml([Card(name="A", uuid="GPU-A"), Card(name="B", uuid="GPU-B")])
    assert open_gauge(uuid="GPU-B", pci_bus_id=None, library=library).notes == ()


def test_u58_a_card_without_power_is_estimated_and_labelled_its_neighbour_is_measured() -> None:
    library = Nvml(
        [
            Card(uuid="GPU-0", milliwatts=replay.NOT_SUPPORTED, millijoules=replay.NOT_SUPPORTED),
            Card(uuid="GPU-1", milliwatts=120_000),
        ]
    )
    first = open_gauge(uuid="GPU-0", pci_bus_id=None, library=library)
    second = open_gauge(uuid="GPU-1", pci_bus_id=None, library=library)
    assert first.power_watts() is None
    assert first.energy_joules() is None
    assert second.power_watts() == 120.0
    load = assumed("average_power_fraction")
    guess = estimated(seconds=60.0, tdp_watts=23.0, load=load)
    assert guess.joules is None
    assert guess.source == "estimated"
    assert guess.estimate_joules == pytest.approx(23.0 * load * 60)
    assert "estimated" in guess.flags[0]


def test_u61_counter_and_polling_stand_side_by_side_and_their_disagreement_is_flagged() -> None:
    found = energy_of(seconds=5.0, counter_joules=187.44, polled_joules=326.88)
    assert found.joules == 187.44
    assert found.source == "counter"
    assert found.polled_joules == 326.88
    assert any("disagree" in each for each in found.flags)
    close = energy_of(seconds=5.0, counter_joules=187.44, polled_joules=188.0)
    assert close.flags == ()


def test_u61_windows_under_a_tenth_of_a_second_are_refused() -> None:
    with pytest.raises(ProfileError, match="window"):
        energy_of(seconds=0.09, counter_joules=1.0, polled_joules=1.0)


def test_u61_only_the_visible_device_is_read_of_eight() -> None:
    library = Nvml([Card(uuid=f"GPU-{i}", millijoules=1000 * (i + 1)) for i in range(8)])
    visible = open_gauge(uuid="GPU-3", pci_bus_id=None, library=library)
    assert visible.energy_joules() == 4.0
    one = energy_of(seconds=5.0, counter_joules=4.0, polled_joules=None)
    assert total_joules([one]) == 4.0


def test_u02_shared_instances_and_bare_parameters_are_counted_once(tmp_path: Path) -> None:
    file = tmp_path / "nets.py"
    file.write_text(
        "import torch\n"
        "from torch import nn\n"
        "class Block(nn.Module):\n"
        "    def __init__(self, act):\n"
        "        super().__init__()\n"
        "        self.one, self.two, self.act = nn.Linear(4, 4), nn.Linear(4, 4), act\n"
        "def net():\n"
        "    act = nn.ReLU()\n"
        "    return nn.Sequential(*(Block(act) for _ in range(3)))\n"
        "class ReZero(nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.inner = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))\n"
        "        self.scale = nn.Parameter(torch.zeros(2))\n"
    )
    counts = [parameter_count(make_module(f"{file}:{name}")) for name in ("net", "ReZero")]
    assert counts == [120, 14]
