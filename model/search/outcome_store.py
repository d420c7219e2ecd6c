"""The store of simulated outcomes: one file per trace, machine and model, so that a search can go on later."""

import fcntl
import hashlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

import msgspec

from heapsmith.model.errors import HeapsmithError, Missing
from heapsmith.model.files import JSON_FAULTS, cache_dir, write_whole
from heapsmith.model.memory.hardware import Hardware
from heapsmith.model.predict.ledgers import Ledgers
from heapsmith.model.search.outcome import Glance, Outcome
from heapsmith.model.search.source import Source

MOST_FILES = 64
"""Files that stay; the oldest go."""


class Stored(msgspec.Struct):
    """The outcomes, glances, p99.9 (nanoseconds) and ledgers of a trace by the design's hash.

    designs: those with outcomes, as JSON, which only a search that goes on from them reads.
    """

    outcomes: dict[str, Outcome] = msgspec.field(default_factory=dict)
    glances: dict[str, Glance] = msgspec.field(default_factory=dict)
    p999_ns: dict[str, float] = msgspec.field(default_factory=dict)
    ledgers: dict[str, Ledgers] = msgspec.field(default_factory=dict)
    designs: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)

    def count(self) -> int:
        """Return how many results there are."""
        return sum(len(getattr(self, name)) for name in self.__struct_fields__)

    def joined(self, other: "Stored") -> "Stored":
        """Return the results of both; of two for the same design, the other's."""
        return Stored(*(getattr(self, name) | getattr(other, name) for name in self.__struct_fields__))


class Store:
    """The file of a source, with what its program touches, on some hardware with some cores (see Bench).

    resume: begin with what it holds.
    """

    def __init__(self, source: Source, hardware: Hardware, cores: int | None = None, *, resume: bool) -> None:
        of_waits = cores if source.footer.threads > 1 else None
        machine = hashlib.sha256(msgspec.json.encode((hardware, of_waits, source.application))).hexdigest()[:8]
        self._path: Path | None = None
        with suppress(Missing):
            self._path = (
                cache_dir() / "outcomes" / f"{source.identity()}-{machine}-{model_version(search=True)[:8]}.json"
            )
        self.held = _read(self._path) if resume and self._path else Stored()
        self._written = self.held.count()

    def write(self) -> None:
        """Add what is new to the file, which others may have written meanwhile.

        A cache that cannot be written costs only time.
        """
        count = self.held.count()
        if count == self._written or self._path is None:
            return
        self._written = count
        with suppress(HeapsmithError, OSError), _alone(self._path.parent):
            write_whole(self._path, msgspec.json.encode(_read(self._path).joined(self.held)))
            files = sorted(self._path.parent.glob("*.json"), key=lambda file: file.stat().st_mtime)
            for file in files[:-MOST_FILES]:
                file.unlink(missing_ok=True)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other processes from writing to the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _read(path: Path) -> Stored:
    try:
        return msgspec.json.decode(path.read_bytes(), type=Stored)
    except (OSError, *JSON_FAULTS):
        return Stored()


@cache
def model_version(*, search: bool) -> str:
    """Return 16 hex digits of the sources that decide a simulation; search: and of an outcome."""
    folder = Path(__file__).resolve().parent.parent
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder)
        if search or name.parts[0] != "search":
            digest.update(b"\0".join([str(name).encode(), hashlib.sha256(path.read_bytes()).digest()]))
    return digest.hexdigest()[:16]
