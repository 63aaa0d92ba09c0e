"""How long a kernel will take, from the last one of its family: a bound before it is run."""

from __future__ import annotations

from profiles.kernels.kernel import Kernel


class Pace:
    """The rates seen so far, by family and format."""

    def __init__(self) -> None:
        self._last: dict[str, tuple[float, float]] = {}  # work a second, seconds of the last call

    def learn(self, kernel: Kernel, seconds: float) -> None:
        """A call of `kernel` took `seconds`."""
        self._last[kernel.pace] = (_work(kernel) / seconds, seconds)

    def estimate(self, kernel: Kernel) -> float | None:
        """Seconds of one call at the last rate of its family; None for the first of a family."""
        found = self._last.get(kernel.pace)
        return None if found is None else _work(kernel) / found[0]


def _work(kernel: Kernel) -> float:
    return kernel.flops or kernel.bytes
