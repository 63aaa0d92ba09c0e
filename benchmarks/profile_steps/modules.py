"""Traced modules, a ResNet-50, a U-Net and an MLP: how each is planned, and its real step."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from planner import Run
from profiles.device import Device
from profiles.modules import make_module, module_step
from profiles.training import TrainingStep

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleCase:
    """One module under one batch and format."""

    file: str
    input_shape: tuple[int, ...]
    micro_batch: int
    precision: str

    @property
    def name(self) -> str:
        return self.file.rpartition(":")[2]

    def run(self, profile: str) -> Run:
        """The run whose plan is asked for."""
        return Run(model=str(ROOT / self.file)).changed(
            {
                "data.samples": 10**6,
                "data.input_shape": ",".join(map(str, self.input_shape)),
                "hardware.profile": profile,
                "training.precision": self.precision,
                "training.micro_batch": self.micro_batch,
                "training.accumulation": 1,
            }
        )

    def model(self) -> None:
        """The run names the file; planning traces it."""

    def step(self, device: Device) -> TrainingStep:
        """The real step."""
        return module_step(
            make_module(str(ROOT / self.file)),
            device,
            micro_batch=self.micro_batch,
            input_shape=self.input_shape,
            precision=self.precision,
            optimizer="adamw",
            compile="none",
        )


CASES = [
    ModuleCase(file=file, input_shape=shape, micro_batch=size, precision=word)
    for file, shape, sizes in (
        ("planner/tracing/resnet.py:resnet50", (3, 224, 224), (1, 4)),
        ("examples/modules.py:unet", (3, 128, 128), (1, 4)),
        ("examples/modules.py:mlp", (784,), (64, 256)),
    )
    for size in sizes
    for word in ("fp32", "bf16")
]
