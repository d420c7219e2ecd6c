"""Blocks that die in the call that asked for them: any calls against the definition, and real programs with counts."""

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import viewers
from conftest import Answer
from hypothesis import given, settings
from hypothesis import strategies as st
from preloaded import FLAGS, PROGRAMS
from test_report import opened

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.scoped_lives import Calls, ScopedLives
from heapsmith.tools.record.record import record
from heapsmith.tools.sites.functions import FREERS
from heapsmith.tools.sites.grouping import group_sites
from heapsmith.tools.sites.scoped import scoped_table
from heapsmith.tools.sites.sites import Scoped

Call = Callable[..., Answer]
Way = tuple[tuple[int, int], ...]
"""A stack, the outermost call first: of each call its function and its place."""

DEPTH = 3


class Stack(NamedTuple):
    """A site: its stack, the levels of the functions that ask and that free, and whether the first is known."""

    path: Way
    asking: int
    freeing: int
    is_known: bool


@st.composite
def stacks(draw: st.DrawFn) -> Stack:
    path = tuple(draw(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2)), min_size=1, max_size=DEPTH)))
    level = st.integers(0, len(path) - 1)
    return Stack(path, draw(level), draw(level), draw(st.integers(0, 9)) > 0)


def calls_of(sites: Sequence[Stack]) -> Calls:
    """The calls of these sites; site 0 is unknown. The place of a call is its instruction's offset."""
    numbers: dict[Way, int] = {}
    functions: dict[tuple[Way, int], int] = {}
    rows: list[tuple[int, int, int, int]] = []
    for one in sites:
        for level in range(len(one.path)):
            path = one.path[: level + 1]
            if path not in numbers:
                numbers[path] = len(numbers)
                above = numbers[path[:-1]] if level else -1
                rows.append((above, functions.setdefault((path[:-1], path[-1][0]), len(functions)), level, path[-1][1]))
    above, function, depth, offset = np.array(rows, np.int64).reshape(-1, 4).T
    innermost = np.array([-1, *(numbers[one.path] for one in sites)])
    asking = np.array([-1, *(numbers[one.path[: one.asking + 1]] if one.is_known else -1 for one in sites)])
    freeing = np.array([-1, *(one.freeing for one in sites)])
    return Calls(*(np.ascontiguousarray(row) for row in (above, function, depth, offset)), innermost, asking, freeing)


class Event(NamedTuple):
    op: int
    thread: int
    block: int
    site: int


def is_under(path: Way, asker: Stack) -> bool:
    """Whether a stack is under the function that asks: the same function under the same calls."""
    level = asker.asking
    return len(path) > level and path[:level] == asker.path[:level] and path[level][0] == asker.path[level][0]


def counted(events: Sequence[Event], sites: Sequence[Stack]) -> dict[str, int]:
    """By the definition: look at all events of the thread between a request and its end."""
    found = dict.fromkeys(("requests", "known", "blocks", "directly", "resized", "uncertain", "lived_events"), 0)
    born: dict[int, int] = {}
    for now, (op, thread, block, site) in enumerate(events):
        if op >= Op.FREE or op == Op.REALLOC:
            first = born.pop(block)
            asker = sites[events[first].site - 1] if events[first].site else None
            if asker and asker.is_known and site and events[first].thread == thread:
                level = asker.asking
                between = [one.site for one in events[first + 1 : now] if one.thread == thread and one.site]
                path = sites[site - 1].path
                is_jump = path == asker.path[:level] and level > 0
                if all(is_under(sites[one - 1].path, asker) for one in between) and (is_jump or is_under(path, asker)):
                    found["blocks"] += 1
                    found["directly"] += is_jump or sites[site - 1].freeing == level
                    found["resized"] += op == Op.REALLOC
                    found["uncertain"] += not is_jump and path[level][1] <= asker.path[level][1]
                    found["lived_events"] += now - first
        if op < Op.FREE:
            born[block] = now
            found["requests"] += 1
            found["known"] += site > 0 and sites[site - 1].is_known
    return found


@st.composite
def histories(draw: st.DrawFn) -> tuple[list[Event], list[Stack]]:
    """Events of two threads with few stacks, so that many share their calls."""
    sites = draw(st.lists(stacks(), min_size=1, max_size=6))
    site, thread = st.integers(0, len(sites)), st.integers(0, 1)
    events: list[Event] = []
    live: list[int] = []
    for kind in draw(st.lists(st.sampled_from([Op.MALLOC, Op.MALLOC, Op.FREE, Op.FREE, Op.REALLOC]), max_size=40)):
        if kind == Op.MALLOC or not live:
            block = next(number for number in range(50) if number not in live)
            live.append(block)
            events.append(Event(int(Op.MALLOC), draw(thread), block, draw(site)))
        else:
            block = draw(st.sampled_from(live))
            events.append(Event(int(kind), draw(thread), block, draw(site)))
            if kind == Op.FREE:
                live.remove(block)
    return events, sites


