"""What single checks of a free cost and stop: the emitted C of `default` with each of them, beside the levels.

The checks are prototypes, written into the emitted text, and no part of any design. A check that fails ends the
program by a trap. `python -m heapsmith.bench.studies.single_checks`, or make hardening.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.bench.attacks.attacks import Attack, attacks, caught
from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.instructions import events, per_operation
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.built import library_of
from heapsmith.codegen.ship import ship
from heapsmith.model import policy
from heapsmith.model.design.design import changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.tables import Words, draw
from heapsmith.tools.peers.peers import GLIBC, Library, find_library

PERL = Path("/usr/bin/perl")
FAST, API, FREED = "fast.c", "runtime/9_api/api.c", "runtime/4_blocks/freed_blocks/bitmap.h"
PUSH = """    if (top == heap->end[row]) { /* full or not open, or no class, or no heap */
"""
POP = """    count_checked(&heap->count[row - 1].hit0);
    return hs_stack_popped(&heap->top[row], block);
"""
REFILL = f"{make_plan(load('default')).classes[0].front.kind}_refill(hs_self, class);\n"
MISS = f"    return {REFILL}"
ROWS = [row for row in MICRO if row.name in ("pair-32", "mixed", "mixed-100k")]
"""Hit paths alone, and a heap beyond the fronts, which are filled and flushed all the time."""
JOB = ("-e", 'my %h; for my $r (1..3) { $h{"w$_"} = "x" x ($_ % 300) for 1..20000; %h = (); }')
"""Of perl: blocks of many sizes, of which all come back to their slabs, three times."""
FREES = """static __attribute__((noinline)) void free_miss("""


class Edit(NamedTuple):
    """What stands for a text of the emitted C, in one of its files."""

    old: str
    new: str
    file: str = FAST


START = (
    Edit(
        FREES,
        """static inline bool is_start(size_t row, const void *block)
{
    const struct class_plan *plan = &hs_class[row - 1];
    uint64_t inside = ((uintptr_t)block - hs_span) % SLAB_BYTES - plan->first;
    return inside == (inside * plan->reciprocal >> RECIPROCAL_SHIFT) * plan->stride;
}

"""
        + FREES,
    ),
    Edit(PUSH, "    if (row != 0 && !is_start(row, block))\n        __builtin_trap();\n" + PUSH),
)
"""The address is the start of a block of its class, by the reciprocal."""

ALIGNED = (Edit(PUSH, "    if ((uintptr_t)block % GRAIN != 0)\n        __builtin_trap();\n" + PUSH),)
"""The address is aligned as each block is."""

LAST = (Edit(PUSH, "    if (top[-1] == block)\n        __builtin_trap();\n" + PUSH),)
"""The block is not the one that was freed last, of its class and thread."""

KEY = (
    Edit(
        FREES,
        """static __attribute__((noinline)) void key_found(struct heap *heap, size_t row, const void *block)
{
    for (void **slot = heap->top[row]; slot[-1] != NULL; slot--)
        if (slot[-1] == block)
            __builtin_trap();
}

"""
        + FREES,
    ),
    Edit(
        PUSH,
        """    if (row != 0 && ((void **)block)[1] == (void *)&hs_no_heap)
        key_found(heap, row, block);
"""
        + PUSH,
    ),
    Edit("    *top = block;\n", "    ((void **)block)[1] = (void *)&hs_no_heap;\n    *top = block;\n"),
    Edit(POP, "    ((void **)block)[1] = NULL;\n" + POP),
    Edit(
        MISS,
        f"    void *block = {REFILL}    if (block != NULL)\n        ((void **)block)[1] = NULL;\n    return block;\n",
    ),
)
"""As glibc does: a freed block has a key in its second word; a free that finds one looks for the block in the front."""

TWICE = (
    Edit("crash_given(block, CRASH_NAMED && (place", "if ((place", FREED),
    Edit("& mark) != 0);\n    freed_mark", "& mark) != 0)\n        __builtin_trap();\n    freed_mark", FREED),
    Edit("    if (CRASH_NAMED && ((place", "    if (((place", FREED),
)
"""At a flush: the block is not among the freed blocks of its slab."""

GIVEN = (
    Edit(
        "    uintptr_t first; /* the address of its first block */\n",
        "    uintptr_t first;\n    uint32_t stride;\n",
        FREED,
    ),
    Edit("+ hs_class[class].first };", "+ hs_class[class].first, hs_class[class].stride };", FREED),
    Edit(
        "    return block_index((uintptr_t)block - place.first, place.by);\n",
        """    size_t index = block_index((uintptr_t)block - place.first, place.by);
    if (index * place.stride != (uintptr_t)block - place.first)
        __builtin_trap();
    return index;
""",
        FREED,
    ),
)
"""At a flush: the address is the start of a block."""

NO_BLOCK = (Edit('check(false, "a freed block is one of the program\'s");', "__builtin_trap();", API),)
"""Where free finds no class and no large block: the address is not in the heap."""

SLOW = TWICE + GIVEN + NO_BLOCK

CHECKS: dict[str, tuple[Edit, ...]] = {
    "aligned": ALIGNED,
    "start of a block": START,
    "not freed last": LAST,
    "key in the block": KEY,
    "flush: not in its slab": TWICE,
    "flush: start of a block": GIVEN,
    "no block of the heap": NO_BLOCK,
    "the last three": SLOW,
    "these, aligned, not freed last": SLOW + ALIGNED + LAST,
    "these, start, not freed last": SLOW + START + LAST,
    "these, start, key": SLOW + START + KEY,
}
"""The first four stand on the hit path, the next three on slow paths."""


class Row(msgspec.Struct, frozen=True):
    """A malloc: instructions per pair by row of the benchmark, those of JOB in millions, and the attacks."""

    name: str
    instructions: dict[str, float]
    job_millions: float
    attacks: list[Attack]


def write_checks(emitted: Path, edits: tuple[Edit, ...]) -> None:
    """Write a check into the emitted C; CheckFailed if that has another text now."""
    for edit in edits:
        path = emitted / edit.file
        text = path.read_text()
        if edit.old not in text:
            raise CheckFailed(f"{path}: the emitted C has no longer: {edit.old.strip()}")
        path.write_text(text.replace(edit.old, edit.new, 1))


def libraries(folder: Path) -> Iterator[Library]:
    """Yield glibc, the levels of `default`, and `default` with each check."""
    yield find_library(GLIBC)
    for level in policy.names("hardening"):
        named = changed(load("default"), f"default-{level}", {"hardening": {"kind": level}})
        yield Library(f"level {level}", library_of(named))
    design = load("default")
    for name, edits in CHECKS.items():
        emitted = folder / "".join(filter(str.isalpha, name))
        ship(design, emitted)
        write_checks(emitted, edits)
        yield Library(name, build_emitted(emitted, emitted / "libcheck.so", own=design.compile_flags))


def main(json: bool = False) -> int:
    """Print the table, or print it as JSON with each attack."""
    os.environ["PERL_HASH_SEED"] = "0"
    with scratch() as folder:
        rows = [
            Row(
                one.name,
                {row.name: round(per_operation(row, one.path), 1) for row in ROWS},
                round(float(events(one.path, PERL, *JOB)[0]) / 1e6, 1),
                attacks(one),
            )
            for one in libraries(folder)
        ]
    if json:
        print(msgspec.json.encode(rows).decode())
        return 0
    columns = (
        "malloc",
        *(f"instructions per pair, {row.name}" for row in ROWS),
        "perl, millions",
        f"caught, of {len(rows[0].attacks)}",
    )
    cells = [
        [
            row.name,
            *(f"{count:.1f}" for count in row.instructions.values()),
            f"{row.job_millions:.1f}",
            caught(row.attacks),
        ]
        for row in rows
    ]
    draw(Words("", columns, cells))
    return 0


if __name__ == "__main__":
    exit_with(main)
