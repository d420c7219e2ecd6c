"""The one place where a tool's events become a new trace, with header and footer."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import msgspec

from heapsmith.model.trace.edit.inputs import Events, Inputs
from heapsmith.model.trace.edit.samples import Place
from heapsmith.model.trace.writer import TraceWriter


class Edited(msgspec.Struct, frozen=True):
    """A trace that a tool made."""

    out: str
    events_before: int  # of the traces that it was made of
    events: int
    threads: int
    max_blocks: int
    stacks: int
    dropped: list[str]  # what the traces have that one trace cannot keep


def write_edited(
    out: Path,
    inputs: Inputs,
    events: Iterable[Events],
    step: str,
    places: Callable[[], Sequence[Place]],
    *,
    joint: str = "",
    whole: bool = True,
    sample_rate: float | None = None,
) -> Edited:
    """Write the events of a tool as the trace `out`; `-` is standard output.

    step: what the tool did, a line for the footer's `edits`. places: asked at the end. joint: the word between
    the commands of several traces. whole: the trace has all blocks. sample_rate: the share of blocks of a sample.
    """
    numbering, first = inputs.numbering(), inputs.readers[0].header
    headers = [reader.header for reader in inputs.readers]
    writer = TraceWriter(
        out,
        command=_common_command([header.command for header in headers], joint),
        source=first.source if all(header.source == first.source for header in headers) else "several",
        chunk_events=first.chunk_events,
        processors=any(header.has_processors for header in headers),
        sites=inputs.tree is not None,
        free_sites=any(header.has_free_sites for header in headers),
    )
    with writer:
        for chunk, site in events:
            writer.append(*numbering.follow(chunk, site))
        extra = inputs.footer(numbering, places(), whole=whole)
        extra["edits"] = [*extra.get("edits", []), step]
        if sample_rate is not None:
            extra["sample_rate"] = inputs.readers[0].footer.sample_rate * sample_rate
        footer = writer.close(extra)
    stacks = footer.stacks.stacks if footer.stacks else 0
    return Edited(str(out), inputs.events, footer.events, footer.threads, footer.max_blocks, stacks, inputs.dropped())


def _common_command(commands: Sequence[list[str]], joint: str) -> list[str]:
    """Return the command of all traces, or the commands with `joint` between them, as in a shell."""
    if all(command == commands[0] for command in commands):
        return commands[0]
    words = [word for command in commands for word in (*command, joint)]
    return words[:-1]
