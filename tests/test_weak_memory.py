"""Memory orders of 64-bit Arm: every interleaving in which stores are seen early, and each order's instruction."""

import re
import subprocess
from functools import cache
from pathlib import Path

import msgspec
import pytest
from covering import soon
from interleave_orders import EARLY, ORDERS, WITHOUT_ROW, Order
from systems import ARM, library_for
from test_interleave import BIG_CASES, CASES, DESIGNS, Workshop, explore, fails
from test_interleave_shards import CASES as SHARD_CASES

from heapsmith.codegen.build import COMPILE
from heapsmith.codegen.generate import render
from heapsmith.codegen.layers import HEAP, RUNTIME
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan

PAGE = Path(__file__).resolve().parent.parent / "docs" / "lab" / "concurrency.md"


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("interleave"))


@pytest.mark.parametrize(
    ("case", "outcomes"),
    [
        ("store_buffering", [0, 1, 4, 5]),
        ("store_buffering_fenced", [1, 4, 5]),
        ("store_buffering_one_fence", [0, 1, 4, 5]),
        ("load_buffering", [0, 1, 4, 5]),
        ("load_buffering_fenced", [0, 1, 4]),
        ("load_buffering_release", [0, 1, 4]),
        ("load_buffering_branch", [0, 1, 4, 5]),  # whatever it reads, the thread stores 1
        ("thin_air", [0]),
        ("two_plus_two", [5, 6, 9, 10]),
        ("two_plus_two_fenced", [6, 9, 10]),
        ("pass_relaxed", [0, 4, 8, 12]),
        ("pass_ordered", [0, 8, 12]),
        ("pass_fenced", [0, 8, 12]),
        ("plain_ordered", [0, 8]),
        ("release_sequence", [0, 32]),
        ("read_twice", [0, 8, 12]),
        ("read_in_turn", [0, 4, 16, 32, 36]),
        ("swap_weak", [0, 1]),
        ("swap_strong", [1, 4]),
    ],
)
def test_what_is_allowed_where_stores_are_seen_early(workshop: Workshop, case: str, outcomes: list[int]) -> None:
    assert explore(workshop.program("litmus"), case, EARLY).outcomes == outcomes


@pytest.mark.parametrize("case", ["plain_no_release", "plain_no_acquire", "broken_sequence"])
def test_a_mistake_is_one_there_too(workshop: Workshop, case: str) -> None:
    fails(workshop.program("litmus"), case, "data race", EARLY)


SOON = {"lock_2x1", "lock_try_2x1", "list_1x1", "list_2x1", "list_told", "batch_2", "batch_3", "swap_2", "start_2"}
SOON |= {"live_2", "fork_both", "handlers_exchanged", "child_of_handler", "run_freed_twice", "run_looked_behind"}
SOON |= {"sampling_on", "sampling_other"}
LONG = {"claim_walk", "claim_close", "peak_3x1", "list_2x2", "handler_large", "swap_all"}
LONG |= {"helper_2", "record_3", "sampling_off"}
LONG_ONES = {("queue", "list_2x1"), ("mutex", "list_2x1"), ("run", "run_handed_on")}
"""Cases of more than 5 s."""


def of_case(row: tuple[str, str, list[int], int]) -> object:
    """The row with its mark."""
    program, case = row[:2]
    long = case in LONG or (program, case) in LONG_ONES or row in BIG_CASES
    marks = [pytest.mark.big] if long else [] if case in SOON else [pytest.mark.thorough]
    return pytest.param(*row, marks=marks, id=f"{program}-{case}")


ENDLESS = {"claim_3"}
"""It had not ended after 400 s."""

EARLY_CASES = [of_case(row) for row in CASES if row[1] not in ENDLESS]


@pytest.mark.parametrize(("program", "case", "outcomes", "transitions"), EARLY_CASES)
def test_every_interleaving(workshop: Workshop, program: str, case: str, outcomes: list[int], transitions: int) -> None:
    """More ways lead through the same programs than without early stores, and to the same ends."""
    found = explore(workshop.program(program), case, EARLY)
    assert found.outcomes == outcomes, found
    assert found.transitions >= transitions, found


FIRST = [row for row in ORDERS if row.model]


@pytest.mark.parametrize(
    "row",
    soon(ORDERS, FIRST, [row for row in ORDERS if row not in FIRST]),
    ids=lambda row: f"{row.program}-{row.function}-{row.order}",
)
def test_each_order_is_needed(workshop: Workshop, row: Order) -> None:
    program = workshop.mutant(row.mutant())
    fails(program, row.case, row.words, *row.model)
    if row.model:
        explore(program, row.case)  # nothing fails where no store is seen early


def test_the_page_lists_the_orders() -> None:
    """In the table of the page, and nothing else."""
    rows = PAGE.read_text().split("| part | access | order |")[1].split("\n\n")[0].splitlines()[2:]
    assert rows == [row.line() for row in ORDERS]


