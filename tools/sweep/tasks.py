"""The tasks of a sweep: a design on a trace, what it finds, and the store of what was found."""

import hashlib
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS, write_whole
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.cost import system_calls
from heapsmith.model.predict.simulate import Simulation, SimulationTable
from heapsmith.model.search import outcome_store
from heapsmith.model.trace.reader import TraceReader


class Found(msgspec.Struct, frozen=True):
    """The figures of a design on a trace; bytes and counts of the whole trace unless a name says more.

    Without hardware there are no touches; without costs of the hardware there is no price.
    """

    events: int
    operations: int
    threads: int
    committed_peak: int
    peak_live: int
    hits: float  # share of the small allocations that a front served
    refills: int
    flushes: int
    system_calls: int
    releases: int
    released_bytes: int
    superslabs: int
    internal_fragmentation: float  # at the committed peak
    external_fragmentation: float
    accesses: int | None = None  # of cache lines, by the heap and the program
    l1_misses: int | None = None
    llc_misses: int | None = None
    tlb_misses: int | None = None
    page_faults: int | None = None
    resident_peak: int | None = None
    resident_average: float | None = None
    instructions_per_op: float | None = None
    ns_per_op: float | None = None
    allocator_ns_per_op: float | None = None


def found_in(table: SimulationTable, row: Simulation) -> Found:
    """Return the figures of one design of a simulation."""
    of, totals, peak = row.counters.classes, row.counters.totals, row.statistics.peak_committed
    touches, price = row.touches, row.price
    found = Found(
        events=table.events,
        operations=table.operations,
        threads=table.threads,
        committed_peak=row.committed_peak,
        peak_live=row.statistics.peak_live.live_bytes,
        hits=row.rates.hit0 + row.rates.hit1,
        refills=sum(of["refill"]),
        flushes=sum(of["flush"]),
        system_calls=system_calls(row),
        **{name: totals[name] for name in ("releases", "released_bytes", "superslabs")},
        internal_fragmentation=peak.internal_fragmentation,
        external_fragmentation=peak.external_fragmentation,
    )
    if touches is not None:
        names = ("accesses", "l1_misses", "llc_misses", "resident_peak", "resident_average")
        found = msgspec.structs.replace(
            found,
            tlb_misses=touches.tlb2_misses,
            page_faults=touches.faults_4k + touches.faults_2m,
            **{name: getattr(touches, name) for name in names},
        )
    if price is not None:
        paid = ("instructions_per_op", "ns_per_op", "allocator_ns_per_op")
        found = msgspec.structs.replace(found, **{name: getattr(price, name) for name in paid})
    return found


class Recording(NamedTuple):
    """A trace of a sweep: its file, the SHA-256 of its bytes, and its events."""

    path: Path
    digest: str
    events: int


def recording(path: Path) -> Recording:
    """Return the trace in a file; BadInput if its header or footer is damaged."""
    with TraceReader(path) as trace:
        events = trace.footer.events
    try:
        with path.open("rb") as file:
            return Recording(path, hashlib.file_digest(file, "sha256").hexdigest(), events)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None


def model_version() -> str:
    """Return 16 hex digits of the sources that a simulation runs: all of the model but the search."""
    return outcome_store.model_version(search=False)


def machine_hash(hardware: Hardware | None) -> str | None:
    """Return 12 hex digits of a machine's content; None without hardware."""
    return None if hardware is None else hashlib.sha256(msgspec.json.encode(hardware)).hexdigest()[:12]


class Store:
    """What finished tasks found: a small file per task, named by all that decides its content."""

    def __init__(self, folder: Path, machine: str | None) -> None:
        self._folder, self._machine = folder, machine

    def key(self, design_hash: str, trace_digest: str) -> str:
        """Return the name of a task."""
        words = (model_version(), design_hash, trace_digest, self._machine or "")
        return hashlib.sha256("\0".join(words).encode()).hexdigest()[:32]

    def get(self, key: str) -> Found | None:
        """Return what the task found; None if it is not finished, or its file is damaged."""
        try:
            return msgspec.json.decode(self._file(key).read_bytes(), type=Found)
        except (OSError, *JSON_FAULTS):
            return None

    def put(self, key: str, found: Found) -> None:
        """Keep what the task found; BadInput if the store cannot be written."""
        write_whole(self._file(key), msgspec.json.encode(found))

    def _file(self, key: str) -> Path:
        return self._folder / key[:2] / f"{key}.json"
