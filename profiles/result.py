"""One measured kernel, and a whole profile: what the file holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from profiles.kernels.kernel import Size, kernel_key

SCHEMA = "forerun-profile/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One kernel. Times are None where it did not run; the flags and `reason` say why."""

    kernel: str
    format: str
    shape: Mapping[str, Size]
    mode: str  # cold | steady
    median_s: float | None  # seconds a call
    iqr_s: float | None
    n: int  # samples
    flops: float  # of one call
    bytes: float  # compulsory traffic of one call
    energy_j: float | None = None  # joules a call
    flags: tuple[str, ...] = ()
    unsynchronised_s: float | None = None  # what a clock shows that does not wait for the device
    error: float | None = None  # sampled against FP64, relative
    estimate_s: float | None = None  # of a call that was skipped because it is too slow
    reason: str | None = None  # why it did not run
    state: Mapping[str, Any] = field(default_factory=dict)  # clocks, temperature, load of the host

    @property
    def key(self) -> str:
        """Which kernel it is."""
        return kernel_key(self.kernel, self.format, self.mode, self.shape)

    @property
    def measured(self) -> bool:
        return self.median_s is not None

    @property
    def flops_per_second(self) -> float | None:
        """Arithmetic rate; None where it did not run or only moves data."""
        return self.flops / self.median_s if self.median_s and self.flops else None

    @property
    def bytes_per_second(self) -> float | None:
        """Rate of the compulsory traffic."""
        return self.bytes / self.median_s if self.median_s and self.bytes else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """What was measured on one device."""

    schema: str
    created: str  # UTC, ISO 8601
    complete: bool  # every planned kernel was measured or explained
    preset: str  # quick | full
    environment: Mapping[str, Any]
    device: Mapping[str, Any]
    results: tuple[Result, ...]
    findings: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()

    def find(self, kernel: str, number_format: str) -> list[Result]:
        """The measured results of one kernel and format, in the order they were measured."""
        return [
            each
            for each in self.results
            if each.measured and each.kernel == kernel and each.format == number_format
        ]
