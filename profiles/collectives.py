"""Time of collectives by size, run under torchrun: NCCL between GPUs, Gloo between CPUs; and how
much slower a device's own work is while all ranks work.

`torchrun --nproc-per-node 4 -m profiles.collectives --out FILE` on one machine; on several, the
same line on each with `--nnodes` and `--rdzv-endpoint`.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

from profiles import at_once
from profiles.device import Device, open_device
from profiles.environment import environment, sku_of
from profiles.errors import ProfileError
from profiles.file import read_profile, write_profile
from profiles.gauge import Gauge
from profiles.gauges import gauge_of
from profiles.links import COLLECTIVES, bus_bytes
from profiles.ranks import first_alone, group_shape, passes_limit, slowest_samples
from profiles.report import link_lines
from profiles.result import SCHEMA, Profile, Result
from profiles.statistics import iqr, median

SIZES = tuple(2**power for power in range(10, 29, 2))  # bytes of one rank's whole buffer
_SECONDS = 1.0  # of one size
_MOST_SECONDS = 3600.0
_FEWEST = 3  # sizes that show a bandwidth
_LAUNCHED = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # what torchrun says
_WORD = 4  # bytes of an FP32 element


def measured(
    device: Device, backend: str, sizes: Sequence[int], seconds: float = _SECONDS
) -> list[Result]:
    """Every operation at every size among the ranks of the initialised process group."""
    distributed = device.torch.distributed
    found = []
    for name in COLLECTIVES:
        for size in sizes:
            call = _call(distributed, device, name, size)
            try:
                samples = slowest_samples(distributed, device, call, seconds)
            except (RuntimeError, NotImplementedError) as error:  # on every rank alike
                found.append(_unsupported(distributed, name, size, backend, str(error)))
                break
            found.append(_result(distributed, name, size, backend, samples))
            if passes_limit(median(samples), seconds):
                break
    return found


def _call(distributed: Any, device: Device, name: str, size: int) -> Callable[[], Any]:
    """One collective over buffers of `size` bytes."""
    torch, ranks = device.torch, distributed.get_world_size()
    words = max(ranks, size // _WORD // ranks * ranks)
    whole = torch.randn(words, device=device.label)
    part = torch.randn(words // ranks, device=device.label)
    if name == "all_reduce":
        return lambda: distributed.all_reduce(whole)
    if name == "all_gather":
        gather = getattr(distributed, "all_gather_single", None)  # its name from torch 2.13
        gather = gather or distributed.all_gather_into_tensor
        return lambda: gather(whole, part)
    if name == "reduce_scatter":
        scatter = getattr(distributed, "reduce_scatter_single", None)  # likewise
        scatter = scatter or distributed.reduce_scatter_tensor
        return lambda: scatter(part, whole)
    if name == "all_to_all":
        other = torch.empty_like(whole)
        return lambda: distributed.all_to_all_single(other, whole)
    return _pairs(distributed, whole)


def _pairs(distributed: Any, buffer: Any) -> Callable[[], Any]:
    """Rank 0 sends to the last rank and gets the same back; one way is half of it."""
    rank, last = distributed.get_rank(), distributed.get_world_size() - 1

    def first() -> None:
        distributed.send(buffer, last)
        distributed.recv(buffer, last)

    def second() -> None:
        distributed.recv(buffer, 0)
        distributed.send(buffer, 0)

    if rank == 0:
        return first
    return second if rank == last else lambda: None


def _result(distributed: Any, name: str, size: int, backend: str, samples: list[float]) -> Result:
    ranks = int(distributed.get_world_size())
    times = [each / 2 for each in samples] if name == "send_recv" else samples
    return Result(
        kernel=name,
        format="fp32",
        shape={"bytes": size} | group_shape(distributed, backend),
        mode="steady",
        median_s=median(times),
        iqr_s=iqr(times),
        n=len(times),
        flops=0.0,
        bytes=bus_bytes(name, size, ranks),
    )


def _unsupported(distributed: Any, name: str, size: int, backend: str, why: str) -> Result:
    return Result(
        kernel=name,
        format="fp32",
        shape={"bytes": size} | group_shape(distributed, backend),
        mode="steady",
        median_s=None,
        iqr_s=None,
        n=0,
        flops=0.0,
        bytes=0.0,
        flags=("not-supported",),
        reason=f"{backend}: {' '.join(why.split())}"[:300],
    )


def profile_with(path: Path, device: Device, gauge: Gauge, results: list[Result]) -> Profile:
    """The profile at `path` with these collectives in place of earlier ones, or a new profile."""
    if path.exists():
        before = read_profile(path)
        keys = {each.key for each in results}
        kept = tuple(each for each in before.results if each.key not in keys)
        return replace(before, results=(*kept, *results))
    sku_id, note = sku_of(device)
    return Profile(
        schema=SCHEMA,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        complete=False,
        preset="collectives",
        environment=environment(device, gauge.driver),
        device=device.describe() | {"sku_id": sku_id},
        results=tuple(results),
        warnings=(note,) if note else (),
    )


def sizes_up_to(most: int, ranks: int) -> tuple[int, ...]:
    """The sizes to time among `ranks`: a word at least for each, up to `most` bytes.

    >>> sizes_up_to(2**16, 2)
    (1024, 4096, 16384, 65536)
    """
    held = [each for each in SIZES if each >= ranks * _WORD]
    found = tuple(each for each in held if each <= most)
    if len(found) < _FEWEST:
        least = held[min(_FEWEST, len(held)) - 1]
        remedy = f"{_FEWEST} sizes show a bandwidth: at least {least}"
        raise ProfileError("--most", most, remedy)
    return found


class _Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, once: every rank is given the same words."""

    def error(self, message: str) -> NoReturn:
        _say(f"{message}; see --help", first="RANK" in os.environ)
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="profiles.collectives", description=__doc__)
    parser.add_argument("--out", metavar="FILE", help="profile file that takes the results")
    parser.add_argument("--most", type=int, default=SIZES[-1], metavar="BYTES", help="largest size")
    parser.add_argument("--seconds", type=_seconds, default=_SECONDS, help="limit of one size")
    return parser