@settings(max_examples=400, deadline=None)
@given(histories(), st.integers(1, 41))
def test_any_calls_are_counted_by_the_definition(history: tuple[list[Event], list[Stack]], piece: int) -> None:
    events, sites = history
    lives = ScopedLives(calls_of(sites), np.zeros(len(sites) + 1, np.int64), 1, 50, 2)
    for first in range(0, len(events), piece):
        part = events[first : first + piece]
        op, thread, block, site = (list(column) for column in zip(*part, strict=True))
        size = [8 * one if what < Op.FREE else 0 for what, one in zip(op, block, strict=True)]
        time_ns = range(10 * first, 10 * (first + len(part)), 10)
        chunk = Chunk.of(op, thread, block, size, [0] * len(part), list(time_ns))
        lives.feed(chunk, np.array(site, np.uint32))
    plain = counted(events, sites)
    assert {name: int(lives.groups[0][name]) for name in plain} == plain
    assert lives.lived_ns[0] == 10 * plain["lived_events"]
    assert len(lives.sizes()) == (plain["blocks"] > 0)


def test_sizes_are_the_least_the_median_and_the_largest() -> None:
    [site] = sites = [Stack(((0, 1),), 0, 0, True)]
    lives = ScopedLives(calls_of(sites), np.zeros(2, np.int64), 1, 1, 1)
    sizes = [30, 1 << 40, 10, 20, 10]
    op, size = [0, 4] * len(sizes), [one for size in sizes for one in (size, 0)]
    zeros = [0] * len(op)
    lives.feed(Chunk.of(op, zeros, zeros, size, zeros, zeros), np.ones(len(op), np.uint32))
    assert (site.path, lives.sizes()) == (((0, 1),), {0: (10, 20, 1 << 40)})


def test_functions_that_free_for_their_caller() -> None:
    names = ["free", "xfree", "g_free", "PyMem_RawFree", "operator delete", "operator delete[]", "std::default_delete"]
    assert all(map(FREERS.fullmatch, names))
    assert not any(map(FREERS.fullmatch, ["release", "Buffer::~Buffer", "operator new"]))


def trace_of(program: Path) -> Path:
    """The trace of a program, recorded once."""
    trace = program.with_suffix(".hst")
    if not trace.exists():
        [one] = record([str(program)], trace, stacks=64, frees=True).traces
        assert (one.drops, one.sites_wrong) == (0, 0)
    return trace


def recorded(program: Path, skip: Sequence[str] = ()) -> dict[str, Scoped]:
    """The rows of a program's trace by function."""
    table = scoped_table(group_sites(trace_of(program), "function", skip=skip))
    assert table is not None
    return {row.name: row for row in table.rows}


def figures(row: Scoped) -> tuple[Any, ...]:
    sizes = (row.least_bytes, row.median_bytes, row.most_bytes)
    return row.requests, row.blocks, row.directly, row.resized, row.uncertain, sizes, row.instead


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_of_a_program_in_c(level: str, tmp_path: Path) -> None:
    compile_c([PROGRAMS / "scoped.c"], tmp_path / "scoped", flags=(*FLAGS, level, "-g"))
    found = recorded(tmp_path / "scoped")
    assert {name: figures(row) for name, row in found.items()} == {
        "by_itself": (200, 200, 200, 0, 0, (40, 40, 40), "array"),
        "by_a_jump": (100, 100, 100, 0, 0, (48, 48, 48), "array"),
        "by_a_callee": (100, 100, 0, 0, 0, (64, 113, 163), "buffer"),
        "replace": (200, 99, 99, 0, 99, (88, 88, 88), "array"),  # 100 calls from one place, without another event
        "grow": (500, 500, 500, 400, 300, (16, 64, 256), "buffer"),  # three of four reallocs come round the loop
        "grown": (200, 100, 100, 100, 0, (300, 300, 300), "array"),
        "copy": (100, 100, 100, 0, 0, (22, 22, 22), "array"),
        "aligned_and_sized": (100, 100, 100, 0, 0, (128, 128, 128), "array"),
        "inlined_whole": (100, 100, 100, 0, 0, (144, 144, 144), "array"),
        "recurse": (10, 10, 10, 0, 0, (136, 136, 136), "array"),
    }
    assert found["recurse"].life_events == 10
    assert found["by_itself"].known == 200


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
@pytest.mark.parametrize("level", [pytest.param("-O0", marks=pytest.mark.thorough), "-O2"])
def test_of_a_program_in_cpp(level: str, tmp_path: Path) -> None:
    """The compiler may lay the code of an exception before that which throws it."""
    program = tmp_path / "scoped"
    subprocess.run(["g++", *FLAGS, level, "-g", "-o", program, PROGRAMS / "scoped.cc"], check=True)
    found = {name: figures(row) for name, row in recorded(program).items()}
    thrown = found.pop("thrown")
    assert (*thrown[:4], thrown[5]) == (50, 50, 50, 0, (4, 100, 200))
    assert found == {
        "unique": (50, 50, 50, 0, 0, (4, 4, 4), "array"),
        "raw": (50, 50, 50, 0, 0, (36, 36, 36), "array"),
        "temporaries": (100, 100, 100, 0, 0, (41, 41, 120), "buffer"),
        "vector": (200, 200, 200, 0, 150, (4, 8, 32), "buffer"),  # of 4 blocks the first 3 die as the next is there
    }
    skipped = recorded(program, ["Buffer::Buffer"])
    assert figures(skipped["in_a_constructor"]) == (50, 50, 0, 0, 0, (200, 200, 200), "array")


