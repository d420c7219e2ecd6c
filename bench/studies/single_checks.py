"""What single checks of a free cost and stop: the emitted C of `default` with each of them, beside the levels.

The checks are prototypes, written into the emitted text, and no part of any design. A check that fails ends the
program by a trap. `python -m heapsmith.bench.studies.single_checks`, or make hardening.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from heapsmith.bench.attacks.attacks import Attack, attacks, caught, ended
from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.study import Json, tell
from heapsmith.bench.programs.instructions import events, per_operation
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.built import library_of
from heapsmith.codegen.ship import ship
from heapsmith.model import policy
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import scratch
from heapsmith.tools.common.tables import Words
from heapsmith.tools.peers.peers import GLIBC, Library, find_library
from heapsmith.tools.report import hardening
from heapsmith.tools.report.hardening import Figures, Stopped

PERL = Path("/usr/bin/perl")
FAST = "fast.c"
PUSH = """    if (top == heap->end[row]) { /* full or not open, or no class, or no heap */
"""
POP = """    count_checked(&heap->count[row - 1].hit0);
    return hs_stack_popped(&heap->top[row], block);
"""
REFILL = f"{make_plan(load('default')).classes[0].front.kind}_refill(hs_self, class);\n"
MISS = f"    return {REFILL}"
PAIR = "pair-32"
ROWS = [row for row in MICRO if row.name in (PAIR, "mixed", "mixed-100k")]
"""Hit paths alone, and a heap beyond the fronts, which are filled and flushed all the time."""
JOB = ("-e", 'my %h; for my $r (1..3) { $h{"w$_"} = "x" x ($_ % 300) for 1..20000; %h = (); }')
"""Of perl: blocks of many sizes, of which all come back to their slabs, three times."""
CACHES = ("--cache-sim=yes", "--D1=49152,12,64")
D1_READ_MISSES, D1_WRITE_MISSES = 4, 5
"""Places in what callgrind then counts."""
FREES = """static __attribute__((noinline)) void free_miss("""
TO_PUSH = "static inline void push(size_t row, void *block)\n"


class Edit(NamedTuple):
    """What stands for a text of the emitted fast.c."""

    old: str
    new: str


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

KEYED = (
    Edit(
        TO_PUSH,
        """static __attribute__((noinline)) void free_keyed(struct heap *heap, size_t row, void *block)
{
    for (void **slot = heap->top[row]; slot[-1] != NULL; slot--)
        if (slot[-1] == block)
            __builtin_trap();
    if (heap->top[row] == heap->end[row]) {
        free_miss(heap, row, block);
        return;
    }
    heap->top[row][0] = block;
    hs_stack_pushed(&heap->top[row]);
}

"""
        + TO_PUSH,
    ),
    Edit(
        PUSH,
        """    if (*(void **)block == (void *)heap) {
        free_keyed(heap, row, block);
        return;
    }
"""
        + PUSH,
    ),
    Edit("    *top = block;\n", "    *(void **)block = (void *)heap;\n    *top = block;\n"),
)
"""A freed block has a key in its first word, the address of its thread's heap.

malloc leaves it there, so that a program that does not write that word pays for a look at the whole front.
"""

WITHOUT_LAST = (Edit("    hs_look_at_last(top, block);\n", ""),)
"""Of level "basic", what stands on slow paths."""

CHECKS: dict[str, tuple[str, tuple[Edit, ...]]] = {
    "`off`, aligned": ("off", ALIGNED),
    "`off`, start of a block": ("off", START),
    "`off`, not freed last": ("off", LAST),
    "`off`, key in the block": ("off", KEY),
    "`off`, key in the first word": ("off", KEYED),
    "`basic` on slow paths alone": ("basic", WITHOUT_LAST),
    "the same, key in the first word": ("basic", WITHOUT_LAST + KEYED),
    "the same, key in the block": ("basic", WITHOUT_LAST + KEY),
    "`basic`, aligned": ("basic", ALIGNED),
    "`basic`, start of a block": ("basic", START),
}
"""Single checks beside a level: all stand on the hit path, or are left out of it."""


class Row(msgspec.Struct, frozen=True):
    """A malloc: instructions per pair by row of the benchmark, those of JOB in millions, and the attacks.

    job_misses: of JOB in thousands, where the level 1 cache has 48 KiB.
    """

    name: str
    instructions: dict[str, float]
    job_millions: float
    job_misses: float
    attacks: list[Attack]


def write_checks(emitted: Path, edits: tuple[Edit, ...]) -> None:
    """Write a check into the emitted C; CheckFailed if that has another text now."""
    path = emitted / FAST
    for old, new in edits:
        text = path.read_text()
        if old not in text:
            raise CheckFailed(f"{path}: the emitted C has no longer: {old.strip()}")
        path.write_text(text.replace(old, new, 1))


def libraries(folder: Path) -> Iterator[Library]:
    """Yield glibc, `default` at each level, and with each single check."""
    yield find_library(GLIBC)
    for level in policy.names("hardening"):
        yield Library(f"level `{level}`", library_of(at_level(level)))
    for name, (level, edits) in CHECKS.items():
        emitted = folder / "".join(filter(str.isalpha, name))
        design = at_level(level)
        ship(design, emitted)
        write_checks(emitted, edits)
        yield Library(name, build_emitted(emitted, emitted / "libcheck.so", own=design.compile_flags))


def at_level(level: str) -> Design:
    """The design `default` at a level of hardening."""
    return changed(load("default"), f"default-{level}", {"hardening": {"kind": level}})


def row_of(one: Library) -> Row:
    """Count a malloc's instructions and misses, and run the attacks under it."""
    instructions = {row.name: round(per_operation(row, one.path), 1) for row in ROWS}
    job = events(one.path, PERL, *JOB, options=CACHES)
    misses = float(job[D1_READ_MISSES] + job[D1_WRITE_MISSES])
    return Row(one.name, instructions, round(float(job[0]) / 1e6, 1), round(misses / 1e3, 1), attacks(one))


def figures(rows: Sequence[Row]) -> Figures:
    """What `tune` and `forge` say of the levels: the first rows are those of glibc and of each level."""
    glibc, *levels = rows[: 1 + len(policy.names("hardening"))]
    off = levels[0].instructions[PAIR]
    found = {
        level: Stopped(ended(row.attacks), round(row.instructions[PAIR] - off, 1) or None)
        for level, row in zip(policy.names("hardening"), levels, strict=True)
    }
    return Figures(len(glibc.attacks), os.confstr("CS_GNU_LIBC_VERSION") or "", ended(glibc.attacks), found)


def main(json: Json = False, keep: bool = False) -> int:
    """Print the table, or print it as JSON with each attack; keep: write the figures of the levels too."""
    os.environ["PERL_HASH_SEED"] = "0"
    with scratch() as folder:
        rows = [row_of(one) for one in libraries(folder)]
    if keep:
        hardening.keep(figures(rows))
    columns = (
        "malloc",
        *(f"instructions per pair, {row.name}" for row in ROWS),
        "perl, millions",
        "perl: L1 misses, thousands",
        f"caught, of {len(rows[0].attacks)}",
    )
    cells = [
        [
            row.name,
            *(f"{count:.1f}" for count in row.instructions.values()),
            f"{row.job_millions:.1f}",
            f"{row.job_misses:,.0f}",
            caught(row.attacks),
        ]
        for row in rows
    ]
    return tell(rows, [Words("", columns, cells)], json)


if __name__ == "__main__":
    exit_with(main)
