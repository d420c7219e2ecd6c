"""Choosing blocks of a trace with their whole lives: by what they are (filter), or by chance (sample)."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.cache import cached_njit
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.edit.inputs import Events, Inputs, Progress, no_progress
from heapsmith.model.trace.edit.output import Edited, write_edited
from heapsmith.model.trace.edit.samples import Place

Flags = npt.NDArray[np.bool_]
Choice = Callable[[Events], Flags]
"""Tells of each event whether, if it is a birth, its block is chosen."""

MAX = (1 << 63) - 1


class Criteria(msgspec.Struct, frozen=True):
    """What chosen blocks have in common; the criteria are about the block's birth, and all must hold.

    threads: by these threads, None: by any. sizes: bytes from the first to the last. sites: at these sites,
    None: at any. time_ns: from the first to before the last.
    """

    threads: frozenset[int] | None = None
    sizes: tuple[int, int] = (0, MAX)
    sites: frozenset[int] | None = None
    time_ns: tuple[int, int] = (0, MAX)

    def __str__(self) -> str:
        words = [] if self.threads is None else ["threads " + ",".join(map(str, sorted(self.threads)))]
        words += [] if self.sites is None else [f"{len(self.sites)} sites"]
        for name, unit, (first, last) in (("sizes", "", self.sizes), ("time", " ns", self.time_ns)):
            if (first, last) != (0, MAX):
                words.append(f"{name} {first}:{'' if last == MAX else last}{unit}")
        return ", ".join(words) or "everything"


def filter_trace(path: Path, out: Path, criteria: Criteria, progress: Progress = no_progress) -> Edited:
    """Write to `out` the blocks of a trace that meet the criteria, with their whole lives.

    If the criteria name threads, only they keep their start; else all threads keep start and exit. Raises
    BadInput for a thread or a site that the trace lacks.
    """
    with Inputs([path], progress) as inputs:
        footer = inputs.readers[0].footer
        of_thread = _members(path, "threads", criteria.threads, footer.threads)
        of_site = _members(path, "sites", criteria.sites, inputs.tree.innermost.size + 1 if inputs.tree else 1)
        sizes, times = criteria.sizes, criteria.time_ns

        def chosen(events: Events) -> Flags:
            chunk, site = events
            found: Flags = (chunk.size >= sizes[0]) & (chunk.size <= sizes[1])
            if times != (0, MAX):
                found &= (chunk.time_ns >= times[0]) & (chunk.time_ns < times[1])
            if of_thread is not None:
                found &= of_thread[chunk.thread]
            if of_site is not None:
                found &= of_site[np.uint32(0) if site is None else site]
            return found

        kept, is_all = _chosen_lives(inputs, chosen, of_thread), criteria == Criteria()
        return write_edited(out, inputs, kept, f"filter: {criteria}", lambda: [Place()], whole=is_all)


def sample_trace(path: Path, out: Path, rate: float, seed: int = 0, progress: Progress = no_progress) -> Edited:
    """Write to `out` a random share of a trace's blocks, with their whole lives, and all threads.

    rate: the share, above 0 and at most 1. A hash of the seed and of the number of the birth decides, so each
    block has the same chance, whatever the others do.
    """
    limit = np.uint64(min(round(rate * 2.0**64), (1 << 64) - 1))
    births = 0

    def chosen(events: Events) -> Flags:
        nonlocal births
        born = _is_birth(events.chunk.op)
        numbers = np.cumsum(born) + (births - 1)
        births = int(numbers[-1]) + 1 if numbers.size else births
        return _mixed(numbers.astype(np.uint64), seed) <= limit

    with Inputs([path], progress) as inputs:
        kept = _chosen_lives(inputs, chosen, None)
        step = f"sample: {rate:g} of the blocks, seed {seed}"
        return write_edited(out, inputs, kept, step, lambda: [Place()], whole=rate == 1, sample_rate=rate)


def _members(path: Path, what: str, wanted: frozenset[int] | None, count: int) -> Flags | None:
    """Return a flag for each of `count` numbers; BadInput for one that the trace lacks."""
    if wanted is None:
        return None
    beyond = sorted(number for number in wanted if not 0 <= number < count)
    if beyond:
        raise BadInput(f"{path}: {what}: there is no number {beyond[0]}; expected 0 to {count - 1}")
    flags = np.zeros(count, np.bool_)
    flags[list(wanted)] = True
    return flags


def _chosen_lives(inputs: Inputs, choice: Choice, of_thread: Flags | None) -> Iterator[Events]:
    """Yield all events of the chosen blocks, and the starts and exits of threads."""
    block = np.zeros(inputs.blocks, np.bool_)
    starts = np.ones(inputs.threads, np.bool_) if of_thread is None else of_thread
    seen = starts.copy()
    for events in inputs.of(0):
        chunk = events.chunk
        kept = _keep(chunk.op, chunk.thread, chunk.block, choice(events), block, starts, seen)
        yield events if kept.all() else events.where(kept)


@cached_njit
def _keep(
    op: npt.NDArray[np.uint8], thread: U32, block: U32, chosen: Flags, of_block: Flags, starts: Flags, seen: Flags
) -> Flags:
    """Return which events stay: those of chosen blocks, the starts of `starts`, the exits of threads `seen`.

    `of_block`: whether each live block is chosen. A thread with an event that stays becomes seen.
    """
    kept = np.zeros(op.size, np.bool_)
    for i in range(op.size):
        o, t, b = op[i], thread[i], block[i]
        if o < 4 and o != 2:
            of_block[b] = chosen[i]
        if o < 6:
            kept[i] = of_block[b]
            if kept[i]:
                seen[t] = True
        else:
            kept[i] = starts[t] if o == 6 else seen[t]
    return kept


def _is_birth(op: npt.NDArray[np.uint8]) -> Flags:
    found: Flags = (op < 4) & (op != 2)
    return found


def _mixed(numbers: npt.NDArray[np.uint64], seed: int) -> npt.NDArray[np.uint64]:
    """Return a hash of each number: the finalizer of SplitMix64 (Steele, Lea and Flood 2014), keyed by the seed."""
    key: Any = _finalized(np.array([seed & ((1 << 64) - 1)], np.uint64) + np.uint64(_GOLDEN))[0]
    return _finalized(numbers * np.uint64(_GOLDEN) + key)


_GOLDEN = 0x9E3779B97F4A7C15


def _finalized(bits: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    bits = (bits ^ (bits >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    bits = (bits ^ (bits >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return bits ^ (bits >> np.uint64(31))