def _seconds(text: str) -> float:
    value = float(text)
    if not 0 < value <= _MOST_SECONDS:
        remedy = f"write seconds above 0, at most {_MOST_SECONDS:g}"
        raise argparse.ArgumentTypeError(f"{text!r}: {remedy}")
    return value


def _say(text: str, *, first: bool) -> None:
    """A line on standard error, of the first rank alone where all would say the same."""
    if not first or os.environ.get("RANK") == "0":
        sys.stderr.write(f"profiles.collectives: {text}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run on every rank; the first one prints and writes."""
    args = _parser().parse_args(argv)
    if not all(name in os.environ for name in _LAUNCHED):
        _say("start it under torchrun, see docs/profiling.md", first=False)
        return 2
    ranks = int(os.environ["WORLD_SIZE"])
    try:
        if ranks < 2:
            raise ProfileError("--nproc-per-node", ranks, "a collective needs 2 ranks or more")
        sizes = sizes_up_to(args.most, ranks)
    except ProfileError as error:
        _say(str(error), first=True)
        return 2
    try:
        return _run(args, sizes)
    except ProfileError as error:  # of one rank: the others do not know it
        _say(str(error), first=False)
        return 2
    except KeyboardInterrupt:
        return 130


def _run(args: argparse.Namespace, sizes: Sequence[int]) -> int:
    from profiles.backend import torch_module

    torch = torch_module()
    cuda = torch.cuda.is_available()
    device = open_device(f"cuda:{os.environ.get('LOCAL_RANK', '0')}" if cuda else "cpu")
    backend = "nccl" if cuda else "gloo"
    distributed = torch.distributed
    distributed.init_process_group(backend)
    path = Path(args.out) if args.out else None
    try:
        if not first_alone(distributed, device, lambda: _check_out(path, device)):
            return 2
        results = measured(device, backend, sizes, args.seconds)
        results += at_once.measured(device, distributed, backend, args.seconds)
        return 0 if first_alone(distributed, device, lambda: _write(path, device, results)) else 2
    finally:
        distributed.destroy_process_group()


def _check_out(path: Path | None, device: Device) -> None:
    """Refuse before the measurement what could not take its results."""
    if path is None:
        return
    if path.exists():
        name = read_profile(path).device["name"]
        if name != device.name:
            remedy = f"a profile of {name}, this is {device.name}: say another file"
            raise ProfileError("--out", str(path), remedy)
    if not os.access(path.parent, os.W_OK):
        remedy = "its folder is missing or takes no files: say another file"
        raise ProfileError("--out", str(path), remedy)


def _write(path: Path | None, device: Device, results: list[Result]) -> None:
    sys.stdout.write("\n".join(link_lines(results)) + "\n")
    if path is not None:
        gauge = gauge_of(device)
        try:
            write_profile(path, profile_with(path, device, gauge, results))
        finally:
            gauge.close()


if __name__ == "__main__":
    sys.exit(main())
