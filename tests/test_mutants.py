"""Mutants of the emitted and of the hand-written C: each must be noticed by the compiler, the trace, or the audit."""

import hashlib
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest
from covering import covering_designs
from mutants import Mutant, mutants
from workshop import Workshop

from heapsmith.codegen.audit import audit_emitted
from heapsmith.codegen.generate import PURPOSES

DESIGNS = [covering_designs()[index] for index in (1, 3, 2, 0)]
"""Together they have every policy; a mutant of a file that several share is tried on each until it is noticed."""

SAMPLE = 64
SEED = "1"

UNNOTICED: dict[tuple[str, str, str], str] = {
    (
        "inspect.c",
        "while (by > 0 && now > peak &&",
        "while (by > 0 && now >= peak &&",
    ): "stores the peak that is there already",
    (
        "api.c",
        "bool same_class = bytes <= SMALL_LIMIT && plan == &hs_class[size_to_class(bytes)];",
        "bool same_class = bytes < SMALL_LIMIT && plan == &hs_class[size_to_class(bytes)];",
    ): "SMALL_LIMIT is the last class's usable size: such a request fits well too",
    (
        "large.c",
        "if (2 * (entries + 1) > slots && !grow_table())",
        "if (2 + (entries + 1) > slots && !grow_table())",
    ): "a fuller table gives the same answers, later",
    (
        "large.c",
        "return table != NULL && runs_init(span_limit);",
        "return table != (void *)8 && runs_init(span_limit);",
    ): "needs a system that grants the slab span and then refuses 12 KiB",
    (
        "runs.c",
        "if (count * PAGE_BYTES > span_limit && count * PAGE_BYTES / 2 >= SMALLEST_RUN_SPAN)",
        "if (count + PAGE_BYTES > span_limit && count * PAGE_BYTES / 2 >= SMALLEST_RUN_SPAN)",
    ): "takes more of scarce address space; what is allocated from it is the same",
    (
        "runs.c",
        "os_unmap(table, (count + 1) * sizeof *table);",
        "os_unmap(table, (count - 1) * sizeof *table);",
    ): "whole pages are unmapped: the same ones, or one less",
    (
        "runs.c",
        "pages[page].used = 0;",
        ";",
    ): "seen through pointers that are no blocks only: the page is free, and tagged anew before it is a block again",
    (
        "runs.c",
        "enum { COMMIT_STEP = 1024 };",
        "enum { COMMIT_STEP = 1025 };",
    ): "how many pages one call makes writable",
    (
        "inspect.c",
        "for (unsigned class = 0; class < CLASS_COUNT; class++) {",
        "for (unsigned class = 0; class < CLASS_COUNT; class--) {",
    ): "asserts the equations of fewer classes",
    (
        "store.c",
        "os_unmap(hs_slabs, slabs * sizeof *hs_slabs);",
        "os_unmap(hs_slabs, slabs + sizeof *hs_slabs);",
    ): "a reset, which only tests do, keeps some address space",
}
"""(file, line, changed line) of the mutants that nothing here can notice, and why."""


class Job(NamedTuple):
    """A mutant, its number, and the designs whose C has that file."""

    number: int
    mutant: Mutant
    designs: list[int]


def jobs(shops: list[Workshop]) -> Iterator[Job]:
    """Every mutant: of the emitted C of each design, and once of each hand-written file."""
    number = 0
    seen: set[str] = set()
    for index, shop in enumerate(shops):
        for name, text in shop.texts().items():
            if name in seen:
                continue
            if name not in PURPOSES:
                seen.add(name)
            having = [index] if name in PURPOSES else [i for i, other in enumerate(shops) if name in other.files]
            for mutant in mutants(name, text):
                yield Job(number, mutant, having)
                number += 1


def noticed(job: Job, shops: list[Workshop]) -> str | None:
    """How a mutant was noticed: by the driver on some design, or if it is of emitted C by the audit; else None."""
    for index in job.designs:
        if found := shops[index].try_out(job.mutant, job.number):
            return found
    if job.mutant.file not in PURPOSES:
        return None
    shop = shops[job.designs[0]]
    emitted = shop.folder / f"audited-{job.number}"
    shutil.copytree(shop.emitted, emitted, ignore=shutil.ignore_patterns("*.o", "[0-9]*"))
    file = emitted / job.mutant.file
    file.write_text(job.mutant.apply(file.read_text()))
    return None if audit_emitted(shop.design, emitted).ok else "the audit"


def key(mutant: Mutant) -> tuple[str, str, str]:
    return mutant.file, mutant.before.strip(), mutant.after.strip()


def drawn(job: Job) -> str:
    """A mutant's lot: of itself and the seed, so that a changed line changes no other line's lot."""
    return hashlib.sha256("\0".join((SEED, *key(job.mutant))).encode()).hexdigest()


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> list[Workshop]:
    folder = tmp_path_factory.mktemp("shops")
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(lambda design: Workshop(design, folder / design.name), DESIGNS))


def test_nothing_is_noticed_of_the_c_as_it_is(shops: list[Workshop]) -> None:
    assert [shop.perform(shop.pristine()) for shop in shops] == [None] * len(shops)


def test_a_sample_of_mutants_is_noticed(shops: list[Workshop]) -> None:
    every = list(jobs(shops))
    assert len(every) > 2000
    sample = sorted(every, key=drawn)[:SAMPLE]
    with ThreadPoolExecutor(2) as pool:
        ways = list(pool.map(lambda job: noticed(job, shops), sample))
    survivors = [job.mutant for job, way in zip(sample, ways, strict=True) if way is None]
    built = sum(way != "does not compile" for way in ways)
    killed = built - len(survivors)
    print(f"{killed} of {built} mutants noticed, {SAMPLE - built} do not compile")
    assert killed > built * 3 // 4
    assert not [str(mutant) for mutant in survivors if key(mutant) not in UNNOTICED]


def test_mutants_are_single_lines() -> None:
    text = "static int f(int a)\n{\n    if (a < 3)\n        g(a + 1);\n    return a;\n}\n"
    found = list(mutants("f.c", text))
    assert {mutant.after.strip() for mutant in found} == {
        "if (!(a < 3))",
        "if (a <= 3)",
        "if (a < 4)",
        ";",
        "g(a - 1);",
        "g(a + 2);",
        "return 0;",
    }
    for mutant in found:
        changed = mutant.apply(text).split("\n")
        assert sum(a != b for a, b in zip(changed, text.split("\n"), strict=True)) == 1
        assert mutant.function == "f"


def test_the_list_of_unnoticed_names_lines_that_exist(shops: list[Workshop]) -> None:
    known = {key(job.mutant) for job in jobs(shops)}
    assert set(UNNOTICED) <= known


def test_folder_is_left_clean(shops: list[Workshop], tmp_path: Path) -> None:
    for shop in shops:
        assert not [path for path in shop.tree.rglob("*.c") if path.name[0].isdigit()]