def test_functions_without_names_are_not_known(tmp_path: Path) -> None:
    compile_c([PROGRAMS / "scoped.c"], tmp_path / "scoped", flags=(*FLAGS, "-s"))
    table = scoped_table(group_sites(trace_of(tmp_path / "scoped"), "function"))
    assert table is not None
    assert (table.requests, table.known < 20) == (1921, True)  # those of libraries have names
    assert not [row for row in table.rows if "scoped" in row.name]


def test_a_cut_stack_tells_nothing(tmp_path: Path) -> None:
    """Of ten calls one in the other the last are cut, and tell nothing of the others."""
    compile_c([PROGRAMS / "scoped.c"], tmp_path / "scoped", flags=(*FLAGS, "-O0", "-g"))
    [trace] = record([str(tmp_path / "scoped")], tmp_path / "t.hst", stacks=10, frees=True).traces
    whole = recorded(tmp_path / "scoped")
    table = scoped_table(group_sites(Path(trace.path), "function"))
    assert table is not None
    rows = {row.name: row for row in table.rows}
    above_main = 10 - rows["recurse"].known - 1
    assert 0 < above_main < 8
    assert (rows["recurse"].requests, rows["recurse"].blocks) == (10, rows["recurse"].known)
    assert table.known == table.requests - (10 - rows["recurse"].known)
    assert figures(rows["by_itself"]) == figures(whole["by_itself"])


def test_commands_print_the_table_and_the_page_has_it(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    compile_c([PROGRAMS / "scoped.c"], tmp_path / "scoped", flags=(*FLAGS, "-O1", "-g"))
    out = call("record", "--stacks", "--frees", "-o", tmp_path / "t.hst", "--", tmp_path / "scoped")
    assert out.status == 0
    found = json.loads(call("sites", tmp_path / "t.hst", "--by", "function", "--json").out)["scoped"]
    certain = [row["blocks"] - row["uncertain"] for row in found["rows"]]
    assert certain == sorted(certain, reverse=True)
    assert sum(row["blocks"] for row in found["rows"]) == found["blocks"] == 1409
    text = " ".join(call("sites", tmp_path / "t.hst", "--by", "function").out.split())
    assert "candidates for the stack or a buffer, if no later call uses them" in text
    assert "by_a_callee 100 100.0% 0 0 64 to 163, median 113 buffer" in text
    plain = call("record", "--stacks", "-o", tmp_path / "plain.hst", "--", tmp_path / "scoped")
    assert plain.status == 0
    assert "Freed in the call" not in call("sites", tmp_path / "plain.hst").out


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from viewers.chromium()


@pytest.mark.thorough
def test_the_page_shows_them(chromium: Any, call: Call, tmp_path: Path) -> None:
    compile_c([PROGRAMS / "scoped.c"], tmp_path / "scoped", flags=(*FLAGS, "-g"))
    plain, trace = tmp_path / "plain.hst", trace_of(tmp_path / "scoped")
    record([str(tmp_path / "scoped")], plain, stacks=64)
    pages = [tmp_path / "plain.html", tmp_path / "page.html"]
    for source, page in zip((plain, trace), pages, strict=True):
        assert call("report", source, "-o", page).status == 0
    tab, said = opened(chromium, pages[1])
    tables = tab.locator("#sites table")
    temporary = tables.filter(has_text="Temporary blocks").locator("tbody tr")
    assert temporary.first.locator("td").all_inner_texts()[1:] == ["400", "100.0 %"]
    scoped = tables.filter(has_text="candidates for the stack or a buffer").locator("tbody tr")
    rows = {
        cells[0].split(" ")[0]: cells[1:7] for cells in (row.locator("td").all_inner_texts() for row in scoped.all())
    }
    assert rows["by_a_callee"] == ["100", "100.0 %", "0", "0", "64 to 163, median 113", "buffer"]
    assert rows["replace"] == ["99", "49.5 %", "99", "99", "88", "array"]
    tab.context.close()
    tab, more = opened(chromium, pages[0])
    assert "recorded with --frees" in tab.inner_text("#sites")
    assert said + more == []
    tab.context.close()
