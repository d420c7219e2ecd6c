"""Mutants that nothing noticed for a while, or that few designs have: each is noticed by its own judge."""

from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import test_hardening
from advice import wrong_advice
from covering import covering_designs, soon
from test_background import PROCESSES, wrong_help
from test_mutants import DESIGNS, PROGRAMS
from test_syscalls import GOES, GROWS, wrong_calls
from workshop import AgainstModel, ByPrograms, Judge, Workshop, by_behaviours, by_misuse

from heapsmith.bench.gates.mutating import Mutant
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan


class Known(NamedTuple):
    """A change of one line by hand: what stands instead of `before`, and how the judge's words about it begin."""

    design: Design
    judge: Judge
    file: str
    before: str
    after: str
    by: str


EVERY = (*DESIGNS, *covering_designs())
UNMAPS = msgspec.structs.replace(
    next(design for design in EVERY if design.unmapping and make_plan(design).slabs_per_superslab <= 4), name="unmaps"
)
AGAINST_MODEL = AgainstModel(UNMAPS)
ON_HUGE_PAGES = msgspec.structs.replace(load("default"), name="on-huge-pages", thp="always")
UNMAPPING = "5_slab_policies/unmapping/superslabs.c"
SLACK, FULL = "twice >> 1 | twice << 63", "4_blocks/hardening/full.h"
IN_SPAN = "fault_of_small(at, offset, bytes) == NULL;"
IN_RUNS = "(uintptr_t)at - (uintptr_t)hs_runs.start >= hs_runs.pages * PAGE_BYTES;"
FREED, RESIZED = "hardening_unfill(block, slack_start(&gone)", "hardening_unfill(block, slack_start(&old)"
COPIES, SLACK_BEHIND = "9_api/copies/judged.c", "hardening_slack(at - before + usable)"
ASKS = "counted_madvise(start, bytes, wanted ? MADV_HUGEPAGE : MADV_NOHUGEPAGE);"


def by_advice(library: Path, _: str | None) -> str | None:
    """Judge of the pages that the library of ON_HUGE_PAGES asks for."""
    return wrong_advice(library, make_plan(ON_HUGE_PAGES))


BACKGROUND, GROWTH = load("background"), load("growth")
KEEPS_HUGE = changed(load("huge-cache"), "keeps-huge", {"hardening": {"kind": "full"}})
BUDGETED = changed(
    next(
        design for design in covering_designs() if design.row("release").NAME == "budget" and design.empties == "shared"
    ),
    "budgeted",
    {
        "release": {
            **{"kind": "budget", "slab_budget_bytes": 0, "run_budget_bytes": 0, "most_budget_bytes": 24_000},
            **{"limit_percent": 0, "limit_bytes": 0},
        },
        "foreign": "leak",
    },
)
"""Its slabs are used again, and its budgets grow from nothing to the most."""
MODEL_OF_BUDGETED, BY_PROGRAMS = AgainstModel(BUDGETED), ByPrograms(PROGRAMS)
DRAINS = next(design for design in EVERY if make_plan(design).numbers.get("drain_most"))
AGAINST_DRAINS, QUEUES = AgainstModel(DRAINS), "5_slab_policies/remote/owner_queue.c"
EACH_QUEUE = "5_slab_policies/remote/queue_each.h"
HAS_TURN = "*turn == class || !drain_chain(heap, queue_of(heap, (unsigned)*turn))"
GOES_ON = "*turn = *turn + 1 < CLASS_COUNT ? *turn + 1 : 0;"
DETACHES = "pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);"
ADDS = "__atomic_add_fetch(&slabs_held[class], 1, __ATOMIC_RELAXED);"
DOUBLES = "regions[region].step = twice < GROWTH_MOST ? twice : GROWTH_MOST;"
POPULATES = "os_populate(start, bytes);"


def by_calls(design: Design) -> Judge:
    """Judge by the number of system calls, of a design's library."""
    return lambda library, _: wrong_calls(library, design)


OF_GROWS, OF_GOES, OF_GROWTH = map(by_calls, (GROWS, GOES, GROWTH))


def by_help(library: Path, _: str | None) -> str | None:
    """Judge by programs that have a helper thread, of the library of BACKGROUND."""
    return next((found for how in PROCESSES if (found := wrong_help(library, how))), None)


def by_deletes_and_trims(library: Path, _: str | None) -> str | None:
    """Judge by the behaviours of operator delete and of malloc_trim."""
    return by_behaviours(library, ("delete_", "malloc_trim"))


def by_faults(library: Path, _: str | None) -> str | None:
    """Judge by the page faults of fresh blocks."""
    faults = test_hardening.faults_per_page(library)
    return f"faults: {faults} a page" if faults > 1.2 else None


def by_misuse_of_all(library: Path, _: str | None) -> str | None:
    """Judge by every program that misuses its heap."""
    return by_misuse(library)


