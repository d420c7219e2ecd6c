"""Mutants of the emitted and of the hand-written C: each must be noticed by the compiler, a judge, or the audit."""

import hashlib
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import test_hardening
from covering import FACTORS, rows_of, with_every_row
from workshop import BEHAVIOURS, MISUSE, NO_TRACE, OF_DESIGN, AgainstModel, ByPrograms, Workshop

from heapsmith.bench.gates.mutating import Mutant, mutants
from heapsmith.codegen import rooms
from heapsmith.codegen.audit import audit_emitted
from heapsmith.codegen.layers import HEAP
from heapsmith.model import policy
from heapsmith.model.design.design import ClassFront, Design, load
from heapsmith.model.design.plan import make_plan

DESIGNS = [msgspec.structs.replace(design, foreign="leak") for design in with_every_row()]
"""Together they have every policy but those for foreign pointers: under `next`, the driver's would go to glibc, which
aborts.

A mutant of a file that several share is tried on each until it is noticed.
"""

LISTED = test_hardening.design_of("full", listed=True)
PROGRAMS = msgspec.structs.replace(LISTED, class_front=[ClassFront(LISTED.sizes[1::2], load("default").front)])
"""The design under which programs are judges: all that level full has, and both linked lists and stacks with a transfer
cache."""

ELSEWHERE = {
    "1_base/counting/lock_table.h": "test_counting.py, test_locks.py",
    "1_base/definitions.c": "test_border.py",
    "2_system/lock.c": "test_interleave.py",
    "1_base/definitions.h": "test_border.py",
    "9_api/deepbind.c": "test_loading.py",
    "2_system/lock.h": "test_interleave.py",
    "9_api/options.c": "test_options.py",
    "4_blocks/hardening/basic.h": "test_hardening.py",
    "4_blocks/hardening/given.h": "test_hardening.py",
    "5_slab_policies/release/time.h": "test_release_clock.py, test_conformance.py",
    "9_api/stats.c": "test_options.py, test_foreign.py",
    "9_api/stats.h": "test_options.py, test_foreign.py",
    "1_base/object.c": "test_foreign.py",
    "1_base/object.h": "test_foreign.py",
    "1_base/text.c": "test_options.py",
    "1_base/text.h": "test_options.py",
    "9_api/view.c": "test_top.py",
    "9_api/metrics.c": "test_metrics.py",
    "9_api/tally.c": "test_metrics.py, test_options.py",
    "9_api/whole_file.c": "test_options.py, test_metrics.py",
    "1_base/unwind.c": "test_samples.py, test_record_stacks.py",
    "1_base/call_stack.c": "test_samples.py, test_guarded.py",
    "9_api/sampling/samples.c": "test_samples.py",
    "9_api/sampling/samples.h": "test_samples.py",
    "9_api/sampling/profile.c": "test_sampled.py",
    "9_api/sampling/profile.h": "test_sampled.py",
}
"""Files that no judge here looks at, and who does.

Nor are foreign/next.c and foreign/elsewhere.c here: test_foreign.py looks at those.
"""

WITHOUT_MUTANTS = frozenset(
    (
        "9_api/deletes/trusted.c",
        "1_base/counting/slow.c",
        "4_blocks/hardening/bare.c",
        "4_blocks/hardening/basic.c",
        "4_blocks/hardening/checks.c",
        "4_blocks/hardening/off.c",
        "3_records/span.c",
        "5_slab_policies/ownership/slab.c",
        "5_slab_policies/ownership/superslab.c",
    )
)
"""Sources in which there is nothing to change."""

SAMPLE = 20
SEED = "1"

UNNOTICED: dict[tuple[str, str, str], str] = {
    (
        "2_system/counters.c",
        "while (by > 0 && now > peak &&",
        "while (by > 0 && now >= peak &&",
    ): "equivalent: stores the peak that is there already",
    (
        "6_slabs/store.c",
        "give_to_slab(heap, class, &block, 1, held);",
        "give_to_slab(heap, class, &block, 2, held);",
    ): "looks at the word behind, which is hardly ever another block of the slab",
    (
        "7_large/huge_table.h",
        "if (2 * (entries + 1) > table_slots)",
        "if (3 * (entries + 1) > table_slots)",
    ): "equivalent: a wider table gives the same answers",
    (
        "9_api/api.c",
        "bool same_class = bytes <= SMALL_LIMIT && hs_sized_plan(plan) == &hs_class[size_to_class(bytes)];",
        "bool same_class = bytes < SMALL_LIMIT && hs_sized_plan(plan) == &hs_class[size_to_class(bytes)];",
    ): "equivalent: SMALL_LIMIT is the last class's usable size, so such a request fits well too",
    (
        "9_api/inspect.c",
        "for (unsigned class = 0; class < CLASS_COUNT; class++) {",
        "for (unsigned class = 0; class < CLASS_COUNT; class--) {",
    ): "asserts the equations of the first class only, which hold",
    (
        "2_system/os.c",
        "if (pages.bytes > 0)",
        "if (pages.bytes >= 0)",
    ): "asks the system to take back no bytes, which it refuses",
    (
        "2_system/os.c",
        "os_refused = start == NULL;",
        "os_refused = start != NULL;",
    ): "needs a program that runs out of memory: test_runtime.py",
    (
        "2_system/locks.c",
        "if (!((held_before | locks_taken) & LARGE))",
        "if (!((held_before & locks_taken) & LARGE))",
    ): "needs a signal handler that forks while the allocation that it interrupts holds the large lock",
}
"""(file, line, changed line) of the mutants drawn that nothing here can notice, and why."""


