"""The table of formats, and the import of a file (docs/other-tools.md)."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import Any

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.codec import U32
from heapsmith.model.trace.events import Chunk
from heapsmith.model.trace.frames import MAGIC, Footer
from heapsmith.model.trace.imports import (
    android,
    bytehound,
    csv_table,
    heaptrack,
    json_lines,
    ltrace,
    malloc_bench,
    memray,
    mtrace,
    parquet,
    rep,
    valgrind,
)
from heapsmith.model.trace.imports.aggregates import refuse_aggregate
from heapsmith.model.trace.imports.builder import Builder, WrongCall
from heapsmith.model.trace.imports.format import About, Format
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.writer import TraceWriter

_MODULES = (
    *(rep, malloc_bench, android, csv_table, json_lines, parquet, mtrace, valgrind, ltrace, memray, heaptrack),
    bytehound,
)
FORMATS: dict[str, Format] = {module.FORMAT.name: module.FORMAT for module in _MODULES}
"""In the order in which a file is tried."""
_NAMES = ", ".join(FORMATS)

Progress = Callable[[str, int, int], None]
Events = tuple[Chunk, U32]


def import_trace(
    path: str | Path,
    out: str | Path,
    name: str | None = None,
    *,
    salvage: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Footer:
    """Write the trace of a file of another tool to `out`; return its footer.

    `name`: the format; None: as the file's first bytes or its suffix say. Raises BadInput with the file and the
    record if the file is damaged; with `salvage` the calls before the damage become a trace, whose
    footer's `salvaged` names the damage. Memory grows with the live blocks only.
    """
    with Source(Path(path)) as source:
        chosen, about = _chosen(source, name), About()
        builder = Builder(strict=chosen.strict)
        chunks = _chunks(source, chosen, builder, about)
        if salvage:
            chunks = _sound(chunks, about)
        first = next(chunks, None)  # a file names its command before its first call
        names: dict[str, Any] = {"command": about.command, "source": chosen.name}
        with TraceWriter(out, processors=about.processors, sites=about.tree is not None, **names) as writer:
            for chunk, site in chain(() if first is None else (first,), chunks):
                writer.append(chunk, site if about.tree else None)
                progress("bytes", source.done, source.size)
            if not writer.events:
                raise BadInput(f"{source.name}: has no calls of malloc or free; expected {chosen.what}")
            return writer.close(_figures(chosen, about, builder))


def is_known(path: Path) -> bool:
    """Say whether a file can be read that begins as one of these formats."""
    with suppress(BadInput), Source(path) as source:
        return any(one.recognises(source.head) for one in FORMATS.values())
    return False


def _chosen(source: Source, name: str | None) -> Format:
    """Return the format of this name, or else the first one that recognises the file, or that of its suffix."""
    if name is not None:
        if name not in FORMATS:
            raise BadInput(f"{name}: no such format; expected one of {_NAMES}")
        return FORMATS[name]
    if not source.head:
        raise BadInput(f"{source.name}: is empty; expected a file of another tool")
    if source.head.startswith(MAGIC):
        raise BadInput(f"{source.name}: is a trace of heapsmith already; expected a file of another tool")
    refuse_aggregate(source)
    found = next((one for one in FORMATS.values() if one.recognises(source.head)), None)
    found = found or FORMATS.get(Path(source.path).suffix.removeprefix("."))
    if found is None:
        raise BadInput(f"{source.name}: the format is not known by its first bytes; say it with --from: {_NAMES}")
    return found


def _chunks(source: Source, chosen: Format, builder: Builder, about: About) -> Iterator[Events]:
    """Yield the events of the file and their sites; BadInput names the record at which they end early."""
    for calls in chosen.read(source, about):
        try:
            yield from builder.feed(calls)
        except WrongCall as wrong:
            source.bad(f"{chosen.record} {wrong.record}", str(wrong))


def _sound(chunks: Iterator[Events], about: About) -> Iterator[Events]:
    """Yield the chunks before the first damage, which `about` then names; BadInput if there are none."""
    any_yet = False
    try:
        for chunk in chunks:
            yield chunk
            any_yet = True
    except BadInput as damage:
        if not any_yet:
            raise
        about.salvaged = str(damage)


def _figures(chosen: Format, about: About, builder: Builder) -> dict[str, Any]:
    """Return what the footer says of the import."""
    inexact = [*chosen.inexact, *about.inexact]
    if builder.lost:
        inexact.append(f"{builder.lost:,} frees were missing: another block was born in the place of the block")
    if builder.backsteps:
        inexact.append(f"{builder.backsteps:,} times lay before that of the event before them, and were moved to it")
    if builder.late_starts:
        inexact.append(f"{builder.late_starts:,} starts of threads were left out: their threads had events before")
    if builder.failed:
        about.extra["failed_calls"] = builder.failed
    if about.tree:
        about.extra["stacks"] = about.tree().packed()
    return about.extra | {"inexact": inexact} | {"foreign_frees": builder.foreign, "salvaged": about.salvaged}
