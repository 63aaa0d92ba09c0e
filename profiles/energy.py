"""Energy over a window: the device's counter and its power integrated, side by side."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from profiles.errors import ProfileError
from profiles.gauge import Gauge

SHORTEST = 0.1  # s: counters tick every 20 to 100 ms, a shorter window is refused
RELIABLE = 5.0  # s from which a counter's ticks no longer matter
DISAGREE = 0.10  # between counter and integrated power, from which it is flagged
PAUSE = 0.05  # s between two readings of the power


@dataclass(frozen=True, slots=True, kw_only=True)
class Energy:
    """Energy of one device over one window. None = the device does not say, never 0."""

    seconds: float
    counter_joules: float | None
    polled_joules: float | None
    flags: tuple[str, ...] = ()
    estimate_joules: float | None = None  # board power × assumed load, where nothing was measured

    @property
    def joules(self) -> float | None:
        """The measured energy: the counter's where there is one."""
        return self.polled_joules if self.counter_joules is None else self.counter_joules

    @property
    def source(self) -> str:
        """counter | polled | estimated | unavailable."""
        if self.counter_joules is not None:
            return "counter"
        if self.polled_joules is not None:
            return "polled"
        return "unavailable" if self.estimate_joules is None else "estimated"


def energy_of(
    *, seconds: float, counter_joules: float | None, polled_joules: float | None
) -> Energy:
    """One window's energy by both ways, flagged where they are 10 % or more apart.

    Raises ProfileError for a window under 0.1 s, in which a counter may not have ticked once.

    >>> energy_of(seconds=5.0, counter_joules=187.44, polled_joules=326.88).flags
    ('counter and polled power disagree by 74 %',)
    """
    if seconds < SHORTEST:
        raise ProfileError("window", f"{seconds:.3g} s", f"energy needs at least {SHORTEST} s")
    flags = []
    if counter_joules and polled_joules:
        apart = abs(polled_joules / counter_joules - 1)
        if apart > DISAGREE:
            flags.append(f"counter and polled power disagree by {100 * apart:.0f} %")
    if counter_joules is not None and seconds < RELIABLE:
        flags.append(f"window under {RELIABLE:g} s: the counter's ticks matter")
    return Energy(
        seconds=seconds,
        counter_joules=counter_joules,
        polled_joules=polled_joules,
        flags=tuple(flags),
    )


def estimated(*, seconds: float, tdp_watts: float, load: float) -> Energy:
    """Energy of a device without sensors: board power × assumed average load, marked as such.

    >>> found = estimated(seconds=10.0, tdp_watts=23.0, load=0.75)
    >>> found.joules, found.estimate_joules, found.source
    (None, 172.5, 'estimated')
    """
    assert seconds > 0
    assert tdp_watts > 0
    assert 0 < load <= 1
    return Energy(
        seconds=seconds,
        counter_joules=None,
        polled_joules=None,
        estimate_joules=tdp_watts * load * seconds,
        flags=(f"estimated: {tdp_watts:g} W board power at an assumed load of {load:g}",),
    )


def total_joules(windows: Sequence[Energy]) -> float | None:
    """Sum over devices; None as soon as one of them is unknown."""
    known = [each.joules for each in windows]
    return None if not known or None in known else sum(each for each in known if each is not None)


def measure_energy(
    work: Callable[[], object], gauge: Gauge, synchronise: Callable[[], None]
) -> Energy:
    """Energy while `work` runs, synchronised at both ends; the caller makes it 5 s or longer."""
    with _Poller(gauge) as poller:
        synchronise()
        before, start = gauge.energy_joules(), time.perf_counter()
        work()
        synchronise()
        seconds, after = time.perf_counter() - start, gauge.energy_joules()
    counter = None if before is None or after is None or after <= before else after - before
    return energy_of(seconds=seconds, counter_joules=counter, polled_joules=poller.joules(seconds))


class _Poller:
    """Reads the power in a thread of its own."""

    def __init__(self, gauge: Gauge) -> None:
        self._gauge = gauge
        self._readings: list[tuple[float, float]] = []  # s, W
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self) -> _Poller:
        if self._gauge.power_watts() is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        if self._thread.ident is not None:
            self._thread.join()

    def _poll(self) -> None:
        while not self._done.is_set():
            watts = self._gauge.power_watts()
            if watts is not None:
                self._readings.append((time.perf_counter(), watts))
            self._done.wait(PAUSE)

    def joules(self, seconds: float) -> float | None:
        """Mean power by trapezium over the readings, times the window."""
        if len(self._readings) < 2:
            return None
        pairs = list(zip(self._readings, self._readings[1:], strict=False))
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairs)
        span = self._readings[-1][0] - self._readings[0][0]
        return area / span * seconds if span > 0 else None
