"""Measure a device: every kernel in turn, each kept on disk before the next begins."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from profiles.catalogue import kernels
from profiles.device import Device
from profiles.environment import SAME, environment, sku_of
from profiles.errors import ProfileError
from profiles.file import append_samples, read_profile, samples_path, write_profile
from profiles.findings import findings
from profiles.gauge import Gauge
from profiles.gauges import gauge_of
from profiles.kernels.kernel import Kernel
from profiles.pace import Pace
from profiles.result import SCHEMA, Profile, Result
from profiles.run_kernel import Runner
from profiles.timing import Limits

Report = Callable[[int, int, str, float], None]  # done, planned, kernel, seconds left

_LIMITS = {  # of one kernel
    "quick": Limits(seconds=0.12, warmup_most_seconds=0.06),
    "full": Limits(seconds=0.6, warmup_most_seconds=0.5),
}
_SLOWEST = {"quick": 0.5, "full": 10.0}  # s of a single call
_SECONDS = {"quick": 55.0, "full": 480.0}  # of a whole profile, unless the user says otherwise


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """What to measure and where to keep it."""

    device: Device
    preset: str  # quick | full
    path: Path
    seconds: float | None = None  # limit of the whole profile; None = the preset's
    resume: bool = False
    overwrite: bool = False
    report: Report = field(default=lambda done, planned, kernel, left: None)

    @property
    def limit(self) -> float:
        return self.seconds or _SECONDS[self.preset]


def measure(job: Job) -> Profile:
    """The profile of the job's device, also in its file.

    Whatever ends this early leaves a readable profile; `resume` continues it. Kernels that the time
    limit leaves out are named in the warnings, and a resumed job measures them.
    """
    gauge = gauge_of(job.device)
    try:
        profile = _begun(job, gauge)
        write_profile(job.path, profile)
        return _measured(job, profile, gauge)
    finally:
        gauge.close()


def _begun(job: Job, gauge: Gauge) -> Profile:
    """The profile to continue, or a new empty one."""
    fresh = _empty(job, gauge)
    if not job.path.exists():
        return fresh
    if job.overwrite:
        samples_path(job.path).unlink(missing_ok=True)
        return fresh
    if not job.resume:
        remedy = "it exists: --resume continues it, --overwrite measures anew"
        raise ProfileError("--out", str(job.path), remedy)
    found = read_profile(job.path)
    _same(found, fresh)
    return replace(found, preset=job.preset, warnings=fresh.warnings)


def _same(found: Profile, fresh: Profile) -> None:
    """Refuse to join what was measured under other conditions."""
    pairs = [("device", found.device.get("name"), fresh.device["name"])]
    pairs += [("device", found.device.get("label"), fresh.device["label"])]
    pairs += [(each, found.environment.get(each), fresh.environment[each]) for each in SAME]
    for name, before, now in pairs:
        if before != now:
            remedy = f"the profile was measured with {name} {before}, now it is {now}: --overwrite"
            raise ProfileError("--resume", now, remedy)


def _empty(job: Job, gauge: Gauge) -> Profile:
    sku_id, note = sku_of(job.device)
    device = job.device.describe() | {"sku_id": sku_id, "driver_name": gauge.name}
    device["power_limit_watts"] = gauge.state().power_limit_watts
    if device["memory_bytes"] is None:
        device["memory_bytes"] = gauge.memory_bytes()
    return Profile(
        schema=SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=False,
        preset=job.preset,
        environment=environment(job.device, gauge.driver),
        device=device,
        results=(),
        warnings=tuple(each for each in (note, *gauge.notes) if each),
    )


def _measured(job: Job, profile: Profile, gauge: Gauge) -> Profile:
    planned = kernels(job.device, job.preset)
    runner = Runner(
        device=job.device,
        gauge=gauge,
        limits=_LIMITS[job.preset],
        pace=Pace(),
        slowest_seconds=_SLOWEST[job.preset],
    )
    known = {each.key: each for each in profile.results}
    for kernel in planned:
        if kernel.key in known and known[kernel.key].median_s:
            runner.pace.learn(kernel, known[kernel.key].median_s or 0.0)
    started, left_out = time.monotonic(), 0
    waiting = [each for each in planned if each.key not in known]
    for index, kernel in enumerate(waiting):
        spent = time.monotonic() - started
        if spent > job.limit:
            left_out = len(waiting) - index
            break
        job.report(
            len(planned) - len(waiting) + index,
            len(planned),
            kernel.key,
            _left(spent, index, len(waiting), job.limit),
        )
        profile = _with(job, profile, runner, kernel)
        lost = _lost(job.device)
        if lost:
            return _stopped(job, profile, gauge, lost)
    return _finished(job, profile, gauge, left_out)


def _with(job: Job, profile: Profile, runner: Runner, kernel: Kernel) -> Profile:
    """The profile with one more kernel, on disk."""
    outcome = runner.run(kernel)
    if outcome.timing is not None:
        append_samples(job.path, kernel.key, outcome.timing.samples_s, outcome.timing.calls)
    grown = replace(profile, results=(*profile.results, outcome.result))
    write_profile(job.path, grown)
    return grown


def _left(spent: float, done: int, planned: int, limit: float) -> float:
    if done == 0:
        return limit
    return min(limit - spent, spent / done * (planned - done))


def _lost(device: Device) -> str | None:
    try:
        device.synchronise()
    except RuntimeError as error:
        return " ".join(str(error).split())[:200]
    return None


def _stopped(job: Job, profile: Profile, gauge: Gauge, why: str) -> Profile:
    """The device does not answer any more: keep what there is."""
    text = f"the device stopped answering: {why}"
    stopped = replace(profile, warnings=(*profile.warnings, text, *gauge.notes))
    write_profile(job.path, stopped)
    return stopped


def _finished(job: Job, profile: Profile, gauge: Gauge, left_out: int) -> Profile:
    warnings = [*profile.warnings, *(n for n in gauge.notes if n not in profile.warnings)]
    if left_out:
        warnings.append(f"{left_out} kernels left out: the limit of {job.limit:.0f} s was reached")
    warnings += _doubts(profile.results)
    done = replace(
        profile,
        complete=left_out == 0,
        findings=tuple(findings(profile.results)),
        warnings=tuple(warnings),
    )
    write_profile(job.path, done)
    return done


def _doubts(results: tuple[Result, ...]) -> list[str]:
    """One line per flag that many results carry."""
    told: dict[str, Any] = {
        "unreliable": "vary by 25 % or more between their quartiles",
        "throttled": "ran while the device held its clocks down",
        "device-shared": "ran beside other processes",
        "wrong-result": "differ from FP64 by more than their format allows",
        "failed": "failed",
    }
    counts = {flag: sum(flag in each.flags for each in results) for flag in told}
    return [f"{n} of {len(results)} kernels {told[flag]}" for flag, n in counts.items() if n]
