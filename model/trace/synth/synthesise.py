"""Write a trace that is drawn from a fit."""

from collections.abc import Callable, Iterator
from pathlib import Path

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.events import CHUNK_EVENTS, Chunk, join
from heapsmith.model.trace.frames import MAGIC, Footer
from heapsmith.model.trace.synth.fit import Fit, PhasesFit
from heapsmith.model.trace.synth.fit_file import load_fit
from heapsmith.model.trace.synth.learn import fit_trace
from heapsmith.model.trace.synth.lives import lives
from heapsmith.model.trace.synth.profiles import fit_profile
from heapsmith.model.trace.synth.walk import walk
from heapsmith.model.trace.writer import TraceWriter

READ = (
    "a trace (.hst), a heap profile of jemalloc, gperftools (text), DHAT or pprof, or a fit in TOML (.toml) or JSON "
    "(docs/other-tools.md)"
)
"""What `fit_of` reads."""
_HEAD_BYTES = 4096
SOURCE = "synthetic"
NOTES = ["every event was drawn from a fit: no program made this trace"]

Progress = Callable[[str, int, int], None]


def fit_of(path: Path, progress: Progress = lambda what, done, total: None) -> tuple[bool, Fit]:
    """Return whether the file is a trace, and its fit: of a trace, a heap profile, or a file with a fit.

    Raises BadInput if it is none of them, or damaged.
    """
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD_BYTES)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}") from None
    if head.startswith(MAGIC):
        return True, fit_trace(path, progress)
    if found := fit_profile(path):
        return False, found
    if path.suffix not in (".toml", ".json") and not head.lstrip().startswith(b"{"):
        raise BadInput(f"{path}: of no known format; expected {READ}")
    return False, load_fit(path)


def synthesise(
    fit: Fit,
    out: Path,
    *,
    events: int | None = None,
    seed: int = 1,
    progress: Progress = lambda what, done, total: None,
) -> Footer:
    """Write `events` events drawn from the fit to `out`, by default as many as the fit says; return the footer.

    The same fit, number of events and seed give the same trace. Raises BadInput if none of the fit's steps can be done,
    or if `out` cannot be written.
    """
    wanted, done = events or fit.events, 0
    drawn = walk(fit, wanted, seed) if isinstance(fit, PhasesFit) else lives(fit, wanted, seed)
    with TraceWriter(out, command=[], source=SOURCE) as writer:
        for chunk in _gathered(drawn):
            writer.append(chunk)
            done += chunk.op.size
            progress("drawing", done, wanted)
        if not done:
            raise BadInput(f"{out}: not written: the fit has no events; expected one that draws some")
        return writer.close({"inexact": NOTES, "seed": seed})


def _gathered(chunks: Iterator[Chunk]) -> Iterator[Chunk]:
    """Yield the same events in chunks of CHUNK_EVENTS or more, but for the last."""
    held: list[Chunk] = []
    events = 0
    for chunk in chunks:
        held.append(chunk)
        events += chunk.op.size
        if events >= CHUNK_EVENTS:
            yield join(held)
            held, events = [], 0
    if held:
        yield join(held)
