"""Every candidate evaluated: times first, memory only where a candidate could still be the best.

Cost and energy of one machine rise with its time, so its best candidate by any of them is the
fastest that fits. Bounding by it leaves the answer exact and most memory unevaluated.
"""

from __future__ import annotations

import os
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.engine.batch import Batch
from planner.engine.constants import Constants
from planner.engine.memory import memory_bytes
from planner.engine.step import step_seconds
from planner.planning.choose import shortened, side_by_side
from planner.search.chunks import CHUNK, Chunk, chosen, chunks
from planner.search.group import Group, PoolKey
from planner.search.keeper import KEPT, Keeper, Kept

Array = np.ndarray[Any, np.dtype[Any]]

FIRST_ROUND, GROWTH = 64, 4  # candidates of a group whose memory is evaluated at a time
MOST_THREADS = 8
Keepers = Mapping[PoolKey, Keeper]
AHEAD = 2  # chunks per thread that wait with their arrays unbuilt


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """What came of a scan."""

    keepers: dict[PoolKey, Keeper]
    evaluated: int  # candidates whose time was evaluated: all of them, unless interrupted
    memory_evaluated: int
    seconds: float  # wall time
    complete: bool  # False: interrupted, the best of what was seen


@dataclass(frozen=True, slots=True, kw_only=True)
class _Seen:
    """What one chunk contributed: by pool, the candidates whose memory is known."""

    kept: dict[PoolKey, Kept]
    size: int
    memory: int


def scan(
    groups: Sequence[Group],
    c: Constants,
    *,
    threads: int | None = None,
    chunk: int = CHUNK,
    progress: Callable[[int], None] | None = None,
    watch: Callable[[Keepers], None] | None = None,
) -> Scan:
    """Evaluate every candidate of `groups`. An interrupt ends it early with the best so far.

    `watch` is shown what is kept after every chunk, before `progress` is told of it.
    """
    keepers = {each.pool: Keeper() for each in groups}
    started, evaluated, memory, complete = time.perf_counter(), 0, 0, True
    try:
        for seen in _all_seen(groups, keepers, c, threads or _threads(), chunk):
            for pool, kept in seen.kept.items():
                keepers[pool].add(kept)
            evaluated, memory = evaluated + seen.size, memory + seen.memory
            if watch:
                watch(keepers)
            if progress:
                progress(seen.size)
    except KeyboardInterrupt:
        complete = False
    return Scan(
        keepers=keepers,
        evaluated=evaluated,
        memory_evaluated=memory,
        seconds=time.perf_counter() - started,
        complete=complete,
    )


def _threads() -> int:
    return min(os.cpu_count() or 1, MOST_THREADS)


def _all_seen(
    groups: Sequence[Group], keepers: Keepers, c: Constants, threads: int, chunk: int
) -> Iterator[_Seen]:
    """Chunks in order; arrays let go of the interpreter, so threads share the work."""
    stream = chunks(groups, chunk)
    if threads == 1:
        for each in stream:
            yield _look(each, keepers, c)
        return
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[_Seen]] = deque()
        try:
            for each in stream:
                waiting.append(pool.submit(_look, each, keepers, c))
                if len(waiting) >= threads * AHEAD:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()


def _look(chunk: Chunk, keepers: Keepers, c: Constants) -> _Seen:
    """Times of a chunk, and the memory of those that beat their pool's bound, fastest first."""
    batch, owner = chunk.batch(), chunk.owner()
    pools = list(dict.fromkeys(piece.group.pool for piece in chunk.pieces))
    pool = np.array([pools.index(piece.group.pool) for piece in chunk.pieces])[owner]
    surety = np.array([piece.group.surety for piece in chunk.pieces])[owner]
    seconds = run_seconds(chunk, batch, c)
    bounds = np.array([keepers[each].bound for each in pools])
    where, ratio = _memories(batch, pool, seconds, bounds, surety, c)
    found = Kept(
        group=np.array([piece.number for piece in chunk.pieces])[owner[where]],
        index=chunk.position()[where],
        seconds=seconds[where],
        ratio=ratio,
        surety=surety[where],
    )
    kept = {each: found.at(pool[where] == number) for number, each in enumerate(pools)}
    return _Seen(kept=kept, size=chunk.size, memory=found.size)


def run_seconds(chunk: Chunk, batch: Batch, c: Constants) -> Array:
    """Wall time of every candidate's whole run, (size,)."""
    device = np.broadcast_to(step_seconds(as_computed(chunk, batch), c).total, (batch.size,))
    parallel = batch.parallel
    global_batch = np.broadcast_to(
        parallel.dp * parallel.micro_batch * parallel.accumulation, (batch.size,)
    )
    parts, start = [], 0
    for piece in chunk.pieces:
        stop = start + piece.size
        parts.append(piece.group.clock.seconds(device[start:stop], global_batch[start:stop]))
        start = stop
    return np.concatenate(parts)


def as_computed(chunk: Chunk, batch: Batch) -> Batch:
    """With real lengths, rows are as long as they are computed."""
    lengths = chunk.pieces[0].group.scenario.lengths
    return batch if lengths is None else shortened(batch, lengths.row_tokens(side_by_side(batch)))


def memory_ratio(batch: Batch, c: Constants) -> Array:
    """Predicted peak over capacity, (size,)."""
    return np.broadcast_to(memory_bytes(batch, c).total / batch.machine.capacity, (batch.size,))


def _memories(
    batch: Batch, pool: Array, seconds: Array, bounds: Array, surety: Array, c: Constants
) -> tuple[Array, Array]:
    """Positions and memory ratios of the candidates that could matter.

    In rounds, fastest first in each pool; a pool that has enough sure ones is left alone.
    """
    order = np.flatnonzero(seconds < bounds[pool])
    order = order[np.lexsort((seconds[order], pool[order]))]
    rank = np.arange(len(order)) - np.searchsorted(pool[order], pool[order])
    positions, ratios = [np.zeros(0, dtype=np.int64)], [np.zeros(0)]
    low, high = 0, FIRST_ROUND
    sure = np.zeros(len(bounds), dtype=np.int64)
    while len(order):
        now = order[(rank >= low) & (rank < high) & (sure[pool[order]] < KEPT)]
        if not len(now):
            break
        ratio = memory_ratio(chosen(batch, now), c)
        sure += np.bincount(pool[now][ratio <= surety[now]], minlength=len(sure))
        positions.append(now)
        ratios.append(ratio)
        low, high = high, high * GROWTH
    return np.concatenate(positions), np.concatenate(ratios)