ONCE_UNNOTICED = [
    Known(ON_HUGE_PAGES, by_advice, "2_system/os.c", ASKS, ";", "advice"),
    Known(ON_HUGE_PAGES, by_advice, "2_system/os.c", ASKS, ASKS.replace("_HUGE", "_NOHUGE"), "advice"),
    Known(PROGRAMS, by_misuse_of_all, "7_large/huge.c", FREED, "(void)(gone", "overflow_huge"),
    Known(PROGRAMS, by_misuse_of_all, "7_large/huge.c", RESIZED, "(void)(old", "overflow_resized"),
    Known(BACKGROUND, by_help, "8_threads/background/refill.c", "sigfillset(&all);", ";", "without"),
    Known(BACKGROUND, by_help, "8_threads/background/refill.c", DETACHES, ";", "without"),
    Known(BACKGROUND, by_help, "8_threads/background/refill.c", "background_reset();", ";", "without"),
    Known(BACKGROUND, by_help, "8_threads/background/refill.c", "futex_on_helper(FUTEX_WAKE, 1, NULL);", ";", "works"),
    Known(BACKGROUND, by_help, "8_threads/background/refill.c", "background_inspection();", ";", "performs"),
    Known(DRAINS, AGAINST_DRAINS, QUEUES, "HAS_DRAIN_MOST ? class : 0", "0", "a"),
    Known(DRAINS, AGAINST_DRAINS, EACH_QUEUE, HAS_TURN, "*turn == class", "a"),
    Known(DRAINS, AGAINST_DRAINS, EACH_QUEUE, GOES_ON, ";", "a"),
    Known(DRAINS, AGAINST_DRAINS, EACH_QUEUE, "    remote_drain(heap);\n", "    ;\n", "a"),
    Known(GROWS, OF_GROWS, "2_system/populate/growing.c", ADDS, ";", "calls"),
    Known(GROWS, OF_GROWS, "2_system/populate/growing.c", "return PAGE_BYTES;", ";", "calls"),
    Known(GROWS, OF_GROWS, "2_system/populate/growing.c", POPULATES, ";", "calls"),
    Known(GOES, OF_GOES, "2_system/populate/batches.c", POPULATES, ";", "calls"),
    Known(GOES, OF_GOES, UNMAPPING, "hardening_released(slab_offset(slab));", ";", "calls"),
    Known(GROWTH, OF_GROWTH, "2_system/growth/doubling.c", DOUBLES, ";", "calls"),
    Known(
        BUDGETED,
        MODEL_OF_BUDGETED,
        "5_slab_policies/release/budget.c",
        "grow(&slab_budget, SLAB_BYTES);",
        ";",
        "a counter differs",
    ),
    Known(
        BUDGETED,
        MODEL_OF_BUDGETED,
        "5_slab_policies/release/budget.c",
        "grow(&run_budget, bytes);",
        ";",
        "a counter differs",
    ),
    Known(
        BUDGETED,
        MODEL_OF_BUDGETED,
        "5_slab_policies/release/budget.c",
        " / BUDGET_GR",
        " * BUDGET_GR",
        "a counter differs",
    ),
    Known(PROGRAMS, BY_PROGRAMS, "6_slabs/transfer/batches.c", "empty(&hs_no_heap, shard, class);", ";", "figures"),
    Known(KEEPS_HUGE, by_deletes_and_trims, "7_large/huge.c", "block.mark = 0;", ";", "delete_unmarked"),
    Known(
        KEEPS_HUGE, by_deletes_and_trims, "7_large/huge.c", "bytes += gone.pages * PAGE_BYTES;", ";", "malloc_trim_huge"
    ),
    Known(PROGRAMS, by_misuse_of_all, FULL, SLACK, f"(uint32_t)({SLACK})", "underflow"),
    Known(PROGRAMS, by_misuse_of_all, "7_large/huge.c", "moved.slack = slack_for(bytes);", ";", "copies"),
    Known(PROGRAMS, by_misuse_of_all, COPIES, IN_SPAN, "true;", "copy_beyond"),
    Known(PROGRAMS, by_misuse_of_all, COPIES, IN_RUNS, "true;", "copy_beyond_run"),
    Known(PROGRAMS, by_misuse_of_all, COPIES, "judge(to, bytes);", ";", "copy_beyond"),
    Known(PROGRAMS, by_misuse_of_all, COPIES, "judge(start, bytes);", ";", "fill_freed"),
    Known(PROGRAMS, by_misuse_of_all, COPIES, f"{SLACK_BEHIND} > usable - end", "false", "copy_beyond_by_one"),
    Known(test_hardening.BY_PAGE, by_faults, FULL, "orq $0, %0", "cmpq $0, %0", "faults"),
    Known(UNMAPS, AGAINST_MODEL, UNMAPPING, "    release_reused(slab);", ";", "heapsmith: this does not hold"),
    Known(UNMAPS, AGAINST_MODEL, UNMAPPING, "empty_superslabs >= ", "empty_superslabs > ", "an address differs"),
]
"""The first are in the default suite."""


@pytest.fixture(scope="module")
def sound_shops() -> dict[tuple[str, Judge], Workshop]:
    """The shops of known mutants, by design and judge: the judge finds the C as it is in order."""
    return {}


@pytest.mark.parametrize(
    "known", soon(ONCE_UNNOTICED, ONCE_UNNOTICED[:2], ONCE_UNNOTICED[:4]), ids=lambda known: f"{known.file}-{known.by}"
)
def test_what_was_once_unnoticed_is_noticed(
    known: Known, sound_shops: dict[tuple[str, Judge], Workshop], tmp_path_factory: pytest.TempPathFactory
) -> None:
    key = known.design.name, known.judge
    if key not in sound_shops:
        shop = Workshop(known.design, tmp_path_factory.mktemp("known") / "shop", known.judge).opened()
        assert shop.judge(shop.pristine(), known.file) is None
        sound_shops[key] = shop
    shop = sound_shops[key]
    lines = shop.texts()[known.file].split("\n")
    (number,) = (number for number, line in enumerate(lines, 1) if known.before in line)
    line = lines[number - 1]
    mutant = Mutant(known.file, number, "", line, line.replace(known.before, known.after))
    assert (shop.try_out(mutant, 1) or "unnoticed").startswith(known.by)