class Job(NamedTuple):
    """A mutant, its number, and the shops whose C has that file and whose judge may notice it."""

    number: int
    mutant: Mutant
    shops: list[Workshop]


def jobs(shops: list[Workshop]) -> Iterator[Job]:
    """Every mutant: of the emitted C of each design, and once of each hand-written file.

    A line that an earlier design has too is changed there only; what the last shop emits, which programs judge, stays.
    """
    number = 0
    known = set(ELSEWHERE)
    first: dict[tuple[str, str, str], Workshop] = {}
    for shop in shops:
        for name, text in shop.texts().items():
            if name in known or (name in OF_DESIGN and shop is shops[-1]):
                continue
            if name not in OF_DESIGN:
                known.add(name)
            having = [shop] if name in OF_DESIGN else [other for other in shops if judges(other, name)]
            for mutant in mutants(name, text):
                if first.setdefault(key(mutant), shop) is shop:
                    yield Job(number, mutant, having)
                    number += 1


def judges(shop: Workshop, name: str) -> bool:
    """May the shop's judge notice what is wrong in that file?"""
    seen = name in BEHAVIOURS or name in MISUSE if shop.design == PROGRAMS else name not in NO_TRACE
    return seen and name in shop.files


def noticed(job: Job) -> str | None:
    """How a mutant was noticed: by a judge, or if it is of emitted C by the audit; else None."""
    for shop in job.shops:
        if found := shop.try_out(job.mutant, job.number):
            return found
    if job.mutant.file not in OF_DESIGN:
        return None
    shop = job.shops[0]
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


def make_shops(folder: Path) -> list[Workshop]:
    """A shop per design that the model judges, and one whose judges are programs."""
    shops = [Workshop(design, folder / design.name, AgainstModel(design)) for design in DESIGNS]
    return [*shops, Workshop(PROGRAMS, folder / "programs", ByPrograms(PROGRAMS))]


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> list[Workshop]:
    return make_shops(tmp_path_factory.mktemp("shops"))


@pytest.fixture(scope="module")
def opened(shops: list[Workshop]) -> list[Workshop]:
    with ThreadPoolExecutor(2) as pool:
        return list(pool.map(Workshop.opened, shops))


@pytest.mark.thorough
@pytest.mark.parametrize("design", DESIGNS, ids=lambda design: design.name)
def test_nothing_is_noticed_of_the_c_as_it_is(tmp_path: Path, design: Design) -> None:
    shop = Workshop(design, tmp_path, AgainstModel(design)).opened()
    assert shop.judge(shop.pristine(), None) is None


@pytest.mark.big
def test_programs_notice_nothing_of_the_c_as_it_is(opened: list[Workshop]) -> None:
    shop = opened[-1]
    assert isinstance(shop.judge, ByPrograms)
    assert shop.judge(shop.pristine(), None) is None


def try_sample(shops: list[Workshop], size: int) -> tuple[list[Mutant], int]:
    """The mutants drawn that were not noticed, and how many of those drawn compile."""
    sample = sorted(jobs(shops), key=drawn)[:size]
    with ThreadPoolExecutor(2) as pool:
        ways = list(pool.map(noticed, sample))
    survivors = [job.mutant for job, way in zip(sample, ways, strict=True) if way is None]
    built = sum(way != "does not compile" for way in ways)
    print(f"{built - len(survivors)} of {built} mutants noticed, {size - built} do not compile")
    return survivors, built


@pytest.mark.big
def test_of_a_sample_each_is_noticed_or_listed(opened: list[Workshop]) -> None:
    survivors, built = try_sample(opened, SAMPLE)
    assert 3 * len(survivors) < built
    assert not [str(mutant) for mutant in survivors if key(mutant) not in UNNOTICED]


def test_together_the_designs_have_every_policy() -> None:
    found = {row for design in DESIGNS for row in zip(FACTORS, rows_of(design), strict=True)}
    wanted = {(field, row) for field, rows in FACTORS.items() for row in rows if field != "foreign"}
    assert wanted <= found
    fronts = {row.front.kind for design in DESIGNS for row in make_plan(design).classes}
    assert fronts == set(policy.names("front")) - {"prepared"}  # it goes with no other: test_prepared.py


@pytest.mark.thorough
def test_every_source_has_a_judge_or_is_looked_at_elsewhere(shops: list[Workshop]) -> None:
    """But for the sources that no design here has; a name of either list that is none is a mistake in it."""
    sources = {str(file.relative_to(HEAP)) for shop in shops for file in rooms.sources(make_plan(shop.design))}
    known = {name for shop in shops for name in shop.files}
    assert sources <= {job.mutant.file for job in jobs(shops)} | set(ELSEWHERE) | WITHOUT_MUTANTS
    assert {*ELSEWHERE, *BEHAVIOURS, *MISUSE} <= known
    folder = Path(__file__).parent
    assert all((folder / name).is_file() for names in ELSEWHERE.values() for name in names.split(", "))


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


@pytest.mark.big
def test_folder_is_left_clean(shops: list[Workshop], tmp_path: Path) -> None:
    for shop in shops:
        assert not [path for path in shop.tree.rglob("*.c") if path.name[0].isdigit()]
