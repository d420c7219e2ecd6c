"""A whole trace of what is sound in a damaged one, with an account of what is lost (docs/other-tools.md, 'repair')."""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import msgspec

from heapsmith.model.errors import CheckFailed
from heapsmith.model.trace.codec import Damage
from heapsmith.model.trace.edit.damaged_trace import Gap, footer_of, frames_and_gaps
from heapsmith.model.trace.edit.inputs import Events, Progress, begun_later, no_progress
from heapsmith.model.trace.edit.mending import Mending
from heapsmith.model.trace.edit.numbering import Numbering
from heapsmith.model.trace.edit.samples import Place, carried
from heapsmith.model.trace.edit.trees import part_of
from heapsmith.model.trace.frames import FOOTER_TAG, Footer, Frame, TraceFile
from heapsmith.model.trace.stacks import CallTree, unpacked
from heapsmith.model.trace.writer import TraceWriter


class Repaired(msgspec.Struct, frozen=True):
    """What a repaired trace has and what it lacks."""

    path: str
    out: str
    events: int
    chunks: int  # that were sound
    chunks_lost: int  # whose place is known
    events_lost: int  # in them
    bytes_lost: int  # of which no frame could be made
    damage: list[str]  # why each was lost
    frees_of_unknown: int  # dropped
    frees_put_in: int  # of blocks that were born again
    reallocs_of_unknown: int  # now mallocs
    late_starts: int  # of threads that were known: dropped
    invalid: int  # events with a size, an alignment or a number that cannot be: dropped
    backsteps: int  # times that went back
    footer: bool  # whether it could be read
    stacks: int

    @property
    def changes(self) -> int:
        """How many events were dropped, put in or changed because they broke a rule."""
        broken = (self.frees_of_unknown, self.frees_put_in, self.reallocs_of_unknown, self.late_starts, self.invalid)
        return sum(broken) + self.backsteps


class _Survey:
    """Which chunks are sound, and the limits of their numbers: a pass over the file."""

    def __init__(self, file: TraceFile) -> None:
        self.sound: list[Frame] = []
        self.damage: list[str] = []
        self.blocks = self.threads = self.lost_events = self.lost_chunks = self.lost_bytes = 0
        last: Frame | Gap | None = None
        for last in frames_and_gaps(file):
            if isinstance(last, Gap):
                self.lost_bytes += last.end - last.offset
                self.damage.append(f"{last.damage}; {last.end - last.offset} bytes from byte {last.offset} on are lost")
            elif last.tag != FOOTER_TAG:
                self._look_at(file, last)
        self.footer, wrong = footer_of(file, last)
        self.damage += [wrong] if wrong else []

    def _look_at(self, file: TraceFile, frame: Frame) -> None:
        try:
            chunk = file.chunk(frame)
            file.site(frame, chunk)
        except Damage as damage:
            self.damage.append(f"{damage}; {frame.events} events are lost")
            self.lost_events += frame.events
            self.lost_chunks += 1
            return
        self.blocks = max(self.blocks, int(chunk.block.max(initial=0)) + 1)
        self.threads = max(self.threads, int(chunk.thread.max(initial=0)) + 1)
        self.sound.append(frame)


def repair(path: Path, out: Path, progress: Progress = no_progress) -> Repaired:
    """Write to `out` a whole trace of what is sound in the trace `path`.

    Chunks with damage are left out, wherever they are; what follows them stays. Events that break rules are
    mended (Mending). Call sites stay if the footer can be read. Raises BadInput if the header cannot be read, and
    CheckFailed if damage has left no event; `out` then stays as it is.
    """
    with TraceFile(path) as file:
        survey = _Survey(file)
        tree = _stacks(survey.footer) if file.header.has_sites else None
        stacks = tree.innermost.size if tree else 0
        numbering = Numbering(survey.blocks, survey.threads, stacks)
        mending = Mending(survey.blocks, survey.threads)
        head = file.header
        writer = TraceWriter(
            out,
            command=head.command,
            source=head.source,
            chunk_events=head.chunk_events,
            processors=head.has_processors,
            sites=tree is not None,
            free_sites=head.has_free_sites,
        )
        with writer:
            for events in _sound_events(file, survey, tree, progress):
                writer.append(*numbering.follow(*mending.mended(events)))
            part = part_of(tree, numbering.sites()) if tree else None
            if not writer.events and (survey.damage or survey.sound):
                why = "; ".join(survey.damage[:1]) or "all break rules"
                raise CheckFailed(f"{path}: no event is sound, so no trace is written ({why})")
            fields = _known(survey, numbering) | {"stacks": part.packed() if part else None}
            footer = writer.close(fields)
    return Repaired(
        str(path),
        str(out),
        events=footer.events,
        chunks=len(survey.sound),
        chunks_lost=survey.lost_chunks,
        events_lost=survey.lost_events,
        bytes_lost=survey.lost_bytes,
        damage=survey.damage,
        footer=survey.footer is not None,
        stacks=footer.stacks.stacks if footer.stacks else 0,
        **mending.counts(),
    )


def _stacks(footer: Footer | None) -> CallTree | None:
    """Return the stacks; None if they cannot be read, because sites mean nothing then."""
    with suppress(Damage):
        return unpacked(footer.stacks, footer.events) if footer and footer.stacks else None
    return None


def _sound_events(file: TraceFile, survey: _Survey, tree: CallTree | None, progress: Progress) -> Iterator[Events]:
    """Yield the events of the sound chunks; a site that the stacks lack becomes unknown."""
    for done, frame in enumerate(survey.sound, 1):
        chunk = file.chunk(frame)
        site = None
        if tree is not None:
            site = file.site(frame, chunk)
            site = site * (site <= tree.innermost.size)
        yield Events(chunk, site)
        progress("chunks", done, len(survey.sound))


def _known(survey: _Survey, numbering: Numbering) -> dict[str, object]:
    """Return what the new footer says: what the old one knew, and the damage."""
    footer = survey.footer or Footer(0, 0, 0, 0)
    what = f"{survey.lost_events} events in {survey.lost_chunks} chunks and {survey.lost_bytes} bytes lost"
    damage = [*([footer.salvaged] if footer.salvaged else []), *survey.damage[:1]]
    threads = [(0, thread) for thread in numbering.threads().tolist()]
    first = numbering.first_ns or 0
    return begun_later(footer.extra, first) | {
        "drops": footer.drops + survey.lost_events,
        "foreign_frees": footer.foreign_frees,
        "salvaged": "; ".join(damage) or None,
        "samples": carried([footer.samples], [Place(-first)], threads, whole=True),
        "edits": [*footer.lines("edits"), f"repair: {what}"],
    }
