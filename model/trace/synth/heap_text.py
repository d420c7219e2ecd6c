"""The text of heap profiles of gperftools and of jemalloc: blocks and bytes in use, and of all allocations.

The sources are gperftools' src/heap-profile-table.cc and jemalloc's src/prof_data.c; how to scale samples, jeprof.
"""

import math
import re
from collections.abc import Iterator

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth.sums import Profile, Site

_GPERFTOOLS_HEAD = re.compile(rb"heap profile: +\d+: +\d+ \[ *\d+: +\d+\] @ +(\w+)(?:/(\d+))?")
_JEMALLOC_HEAD = re.compile(rb"heap_v2/(\d+)")
_COUNTS = re.compile(rb"(\d+): *(\d+) \[ *(\d+): *(\d+)\]")
_END = b"MAPPED_LIBRARIES:"
NO_TOTALS = "the profile has no totals: only blocks that are live at its end are born, and none dies"


def read_gperftools(source: Source) -> Profile:
    """Return the sites of a profile of gperftools; BadInput names the line that is wrong."""
    lines = source.lines()
    number, head = next(lines)
    found = _GPERFTOOLS_HEAD.match(head)
    if found is None:
        source.bad(f"line {number}", "expected `heap profile: BLOCKS: BYTES [BLOCKS: BYTES] @ KIND`")
    return _profile(source, _sites(source, lines, with_stacks=True), int(found[2] or 0))


def read_jemalloc(source: Source) -> Profile:
    """Return the sites of a profile of jemalloc; BadInput names the line that is wrong.

    The totals are there where the program ran with the option prof_accum.
    """
    lines = source.lines()
    number, head = next(lines)
    found = _JEMALLOC_HEAD.match(head)
    if found is None:
        source.bad(f"line {number}", "expected `heap_v2/INTERVAL`")
    return _profile(source, _sites(source, lines, with_stacks=False), int(found[1]))


def _sites(source: Source, lines: Iterator[tuple[int, bytes]], with_stacks: bool) -> Iterator[tuple[int, ...]]:
    """Yield blocks and bytes in use, and those of all allocations, of each site.

    with_stacks: a site is a line with its stack. Else a site has a line for all threads, `t*`, behind its stack.
    """
    is_site = with_stacks
    for number, line in lines:
        if line.startswith(_END):
            return
        if line.startswith(b"@"):
            is_site = True
        elif with_stacks or (line.startswith(b"t*:") and is_site):
            found = _COUNTS.search(line)
            if found is None:
                source.bad(f"line {number}", "expected `BLOCKS: BYTES [BLOCKS: BYTES]`")
            yield tuple(map(int, found.groups()))


def _profile(source: Source, sites: Iterator[tuple[int, ...]], interval: int) -> Profile:
    """Return the profile of these sums; `interval`: the mean bytes between two samples, 0 or 1 if all blocks count."""
    rows = list(sites)
    has_totals = any(row[2] for row in rows)
    made = []
    for live, live_bytes, all_births, all_bytes in rows:
        births, size = (all_births, all_bytes) if has_totals else (live, live_bytes)
        if live > births:
            raise BadInput(f"{source.path}: a site has {live} blocks in use of {births} allocated")
        scale = _scale(size / births, interval) if births else 1.0
        made.append(Site(births * scale, size * scale, live * scale))
    assumed = ["the blocks in use at the end are as many as at any time"] if has_totals else [NO_TOTALS]
    return Profile(
        made, assumed + ([f"samples, one per {interval:,} bytes, stand for all blocks"] if interval > 1 else [])
    )


def _scale(mean_bytes: float, interval: int) -> float:
    """Return how many blocks a sampled one stands for: a block of n bytes is sampled with 1 - exp(-n / interval)."""
    return 1 / -math.expm1(-max(mean_bytes, 1.0) / interval) if interval > 1 else 1.0
