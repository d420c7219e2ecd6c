"""The text of heap profiles of gperftools and of jemalloc: blocks and bytes in use, and of all allocations.

The sources are gperftools' src/heap-profile-table.cc and jemalloc's src/prof_data.c; how to scale samples, and which
older forms there are, jeprof and google/pprof's profile/legacy_profile.go.
"""

import math
import re
from collections.abc import Iterator
from typing import NamedTuple

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.source import Source, shown
from heapsmith.model.trace.synth.sums import Profile, Site

_COUNTS = rb"(\d{1,18}): *(\d{1,18}) *\[ *(\d{1,18}): *(\d{1,18}) *\]"
_GPERFTOOLS_HEAD = re.compile(rb"heap profile: *" + _COUNTS + rb"(?: *@ *(\w*)(?:/(\d{0,18}))?)?")
_JEMALLOC_HEAD = re.compile(rb"heap_v2/(\d{1,18})")
_STACK = re.compile(_COUNTS + rb" *@.*")
_ADDRESSES = re.compile(rb"@(?: 0x[0-9a-f]{1,15})+")
_THREAD = re.compile(rb"t(?:\*|\d+): *" + _COUNTS + rb"(?: .*)?")
_MAP = re.compile(rb"(?:-+ *)?(?:MAPPED_LIBRARIES|Memory map):")
"""How the section of mapped files begins, which is the last one."""
_PERIODS = {b"heapprofile": 0.0, b"heap_v2": 1.0, b"heapz_v2": 1.0, b"heap": 0.5, b"": 0.0}
"""By the kind in the head: what of the number behind it is the mean of bytes between two samples, 0 without samples."""
_OFF = 0.1
"""How much of a total the sum of its parts may be off."""
NO_TOTALS = "the profile has no totals: only blocks that are live at its end are born, and none dies"


def read_gperftools(source: Source) -> Profile:
    """Return the sites of a profile of gperftools, or of Go in its text; BadInput names the line that is wrong."""
    lines = source.lines()
    number, head = next(row for row in lines if row[1].startswith(b"heap profile:"))
    found = _GPERFTOOLS_HEAD.fullmatch(head)
    if found is None:
        source.bad(f"line {number}", "expected `heap profile: BLOCKS: BYTES [BLOCKS: BYTES] @ KIND`")
    kind = found[5] or b""
    if kind not in _PERIODS:  # of pages that the system gave, or that lie unused
        known = ", ".join(name.decode() for name in _PERIODS if name)
        source.bad(f"line {number}", f"a profile of kind {shown(kind)} has no sums of blocks; expected one of {known}")
    return _profile(source, _stacks(source, lines), int(_PERIODS[kind] * int(found[6] or 0)))


class Sampled(NamedTuple):
    """The samples of a call stack: those in use and all, blocks and bytes."""

    addresses: tuple[int, ...]  # of returns, the innermost first
    live: int
    live_bytes: int
    births: int  # 0, as is the next, without the option prof_accum
    bytes: int


class Dump(NamedTuple):
    """A profile of jemalloc as it stands in the file.

    interval: the mean of bytes between two samples, 1 if all blocks count. maps: lines of /proc/PID/maps (proc(5)).
    """

    interval: int
    stacks: list[Sampled]
    maps: str


def read_jemalloc(source: Source) -> Profile:
    """Return the sites of a profile of jemalloc; BadInput names the line that is wrong.

    The totals are there where the program ran with the option prof_accum.
    """
    lines = source.lines()
    interval = _interval(source, lines)
    return _profile(source, (counts for _, _, counts in _threads(source, lines, interval)), interval)


def read_dump(source: Source) -> Dump:
    """Return a profile of jemalloc with its call stacks; BadInput names the line that is wrong."""
    lines = source.lines()
    interval = _interval(source, lines)
    stacks = []
    for number, stack, counts in _threads(source, lines, interval):
        if not _ADDRESSES.fullmatch(stack):
            source.bad(f"line {number}", f"expected `@ 0xADDRESS ...`, got {shown(stack)}")
        stacks.append(Sampled(tuple(int(word, 16) for word in stack.split()[1:]), *counts))
    maps = b"\n".join(line for _, line in lines)  # what is left behind the stacks
    return Dump(interval, stacks, maps.decode("utf-8", "backslashreplace"))


def _interval(source: Source, lines: Iterator[tuple[int, bytes]]) -> int:
    number, head = next(lines, (1, b""))
    found = _JEMALLOC_HEAD.fullmatch(head)
    if found is None:
        source.bad(f"line {number}", f"expected `heap_v2/INTERVAL`, got {shown(head)}")
    return int(found[1])


