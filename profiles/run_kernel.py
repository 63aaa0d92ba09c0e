"""Run one kernel: make it, check it, time it, watch the device, and say what happened."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from profiles.device import Device
from profiles.energy import RELIABLE, measure_energy
from profiles.errors import ProfileError
from profiles.formats import support, switched_on
from profiles.gauge import Gauge, State
from profiles.kernels.kernel import Kernel, Ready
from profiles.machine import cpu_times, others_share
from profiles.pace import Pace
from profiles.result import Result
from profiles.statistics import median
from profiles.timing import Limits, Timing, time_kernel

SHARED = 0.10  # of the host's processors, from which a result is flagged
HEADROOM = 1.25  # memory that a kernel may need over what its tensors hold
TRIALS = 3  # energy windows
_NOT_SUPPORTED = ("not implemented", "not supported", "unsupported", "only supported", "requires")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A result with the raw samples behind it."""

    result: Result
    timing: Timing | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """What every kernel of a profile shares."""

    device: Device
    gauge: Gauge
    limits: Limits
    pace: Pace
    slowest_seconds: float  # a call that is estimated longer is skipped

    def run(self, kernel: Kernel) -> Outcome:
        """Measure `kernel`, or say why not. Raises only for interruption."""
        refusal = self._refusal(kernel)
        if refusal is not None:
            return Outcome(result=refusal, timing=None)
        try:
            return self._measured(kernel)
        except (RuntimeError, MemoryError, TypeError, NotImplementedError, ValueError) as error:
            return Outcome(result=_failed(kernel, error), timing=None)
        finally:
            self.device.release()

    def _refusal(self, kernel: Kernel) -> Result | None:
        if support(self.device, kernel.format) == "unsupported":
            reason = f"{self.device.name} has no {kernel.format}"
            return _blank(kernel, "not-supported", reason)
        free = self.device.free_bytes
        if free is not None and kernel.held * HEADROOM > free:
            reason = f"needs {kernel.held:.3g} bytes, {free:.3g} are free"
            return _blank(kernel, "skipped-memory", reason)
        estimate = self.pace.estimate(kernel)
        if estimate is not None and estimate > self.slowest_seconds:
            reason = f"about {estimate:.3g} s a call, by the smaller sizes"
            return dataclasses.replace(_blank(kernel, "skipped-slow", reason), estimate_s=estimate)
        return None

    def _measured(self, kernel: Kernel) -> Outcome:
        with switched_on(self.device, kernel.format):
            ready = kernel.make(self.device)
            error = ready.error()
            before, load = self.gauge.state(), cpu_times()
            timing = time_kernel(ready.call, self.device, limits=self.limits, mode=kernel.mode)
            after, others = self.gauge.state(), others_share(load, cpu_times())
            energy = self._energy(ready, timing) if kernel.weighed else None
        self.pace.learn(kernel, timing.median_s)
        flags = [
            *timing.flags,
            *(["emulated"] if support(self.device, kernel.format) == "emulated" else []),
            *(["wrong-result"] if error is not None and error > kernel.tolerance else []),
            *_state_flags(before, after, others),
        ]
        result = Result(
            kernel=kernel.name,
            format=kernel.format,
            shape=kernel.shape,
            mode=kernel.mode,
            median_s=timing.median_s,
            iqr_s=timing.iqr_s,
            n=timing.n,
            flops=kernel.flops,
            bytes=kernel.bytes,
            energy_j=energy,
            flags=tuple(flags),
            unsynchronised_s=timing.unsynchronised_s,
            error=error,
            state=_state(after, others),
        )
        return Outcome(result=result, timing=timing)

    def _energy(self, ready: Ready, timing: Timing) -> float | None:
        """Joules a call: the median of three windows of five seconds; None without a counter."""
        if self.gauge.energy_joules() is None and self.gauge.power_watts() is None:
            return None
        calls = max(1, round(1.1 * RELIABLE / timing.median_s))

        def work() -> None:
            for _ in range(calls):
                ready.call()

        windows = [
            measure_energy(work, self.gauge, self.device.synchronise).joules for _ in range(TRIALS)
        ]
        known = [each / calls for each in windows if each is not None]
        return median(known) if len(known) == TRIALS else None


def _state_flags(before: State, after: State, others: float | None) -> list[str]:
    flags = []
    if before.throttle or after.throttle:
        flags.append("throttled")
    if after.other_processes or (others is not None and others > SHARED):
        flags.append("device-shared")
    return flags


def _state(state: State, others: float | None) -> Mapping[str, Any]:
    known = {name: value for name, value in dataclasses.asdict(state).items() if value is not None}
    if "throttle" in known:
        known["throttle"] = list(known["throttle"])
    return known | ({} if others is None else {"others_cpu_share": round(others, 4)})


def _blank(kernel: Kernel, flag: str, reason: str) -> Result:
    return Result(
        kernel=kernel.name,
        format=kernel.format,
        shape=kernel.shape,
        mode=kernel.mode,
        median_s=None,
        iqr_s=None,
        n=0,
        flops=kernel.flops,
        bytes=kernel.bytes,
        flags=(flag,),
        reason=reason,
    )


def _failed(kernel: Kernel, error: Exception) -> Result:
    text = "".join(each if each.isprintable() else " " for each in " ".join(str(error).split()))
    reason = f"{type(error).__name__}: {text}"[:300]
    return _blank(kernel, _flag_of(error, text.lower()), reason)


def _flag_of(error: Exception, text: str) -> str:
    if isinstance(error, MemoryError) or "out of memory" in text or "allocate memory" in text:
        return "out-of-memory"
    if isinstance(error, NotImplementedError | ProfileError):
        return "not-supported"
    return "not-supported" if any(word in text for word in _NOT_SUPPORTED) else "failed"
