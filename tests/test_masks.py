"""Each line of the C that aligns or rounds up is needed: without its mask, the program sees it, or the model."""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

import msgspec
import pytest
from covering import rounding_that_skips, soon
from test_mutants import DESIGNS as OTHERS
from test_mutants import PROGRAMS
from workshop import AgainstModel, ByPrograms, Workshop

from heapsmith.bench.gates.mutating import Mutant
from heapsmith.codegen.layers import HEAP

MASKS = (
    (re.compile(r" & ~\((?:\w+)\)\(\w+ - 1\)| & ~\(\w+\)\(\w+ - 1\)"), ""),
    (re.compile(r" & -(?:\(\w+\))?\w+"), ""),
    (re.compile(r" \+ \w+ - 1(?=\))"), ""),
    (re.compile(r"& \((\w+) - 1\)"), "& 0"),
    (re.compile(r"& (\w+_mask\[\w+\])"), "& 0"),
    (re.compile(r"% (alignment|align\w*|\w+_BYTES)\b"), "% 1"),
    (re.compile(r"= round_up\(([^,]+), \w+\)"), r"= \1"),
    (re.compile(r"return round_up\(([^,]+), \w+\)"), r"return \1"),
)
"""What holds an address or a length to an alignment, and what stands there without."""


ROUNDS = msgspec.structs.replace(rounding_that_skips(), name="rounds", foreign="leak")
DESIGNS = [ROUNDS, *OTHERS]
"""They have every policy together; a mask is tried under each until it is missed, and under the programs last."""

WHOLE_PAGES = "equivalent: what is rounded is whole pages in every design"
UNMISSED: dict[tuple[str, str], str] = {
    (
        "9_api/foreign/probe.c",
        "bool is_mapped = mincore((void *)((uintptr_t)block), PAGE_BYTES, &resident) == 0;",
    ): "of pointers that are no block, which test_foreign.py has",
    (
        "7_large/huge_table.h",
        "return (((uintptr_t)start / PAGE_BYTES) * UINT64_C(0x9E3779B97F4A7C15) >> 32) & 0;",
    ): "equivalent: every search begins at the same slot, and takes longer",
    (
        "9_api/operators.c",
        "return bytes > -alignment ? -alignment : (bytes + alignment - 1);",
    ): "equivalent but for some bytes: aligned_alloc takes any size",
    ("2_system/os.c", "arena_start = arena_start;"): "equivalent: os_range aligns each span",
    (
        "2_system/os.c",
        "char *start = unplaced;",
    ): "needs a system that refuses the arena its address: there it is aligned already",
    (
        "7_large/run_span.h",
        "return offset < end && offset % 1 == 0 ? (uint32_t)(offset / PAGE_BYTES) : UINT32_MAX;",
    ): "of pointers into a run, which level full finds without it",
    ("6_slabs/slabs.c", "TABLE_BYTES = (RECORDS_BYTES) / MOST_PAGE_BYTES * MOST_PAGE_BYTES,"): WHOLE_PAGES,
    (
        "6_slabs/slabs.c",
        "MARKS_BYTES = (sizeof(uint64_t) * BITMAP_WORDS * SPAN_SLABS) / MOST_PAGE_BYTES * MOST_PAGE_BYTES,",
    ): WHOLE_PAGES,
    (
        "6_slabs/slabs.c",
        "LIVE_BYTES = (LIVE_MAP * SLAB_SPAN_BYTES / GRAIN) / MOST_PAGE_BYTES * MOST_PAGE_BYTES,",
    ): WHOLE_PAGES,
    (
        "6_slabs/slabs.c",
        "if (offset % 1 >= HEAD_BYTES && slab_record(offset >> SLAB_SHIFT)->sealed) {",
    ): "needs a system that refuses memory, and records at the heads of superslabs",
}
"""(file, changed line): why nobody here can see that the mask is gone."""


class Place(NamedTuple):
    """A line with a mask, and the line without it."""

    file: str
    before: str
    after: str


def without_masks(text: str) -> Iterator[tuple[str, str]]:
    """Each line with a mask or a rounding, and the line without it, one at a time."""
    for line in text.split("\n"):
        if line.lstrip().startswith(("/*", "* ", "#", "_Static_assert", "check(")):
            continue
        for pattern, instead in MASKS:
            for found in pattern.finditer(line):
                yield line, line[: found.start()] + found.expand(instead) + line[found.end() :]


def places() -> list[Place]:
    """Every mask of the C that libraries have."""
    texts = {str(path.relative_to(HEAP)): path.read_text() for path in sorted(HEAP.rglob("*.[ch]"))}
    found = (Place(file, *lines) for file, text in texts.items() for lines in without_masks(text))
    return list(dict.fromkeys(found))


PLACES = places()
FIRST = [place for place in PLACES if place.file.startswith("6_slabs/rounding/")]


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Place], Iterator[Workshop]]:
    """The shops whose C has a file, opened as they are asked for."""
    folder = tmp_path_factory.mktemp("masks")
    ready: dict[str, Workshop] = {}

    def having(place: Place) -> Iterator[Workshop]:
        for design in (*DESIGNS, PROGRAMS):
            if design.name not in ready:
                judge = ByPrograms(design) if design is PROGRAMS else AgainstModel(design)
                ready[design.name] = Workshop(design, folder / design.name, judge)
            shop = ready[design.name]
            if place.file in shop.files:
                yield shop.opened() if not shop.is_open() else shop

    return having


@pytest.mark.parametrize(
    "place", soon(PLACES, [], FIRST), ids=[f"{place.file}-{number}" for number, place in enumerate(PLACES)]
)
def test_a_mask_that_is_gone_is_missed(place: Place, shops: Callable[[Place], Iterator[Workshop]]) -> None:
    found = None
    for shop in shops(place):
        number = shop.texts()[place.file].split("\n").index(place.before) + 1
        if found := shop.try_out(Mutant(place.file, number, "", place.before, place.after), number):
            break
    assert found or (place.file, place.after.strip()) in UNMISSED
    assert found != "does not compile"


def test_there_are_masks_and_each_reason_is_of_one() -> None:
    assert len(PLACES) > 30
    assert UNMISSED.keys() <= {(place.file, place.after.strip()) for place in PLACES}