def _stacks(source: Source, lines: Iterator[tuple[int, bytes]]) -> Iterator[tuple[int, ...]]:
    """Yield blocks and bytes in use, and those of all allocations, of each site: a line with its stack."""
    for number, line in lines:
        if _MAP.match(line):
            return
        if not line.startswith(b"#"):  # Go's names of functions and figures of its heap
            yield _counts(source, number, _STACK.fullmatch(line), "BLOCKS: BYTES [BLOCKS: BYTES] @ STACK", line)


def _threads(
    source: Source, lines: Iterator[tuple[int, bytes]], interval: int
) -> Iterator[tuple[int, bytes, tuple[int, ...]]]:
    """Yield the number of a stack's line, the line, and the same: each thread has a line behind it, and all `t*`.

    Those of all stacks are in front of the first; BadInput if the stacks clearly have fewer or more blocks.
    """
    stack, total, rows, has_end = None, None, [], False
    for number, line in lines:
        has_end, is_stack = _MAP.match(line) is not None, line.startswith(b"@")
        if has_end or (stack and is_stack):
            break
        if is_stack:
            stack = number, line
            continue
        row = _counts(source, number, _THREAD.fullmatch(line), "tTHREAD: BLOCKS: BYTES [BLOCKS: BYTES]", line)
        if not line.startswith(b"t*"):
            continue
        if stack:
            yield *stack, row
            rows.append(row)
            stack = None
        elif not rows:
            total = number, row
    if stack:
        source.bad(f"line {stack[0]}", "expected `t*: BLOCKS: BYTES ...` behind this stack, got its end")
    if total:
        for at, what in enumerate(("in use", "allocated")):
            all_of, *parts = [(row[2 * at], row[2 * at + 1]) for row in (total[1], *rows)]
            if wrong := _wrong_sum(all_of, parts, interval, has_end):
                source.bad(f"line {total[0]}", f"all stacks have {all_of[0]:,} blocks {what}, {wrong}")


def _wrong_sum(total: tuple[int, int], parts: list[tuple[int, int]], interval: int, has_end: bool) -> str | None:
    """What is wrong with the sum of the parts (blocks, bytes); None if it may be the total's.

    jemalloc 5.3 writes how many samples would stand for the blocks if all had their mean size (prof_do_unbias). So
    samples add up to the total or less. What they stand for adds up, but for the rounding of each count; before 5.3
    the samples did. With the last section behind the stacks none is missing.
    """
    count = sum(blocks for blocks, _ in parts)
    if count > (1 + _OFF) * total[0] + len(parts) / 2 + 1:
        return f"and those that follow {count:,}: expected no more"
    if has_end or count >= (1 - _OFF) * total[0]:
        return None
    stand_for = [_stand_for(*part, interval) for part in (total, *parts)]
    rounding = sum(
        one / (2 * blocks) for one, (blocks, _) in zip(stand_for, (total, *parts), strict=True) if blocks > 1
    )
    if sum(stand_for[1:]) >= (1 - _OFF) * stand_for[0] - rounding:
        return None
    return f"and those that follow {count:,}: the file is cut, expected the stacks and MAPPED_LIBRARIES: behind them"


def _stand_for(blocks: int, bytes_: int, interval: int) -> float:
    """How many bytes samples stand for."""
    return bytes_ * _scale(bytes_ / blocks, interval) if blocks else 0.0


def _counts(
    source: Source, number: int, found: "re.Match[bytes] | None", expected: str, line: bytes
) -> tuple[int, ...]:
    if found is None:
        source.bad(f"line {number}", f"expected `{expected}`, got {shown(line)}")
    return tuple(map(int, found.groups()))


def _profile(source: Source, sites: Iterator[tuple[int, ...]], interval: int) -> Profile:
    """Return the profile of these sums; `interval`: the mean bytes between two samples, 0 or 1 if all blocks count."""
    rows = list(sites)
    has_totals = any(row[2] not in (0, row[0]) for row in rows)
    made = []
    for live, live_bytes, all_births, all_bytes in rows:
        births, size = (all_births, all_bytes) if has_totals else (live, live_bytes)
        if live > births:
            raise BadInput(f"{source.name}: a site has {live} blocks in use of {births} allocated")
        scale = _scale(size / births, interval) if births else 1.0
        made.append(Site(births * scale, size * scale, live * scale))
    assumed = ["the blocks in use at the end are as many as at any time"] if has_totals else [NO_TOTALS]
    return Profile(
        made, assumed + ([f"samples, one per {interval:,} bytes, stand for all blocks"] if interval > 1 else [])
    )


def _scale(mean_bytes: float, interval: int) -> float:
    """Return how many blocks a sampled one stands for: a block of n bytes is sampled with 1 - exp(-n / interval)."""
    return 1 / -math.expm1(-max(mean_bytes, 1.0) / interval) if interval > 1 else 1.0
