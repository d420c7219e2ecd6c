"""Sources: a trace that many simulations read, with its identity and the times of its events."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from heapsmith.model.compile.kernel import Ints
from heapsmith.model.design.design import Design, ask_sites
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.application import TOUCHED_FROM, program_of
from heapsmith.model.search.space import needs_time
from heapsmith.model.trace.events import WITH_SITE, op_mask
from heapsmith.model.trace.falls import Falls
from heapsmith.model.trace.reader import Chunk, Op, TraceReader
from heapsmith.model.trace.stats import Lives, Moves

MOST_WEIGHT = 1_000_000
"""Of a trace among several."""

KEPT_EVENTS = 1 << 24
"""Traces up to this length stay decoded in memory: 28 bytes per event, 32 with call sites."""

TELLING_FALL = 0.1
"""The least part of a trace's time for which its live bytes must have fallen to tell what kept pages cost: pages of a
quarter of the peak then weigh 2.5 % of the average, beyond the margin of the score.
"""

WORK_BYTES, MOST_TOUCHED = 400, 1 << 30
"""The touched bytes that take the model as long as an event; and the most of one block that count.

A recording of python took 125 ns an event (8.0 M/s), blocks of up to 1 MiB .31 ns a byte.
"""


class Source:
    """A trace for the search. Reads it once, checks its rules, and keeps the chunks of a short trace.

    tells_touched: its samples tell which share of large blocks the program touches, for each of the
    sizes that it asks for. tells_release: its live bytes fall after their peak, for long enough to tell what pages
    cost that never go back. tells_time: its events have time stamps. tells_processors: it has more
    threads than processors, and tells those of its events. others: as Lives; 0 if its samples do not
    tell which part of its life a thread ran. run_ns: the processor time of all threads, or the time
    from the first event to the last where the samples do not tell. work: the time of a simulation
    with caches, in events that touch few lines. touched: the bytes that the program touches of new
    blocks, if it writes all that the samples allow. sited: the chunks have the call sites of the trace.
    Raises BadInput if the trace is damaged, cannot be read or has no allocation.
    """

    def __init__(self, path: Path, weight: float = 1.0, *, sited: bool = False) -> None:
        self.path, self.weight, self.sited = path, weight, sited
        self.application = program_of(path)
        with TraceReader(path, sited=sited) as reader:
            self.footer = reader.footer
            self.events = self.footer.events
            kept: list[Chunk] = []
            begin, self.operations, first, last = 0, 0, 0, 0
            asked: set[int] = set()
            self.touched = 0.0
            moves, lives = Moves(self.footer.threads), Lives(self.footer.threads)
            falls = Falls(self.footer.max_blocks)
            for chunk in reader:
                if self.events <= KEPT_EVENTS:
                    kept.append(chunk)
                first = int(chunk.time_ns[0]) if begin == 0 and len(chunk.op) else first
                self.operations += int((chunk.op < Op.THREAD_START).sum())
                when = _when(chunk, begin)
                lives.feed(chunk.thread, when)
                falls.feed(chunk, when)
                begin += len(chunk.op)
                moves.feed(chunk)
                asked |= _ranges(chunk.size)
                self.touched += self._touched_bytes(chunk)
                last = int(chunk.time_ns[-1]) if len(chunk.op) else last
        if not self.operations:
            raise BadInput(f"{path}: no allocation to tune for")
        samples = self.footer.samples
        seen = _ranges(np.array([row.bytes for row in samples.touched if row.pages] if samples else [0]))
        self.tells_touched = samples is not None and asked <= seen
        self.tells_release = falls.fallen >= TELLING_FALL
        self.work = self.events + self.touched / WORK_BYTES
        self._kept = kept
        self.tells_time = last > 0
        shares = np.array(samples.shares() if samples else [], np.float64)
        self.others = lives.others(shares)
        self.run_ns = int(lives.ran(shares)) if last > 0 and shares.any() else last - first
        self.tells_processors = 0 < moves.processors < self.footer.threads

    def chunks(self) -> Iterator[Chunk]:
        """Yield the chunks of the trace."""
        if self._kept:
            yield from self._kept
            return
        with TraceReader(self.path, sited=self.sited) as reader:
            yield from reader

    def _touched_bytes(self, chunk: Chunk) -> float:
        """Return the bytes that the program touches of the blocks of a chunk, as the model has it."""
        size = np.where(op_mask(WITH_SITE)[chunk.op], chunk.size, 0)
        share = np.array([1.0, *self.application.touched])
        return float((np.minimum(size, MOST_TOUCHED) * share[_range_of(size)]).sum())

    def identity(self) -> str:
        """Return 16 hex digits of the file's content."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def sources_for(
    traces: Sequence[tuple[Path, float]], hold_out: Sequence[Path], base: Design
) -> tuple[list[Source], list[Source]]:
    """Return the traces of the search and those held out.

    Raises BadInput without traces, for a weight out of range, and for a trace without times if the base needs them.
    """
    if not traces:
        raise BadInput("traces: expected at least one")
    for path, weight in traces:
        if not 0 < weight <= MOST_WEIGHT:
            raise BadInput(f"{path}: weight {weight:g}; expected above 0, at most {MOST_WEIGHT:,}")
    sited = ask_sites([base]) or bool(hold_out)  # what is held out may confirm groups of call sites
    sources = [Source(*one, sited=sited) for one in traces]
    held = [Source(path, sited=sited) for path in hold_out]
    for source in [*sources, *held]:
        if needs_time(base) and not source.tells_time:
            raise BadInput(f"{source.path}: no time stamps, which {base.name} needs (release.unit: milliseconds)")
    return sources, held


def _when(chunk: Chunk, begin: int) -> Ints:
    """Return the times of a chunk's events; their numbers, of which the first is `begin`, in a trace without times."""
    has_times = len(chunk.op) and chunk.time_ns[-1] > 0
    return chunk.time_ns.astype(np.int64) if has_times else np.arange(begin, begin + len(chunk.op))


def _ranges(sizes: npt.NDArray[np.generic]) -> set[int]:
    """Return the ranges of TOUCHED_FROM in which there are sizes; smaller sizes are in none."""
    return set(_range_of(np.asarray(sizes, np.int64)).tolist()) - {0}


def _range_of(sizes: Ints) -> Ints:
    """Return for each size the range of TOUCHED_FROM, from 1; 0: it is smaller."""
    return np.searchsorted(list(TOUCHED_FROM.values()), sizes, side="right")
