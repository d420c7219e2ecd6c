"""Statistics that other mallocs write of themselves: what they hold, what of it is in no block, and what to set.

glibc's malloc_info(3), jemalloc's malloc_stats_print as JSON, gperftools' MALLOCSTATS, mimalloc's mi_stats_print and
mi_stats_get_json.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS
from heapsmith.model.trace.imports.aggregates import JEMALLOC, profile_of
from heapsmith.tools.common.units import amount

MUCH = 0.1
"""Of what a malloc holds: a part below this gets no advice."""


class Class(msgspec.Struct, frozen=True):
    """A size class. live: its blocks in use, None where they are not told; free_bytes: those of its free blocks."""

    block_bytes: int
    live: int | None
    free_bytes: int


class Statistics(msgspec.Struct, frozen=True):
    """What a malloc holds of the system, and of it in blocks, those of thread caches included.

    block_bytes: None where it is not told. parts: what else it is for, in bytes, by name. advice: settings worth a
    try, in words.
    """

    malloc: str
    held_bytes: int
    block_bytes: int | None
    parts: dict[str, int]
    classes: list[Class]
    advice: list[str]


def read_statistics(path: Path, text: str) -> Statistics | None:
    """Return what a file's text says if it is of another malloc. Raises BadInput if then something is missing.

    Of jemalloc it has all classes of slabs, those without blocks too: a profile's blocks are told by them.
    """
    for name, (begins, read) in _READERS.items():
        if begins.search(text):
            try:
                return read(text)
            except (LookupError, TypeError, ValueError, AttributeError, ElementTree.ParseError, *JSON_FAULTS):
                raise BadInput(f"{path}: begins as statistics of {name}; expected all of them") from None
    if (what := profile_of(text[:4096].encode())) is not None:
        beside = " before --profile FILE" if what == JEMALLOC else ""
        raise BadInput(
            f"{path}: this is {what}, which tells blocks by call stack and not what a malloc holds; expected its "
            f"statistics{beside}; `heapsmith trace synth --like` draws a trace from it"
        )
    return None


def used(of: Statistics) -> Statistics:
    """The same without the classes that hold nothing."""
    return msgspec.structs.replace(of, classes=[one for one in of.classes if one.live != 0 or one.free_bytes])


def _glibc(text: str) -> Statistics:
    root = ElementTree.fromstring(text[text.index("<malloc") :])
    heaps = [_totals(heap) for heap in root.findall("heap")]
    every = _totals(root)
    mapped = every.pop("mmap", 0)
    held = int(_found(root, "system[@type='current']").attrib["size"]) + mapped
    free, others = sum(every.values()), sum(sum(one.values()) for one in heaps[1:])
    by_size: Counter[int] = Counter()
    for one in root.findall("heap/sizes/size"):  # those of `unsorted` are of no class
        by_size[int(one.attrib["to"])] += int(one.attrib["total"])
    classes = [Class(size, None, by_size[size]) for size in sorted(by_size)]
    parts = {"free chunks of the first arena": free - others, "free chunks of other arenas": others}
    advice = []
    if others >= MUCH * held:
        advice.append(f"glibc.malloc.arena_max: {len(heaps)} arenas, and those of threads have {amount(others)} free")
    if free - others >= MUCH * held:
        advice.append("glibc.malloc.trim_threshold, or malloc_trim(3): free chunks hold much of the first arena")
    return Statistics("glibc", held, held - free, parts, classes, advice)


def _totals(element: ElementTree.Element) -> dict[str, int]:
    return {one.attrib["type"]: int(one.attrib["size"]) for one in element.findall("total")}


def _found(element: ElementTree.Element, path: str) -> ElementTree.Element:
    found = element.find(path)
    if found is None:
        raise LookupError(path)
    return found


def _jemalloc(text: str) -> Statistics:
    begins = _READERS["jemalloc"][0].search(text)
    said = json.JSONDecoder().raw_decode(text[begins.start() if begins else 0 :])[0]["jemalloc"]
    kinds, stats = said["arenas"], said["stats"]
    arenas = [one for name, one in said["stats.arenas"].items() if name.isdigit()]
    if not arenas:  # written without those of single arenas (option a)
        arenas = [said["stats.arenas"]["merged"]]
    classes = [
        Class(kind["size"], live := _sum(arenas, "bins", index, "curregs"), held - live * kind["size"])
        for index, kind in enumerate(kinds["bin"])
        for held in [_sum(arenas, "bins", index, "curslabs") * kind["slab_size"]]
    ]
    large = enumerate(kinds["lextent"])
    many = [(kind["size"], _sum(arenas, "lextents", index, "curlextents")) for index, kind in large]
    classes += [Class(size, live, 0) for size, live in many if live]
    cached, held = sum(one["tcache_bytes"] for one in arenas), stats["resident"]
    dirty = kinds["page"] * sum(one["pdirty"] for one in arenas)
    parts = {
        "free blocks in slabs": sum(one.free_bytes for one in classes),
        "dirty pages": dirty,
        "metadata": held - stats["active"] - dirty,  # what is resident of it
    }
    advice = []
    if cached >= MUCH * held:
        threads = sum(one["nthreads"] for one in arenas)
        advice.append(f"tcache_max, lg_tcache_nslots_mul: the caches of {threads} threads hold {amount(cached)}")
    if dirty >= MUCH * held:
        advice.append(f"dirty_decay_ms, background_thread: the decay is {kinds['dirty_decay_ms']} ms")
    if parts["free blocks in slabs"] >= MUCH * held:
        used = sum(one["nthreads"] > 0 for one in arenas)
        few = f"narenas: {used} arenas in use" if used > 1 else "no setting: other size classes or slabs, as of `tune`"
        advice.append(f"{few}; free blocks hold pages of slabs")
    return Statistics(f"jemalloc {said['version']}", held, stats["allocated"], parts, classes, advice)


def _sum(arenas: list[Any], kind: str, index: int, counter: str) -> int:
    return sum(int(one[kind][index][counter]) for one in arenas)


def _gperftools(text: str) -> Statistics:
    told = {
        words.strip(): int(count) for count, words in re.findall(r"^MALLOC: *[+=]? *(\d+) \([^)]*\) (.*)$", text, re.M)
    }
    caches = told["Bytes in thread cache freelists"]
    parts = {
        "pages without blocks": told["Bytes in page heap freelist"],
        "free blocks of all threads": sum(told[f"Bytes in {one} cache freelist"] for one in ("central", "transfer")),
        "free blocks of thread caches": caches,
        "metadata": told["Bytes in malloc metadata"],
    }
    held, blocks = told["Actual memory used (physical + swap)"], told["Bytes in use by application"]
    rows = re.findall(r"^class +\d+ \[ *(\d+) bytes \] : +(\d+) objs", text, re.M)
    advice = []
    if caches >= MUCH * held:
        advice.append(f"TCMALLOC_MAX_TOTAL_THREAD_CACHE_BYTES: thread caches hold {amount(caches)}")
    if parts["pages without blocks"] >= MUCH * held:
        advice.append("TCMALLOC_RELEASE_RATE: pages without blocks wait for their release")
    return Statistics("tcmalloc", held, blocks, parts, [Class(int(a), None, int(a) * int(b)) for a, b in rows], advice)


_UNITS = {"": 1, "K": 1000, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}
_COLUMNS = ("peak", "total", "freed", "current")
_MIMALLOC_HEAD = re.compile(r"^(?:heap stats:| blocks ) +peak +total.*$", re.M)
_MIMALLOC_JSON = re.compile(r'^\{\s*"stat_version":', re.M)


def _mimalloc(text: str) -> Statistics:
    """What the text ends with: a process prints it when it ends, and so do those that it started."""
    if begins := _MIMALLOC_JSON.search(text):
        return _mimalloc_json(json.JSONDecoder().raw_decode(text[begins.start() :])[0])
    heads = list(_MIMALLOC_HEAD.finditer(text))
    columns = [name for name in heads[-1].group().split() if name in _COLUMNS]
    rows: dict[str, dict[str, float]] = {}
    for name, cells in re.findall(r"^ *([a-z]+) *:((?: +-?[\d.]+(?: [KMGT]i?B?)?)+)", text[heads[-1].end() :], re.M):
        found = [float(number) * _UNITS[unit] for number, unit in re.findall(r"(-?[\d.]+)(?: ([KMGT]i?B?))?", cells)]
        rows.setdefault(name, dict(zip(columns, found, strict=False)))
    current = {name: round(row["current"]) for name, row in rows.items() if "current" in row}
    delay = "MIMALLOC_PURGE_DELAY" if "purged" in rows else "MIMALLOC_DECOMMIT_DELAY"
    told = (current["reserved"], current["committed"], current["touched"], current.get("allocated"))
    return _of_mimalloc("mimalloc", told, [], delay)


def _mimalloc_json(said: dict[str, Any]) -> Statistics:
    number = said["mimalloc_version"]
    blocks = said["malloc_normal"]["current"] + said["malloc_huge"]["current"]
    classes = [Class(one["block_size"], one["current"], 0) for one in said["malloc_bins"] if one["current"]]
    told = (*(said[name]["current"] for name in ("reserved", "committed", "page_committed")), blocks or None)
    name = f"mimalloc {number // 10_000}.{number // 100 % 100}.{number % 100}"
    return _of_mimalloc(name, told, classes, "MIMALLOC_PURGE_DELAY")


def _of_mimalloc(name: str, told: tuple[int, int, int, int | None], classes: list[Class], delay: str) -> Statistics:
    """What it holds are its committed bytes, but where all that is reserved counts as such: then those of its pages."""
    reserved, committed, touched, blocks = told
    if touched <= 0:
        raise BadInput(
            f"touched: {amount(touched)} in statistics of {name}, which miss some threads; expected more than 0"
        )
    held = committed if committed < reserved else touched
    parts = {"committed and no pages of blocks": max(0, held - touched)}
    if blocks is not None:
        parts["free blocks in pages"] = max(0, touched - blocks)
    advice = []
    if held - touched >= MUCH * held:
        advice.append(f"{delay}: {amount(held - touched)} are committed, and no pages of blocks")
    if parts.get("free blocks in pages", 0) >= MUCH * held:
        advice.append("no setting: other size classes or pages, as of `tune`; free blocks hold pages")
    return Statistics(name, held, blocks, parts, classes, advice)


_READERS: Mapping[str, tuple[re.Pattern[str], Callable[[str], Statistics]]] = {
    "glibc": (re.compile(r"\A\s*(<\?xml[^>]*>\s*)?<malloc version="), _glibc),
    "jemalloc": (re.compile(r'^\{\s*"jemalloc"', re.M), _jemalloc),
    "gperftools": (re.compile(r"^MALLOC: ", re.M), _gperftools),
    "mimalloc": (re.compile(f"{_MIMALLOC_HEAD.pattern}|{_MIMALLOC_JSON.pattern}", re.M), _mimalloc),
}