def test_every_file_with_an_order_has_a_row_or_a_reason() -> None:
    """And the page says which."""
    order = re.compile(r"__ATOMIC_(ACQUIRE|RELEASE|ACQ_REL|SEQ_CST)|memory_order_(acquire|release|acq_rel|seq_cst)")
    files = [*RUNTIME.rglob("*.[ch]"), *(RUNTIME.parent / "templates").glob("*.j2")]
    found = {path.relative_to(RUNTIME.parent).as_posix() for path in files if order.search(path.read_text())}
    others = [f"runtime/{file}" for files in WITHOUT_ROW.values() for file in files]
    assert found == {f"runtime/heap/{row.file}" for row in ORDERS} | set(others)
    rows = PAGE.read_text().split("| why no row | files |")[1].split("\n\n")[0].splitlines()[2:]
    assert rows == [f"| {why} | {', '.join(f'`{file}`' for file in files)} |" for why, files in WITHOUT_ROW.items()]


def test_the_page_lists_the_cases() -> None:
    """With the transitions that their tests ask for."""
    rows = PAGE.read_text().split("| transitions, at least |")[1].split("\n\n")[0].splitlines()[2:]
    listed = []
    for row in rows:
        programs, cases, _, transitions = row.strip("| ").split(" | ")
        numbers = [int(number.replace(",", "")) for number in transitions.split("; ")]
        pairs = list(zip(re.findall(r"`(\w+)`", cases), numbers, strict=True))
        listed += [(program, *pair) for program in re.findall(r"`(\w+)`", programs) for pair in pairs]
    shards = [getattr(row, "values", row) for row in SHARD_CASES]
    tested = [(program, case, least) for program, case, _, least in CASES + BIG_CASES]
    tested += [(program, case, least) for program in ("shards", "class_shards") for case, _, least in shards]
    assert sorted(listed) == sorted(tested)


ORDERED = r"ldap?u?rb?|ldarb?|stlu?rb?|ldaxrb?|stlxrb?|ldxrb?|stxrb?|dmb|cas\w*|swp\w*|ldadd\w*"


@cache
def instructions(program: str, source: str, folder: Path) -> dict[str, list[str]]:
    """By function of a source that is compiled for the design of a program: its atomic instructions, and its calls of
    the compiler's functions for them."""
    design = msgspec.structs.replace(load("owner"), **DESIGNS.get(program, {}))
    for name, text in render(make_plan(design)).items():
        (folder / name).write_text(text)
    flags = [flag for flag in COMPILE if "lto" not in flag]
    words = [*ARM.tools().compiler, *flags, f"-I{folder}", f"-I{HEAP}", "-c", HEAP / source, "-o", folder / "one.o"]
    subprocess.run(words, check=True)
    return by_function(folder / "one.o")


def by_function(file: Path) -> dict[str, list[str]]:
    command = [ARM.tools().tool("objdump"), "-dr", "--no-show-raw-insn", file]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found: dict[str, list[str]] = {}
    for block in re.split(r"\n(?=[0-9a-f]+ <)", shown):
        if name := re.match(r"[0-9a-f]+ <([^>.]+)[^>]*>:", block):
            here = re.findall(rf"^\s+[0-9a-f]+:\t({ORDERED})\t|26\t__aarch64_(\w+)", block, re.MULTILINE)
            found.setdefault(name[1], []).extend(inline or called for inline, called in here)
    return found


@pytest.mark.parametrize("source", sorted({(row.program, row.source) for row in ORDERS}), ids="-".join)
def test_each_order_is_an_instruction(source: tuple[str, str], tmp_path: Path) -> None:
    found = instructions(*source, tmp_path)
    for row in ORDERS:
        if (row.program, row.source) == source:
            assert row.instruction in found.get(row.function, []), (row, found)


HALVES = {"relax": ("", "ldxr", "stxr"), "acq": ("a", "ldaxr", "stxr"), "rel": ("l", "ldxr", "stlxr")}
HALVES["acq_rel"] = ("al", "ldaxr", "stlxr")
"""By order: the suffix of the one instruction (Armv8.1), and the pair of a processor without it."""


@pytest.mark.parametrize("name", soon(("lock-free-claims", "owner-batch", "owner-queue"), [], ["owner-queue"]))
def test_the_compilers_functions_have_the_orders(name: str, tmp_path: Path) -> None:
    """Those in the library choose at run time between one instruction and a pair."""
    found = by_function(library_for(ARM, name, tmp_path, checked=False).path)
    ours = {function: list_ for function, list_ in found.items() if function.startswith("__aarch64_")}
    assert {"__aarch64_cas8_acq", "__aarch64_swp8_rel"} <= ours.keys()
    for function, words in ours.items():
        if (parts := re.fullmatch(r"__aarch64_(cas|swp|ldadd|ldset)(\d)_(\w+)", function)) is None:
            continue
        suffix, load_first, store_last = HALVES[parts[3]]
        width = {"1": "b", "2": "h"}.get(parts[2], "")
        assert words == [parts[1] + suffix + width, load_first + width, store_last + width], function
