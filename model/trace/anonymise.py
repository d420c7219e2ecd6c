"""Anonymise a trace: its events stay, and nothing of its program's names, code or machine does (other-tools.md)."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np

from heapsmith.model.constants import PAGE
from heapsmith.model.trace.events import SIZED, Chunk, op_mask
from heapsmith.model.trace.reader import TraceReader
from heapsmith.model.trace.stacks import I64, CallTree, Module
from heapsmith.model.trace.writer import TraceWriter

SOURCE = "anonymised"
SMALL_BYTES = 2 << 20
"""No design has larger blocks in slabs: a block fits a slab, and slabs have at most this many bytes."""

Progress = Callable[[str, int, int], None]


class Anonymised(msgspec.Struct, frozen=True):
    """What an anonymised trace has left."""

    events: int
    threads: int
    stacks: int  # call stacks, as numbers
    sizes_rounded: int  # sizes of events that are others than before


def anonymise(
    trace: Path,
    out: Path,
    *,
    sites: bool = True,
    round_sizes: bool = False,
    progress: Progress = lambda what, done, total: None,
) -> Anonymised:
    """Write the trace to `out` without what identifies program, user or machine.

    sites: keep the call stacks, as numbers (`numbered`). round_sizes: round sizes by `rounded`. Raises BadInput if
    the trace is damaged or `out` cannot be written.
    """
    changed = done = 0
    with TraceReader(trace) as reader:
        tree = reader.stacks() if sites else None
        with TraceWriter(
            out,
            command=[],
            source=SOURCE,
            chunk_events=reader.header.chunk_events,
            processors=reader.header.has_processors,
            sites=tree is not None,
            free_sites=reader.header.has_free_sites,
        ) as writer:
            for chunk, site in reader.sited(frees=True):
                size = rounded(chunk) if round_sizes else chunk.size
                changed += int(np.count_nonzero(size != chunk.size))
                writer.append(chunk._replace(size=size), site)
                done += chunk.op.size
                progress("anonymising", done, reader.footer.events)
            old = reader.footer
            footer = writer.close(
                {
                    "drops": old.drops,
                    "foreign_frees": old.foreign_frees,
                    "salvaged": old.salvaged and "the trace ended at a damage",  # its text may name a file
                    "samples": old.samples,
                    "stacks": numbered(tree).packed() if tree else None,
                }
            )
    return Anonymised(footer.events, footer.threads, footer.stacks.stacks if footer.stacks else 0, changed)


def rounded(chunk: Chunk) -> I64:
    """Return the sizes of the events, each the largest that no design tells from it (docs/other-tools.md).

    Up to SMALL_BYTES a size is compared with multiples of 8, these less 1, and by realloc with half of
    them; above, with the ends of pages less 0 or 8.
    """
    size = chunk.size
    in_eight, in_page = size % 8, size % PAGE
    small = np.where(in_eight == 0, size, np.where(in_eight < 4, size | 3, size | 7))
    large = np.where(in_page == 0, size, np.where(in_page <= PAGE - 8, size - in_page + PAGE - 8, size | PAGE - 1))
    found: I64 = np.where(op_mask(SIZED)[chunk.op], np.where(size <= SMALL_BYTES, small, large), 0)
    return found


def numbered(tree: CallTree) -> CallTree:
    """Return the tree with numbers in place of modules and of places in them.

    Module m is "m", and its build id, if it has one, is m too. The different places of all modules are 0, 1, 2, ... in
    the order of the first frames that have them. So two frames at one place stay at one place.
    """
    modules = [
        Module(str(number), f"{number:040x}" if module.build_id is not None else None)
        for number, module in enumerate(tree.modules)
    ]
    places = np.stack((tree.module, tree.offset))
    _, first, which = np.unique(places, axis=1, return_index=True, return_inverse=True)
    rank = np.empty(first.size, np.int64)
    rank[np.argsort(first)] = np.arange(first.size)
    return tree._replace(modules=modules, offset=rank[which.reshape(-1)])
