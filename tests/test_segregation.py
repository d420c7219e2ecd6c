"""Segregation by call site: docs/machine-rooms.md by hand, library == model, and a real program's own calls."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from covering import covering_designs, of_each_row, soon
from loaded import agreement, checked_library
from preloaded import program, shim, start
from program import Program, plain_and_compiled
from test_trace_stacks import sites_of
from traces import random_chunk

from heapsmith.codegen.audit import audit_emitted
from heapsmith.codegen.difference import by_address, counter_names, counter_row
from heapsmith.codegen.driver import Driver
from heapsmith.codegen.generate import generate
from heapsmith.model.design.design import Design, changed, load, parse
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import design_text
from heapsmith.model.errors import BadInput
from heapsmith.model.files import scratch
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.parts.counters import LOCKS, TOTALS
from heapsmith.model.policy.front import array_stack
from heapsmith.model.policy.segregation.sites import Group, Params, Site
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Chunk, Op, TraceReader, TraceWriter
from heapsmith.model.trace.stacks import CallTree, Module, SitedChunk
from heapsmith.tools.common.symbols import frame_names
from heapsmith.tools.record.record import record

TREE = CallTree(
    [Module("/lib/one", "01"), Module("/lib/two", "02"), Module("/jit", None)],
    np.array([-1, 0, 0, 0, 0, 0]),
    np.array([0, 0, 1, 1, 2, -1]),
    np.array([9, 5, 5, 7, 5, 5]),
    np.array([1, 2, 3, 4, 5, 1]),
)
"""Sites 1 to 6; site 6 is another way to the instruction of site 1."""

KEEPS = Group([64, 128], [Site("one", "01", 5)])
PINS = Group([64], [Site("two", "02", 7), Site("two", "02", 5)])
BOTH = Params([KEEPS, PINS])
SIZES = [64, 128, 4096]
FRONT = array_stack.Params(capacity=4, refill=2)


def sited(op: Op, size: int = 0, site: int = 0, block: int = 0, align_log2: int = 0, thread: int = 0) -> Chunk:
    """One event with its site."""
    chunk = Chunk.of([op], [thread], [block], [size], [align_log2], [0])
    return SitedChunk.with_sites(chunk, np.array([site], np.uint32), TREE)


class Sited(Program):
    """A program whose events have sites."""

    def do(self, op: Op, name: str, size: int, site: int, align_log2: int = 0) -> int:
        if name not in self.live:
            self.live[name] = self.spare.pop()
        address = np.full(1, -1, np.int64)
        self.simulator.feed(sited(op, size, site, self.live[name], align_log2), address)
        return int(address[0])


def test_groups_of_sites() -> None:
    groups = make_plan(Design("d", [64, 128], segregation=BOTH)).design.row("segregation").groups_of(BOTH, TREE)
    assert groups.tolist() == [0, 1, 2, 2, 0, 0, 1]


@plain_and_compiled
def test_a_group_has_slabs_of_its_own(compiled: bool) -> None:
    case = Sited(compiled, [64, 112, 128], FRONT, segregation=BOTH)
    assert [row.name for row in case.simulator.plan.classes] == ["64", "112", "128", "64_1", "128_1", "64_2"]
    assert case.do(Op.MALLOC, "a", 64, 0) == 0
    assert case.do(Op.MALLOC, "b", 60, 1) == 4096  # group 1, a slab further
    assert case.do(Op.CALLOC, "c", 64, 2) == 8192  # group 2
    assert case.do(Op.MALLOC, "d", 64, 4) == 64  # a site that no group names
    assert case.do(Op.MALLOC, "e", 112, 1) == 12288  # the group does not name this size: class 112
    assert case.do(Op.MALLOC, "f", 112, 3) == 12288 + 112
    case.free("b")
    assert case.do(Op.MALLOC, "g", 64, 4) == 128  # what group 1 freed is not for others
    assert case.do(Op.MALLOC, "h", 64, 6) == 4096  # but for its own
    assert [case.counts(cls, "hit0", "refill", "push")[:2] for cls in range(6)] == [
        *((1, 2), (1, 1), (0, 0)),
        *((1, 1), (0, 0), (0, 1)),
    ]
    assert case.simulator.statistics().work["site_looks"] == 6  # of the size 64


@plain_and_compiled
def test_an_aligned_block_is_of_the_first_class_that_is_aligned(compiled: bool) -> None:
    """112 is no multiple of 64; the search goes on to 128 and never to the smaller blocks of a group."""
    case = Sited(compiled, [64, 112, 128], FRONT, segregation=BOTH)
    assert case.do(Op.ALIGNED, "a", 100, 0, align_log2=6) == 0
    assert case.do(Op.ALIGNED, "b", 100, 1, align_log2=6) == 4096
    assert case.counts(2, "refill") == (1,)
    assert case.counts(4, "refill") == (1,)
    only_small = Sited(compiled, [64, 112], FRONT, segregation=Params([PINS]))
    assert only_small.do(Op.ALIGNED, "a", 100, 3, align_log2=6) == 1 << 60  # a run


@plain_and_compiled
def test_realloc_goes_by_sizes_and_moves_to_the_group_of_its_caller(compiled: bool) -> None:
    case = Sited(compiled, [64, 128, 1024], FRONT, segregation=BOTH)
    assert case.do(Op.MALLOC, "a", 60, 1) == 0
    assert case.do(Op.REALLOC, "a", 64, 3) == 0  # the same class of the sizes: it stays, whoever calls
    assert case.do(Op.REALLOC, "a", 200, 3) == 4096
    assert case.do(Op.REALLOC, "a", 64, 3) == 8192  # group 2
    assert (case.simulator.counters().totals["realloc_in_place"], case.counts(5, "refill")) == (1, (1,))


def test_a_trace_without_stacks_is_of_group_0(tmp_path: Path) -> None:
    chunk = random_chunk(2000, 3)
    found = []
    for design in (Design("plain", SIZES, front=FRONT), Design("apart", SIZES, front=FRONT, segregation=BOTH)):
        simulator = Simulator(make_plan(design), compiled=False)
        addresses = np.empty(len(chunk.op), np.int64)
        simulator.feed(chunk, addresses)
        found.append(addresses)
    assert np.array_equal(*found)


BAD = [
    (Params([]), "groups: 0 groups; expected 1 to 15"),
    (Params([Group([], KEEPS.sites)]), r"groups\[0\].sizes: \[\]; expected block sizes"),
    (Params([Group([128, 64], KEEPS.sites)]), "expected block sizes, ascending"),
    (Params([Group([64], [])]), r"groups\[0\].sites: no site"),
    (Params([KEEPS, Group([64], KEEPS.sites)]), "the site 01.5 is named twice"),
    (Params([Group([64], [Site("one", "0x1", 5)])]), r"groups\[0\].sites\[0\].build_id: '0x1'; expected pairs"),
    (Params([Group([64], [Site("one", "01", -5)])]), "offset: -5; expected 0 to"),
    (Params([Group([64], [Site("a/b", "01", 5)])]), "module: 'a/b'; expected the name of a file"),
    (Params([Group([64], [Site("libstdc++.so.6", "01", 5)])]), "the library has operator new itself"),
    (Params([Group([88], KEEPS.sites)]), r"segregation.groups\[0\].sizes: 88 is none of the design's sizes"),
]


@pytest.mark.parametrize(("params", "reason"), BAD)
def test_what_cannot_be(params: Params, reason: str) -> None:
    with pytest.raises(BadInput, match=reason):
        changed(load("default"), "bad", {"segregation": msgspec.to_builtins(params)})


SEGREGATION = """
[segregation]
kind = "sites"
groups = [{ sizes = [64], sites = [{ module = "two", build_id = "02", offset = 5 }] }]
"""


def test_a_design_comes_back_from_its_text() -> None:
    design = parse('name = "n"\nsizes = [64, 128]\nfront.kind = "array_stack"\n' + SEGREGATION, "n")
    assert parse(design_text(design), "again") == design


def segregated(design: Design) -> Design | None:
    """The design with groups for its first sizes and its largest, if it may have them."""
    groups = [Group([*design.sizes[:2], design.sizes[-1]], KEEPS.sites), Group(design.sizes[1:4], PINS.sites)]
    found = msgspec.structs.replace(design, segregation=Params(groups))
    return found if found.why_not_valid() is None else None


APART = [found for design in covering_designs() if (found := segregated(design))]
FIRST = [found for design in of_each_row(2) if (found := segregated(design))]


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("segregation") / "t.hst"
    chunk = random_chunk(6000, 11, threads=3, cross_thread=0.3, live=150, max_size=2500)
    with TraceWriter(path, command=[], source="test", sites=True) as writer:
        writer.append(chunk, sites_of(chunk))
        writer.close({"stacks": TREE.packed()})
    return path


@pytest.mark.thorough
@pytest.mark.parametrize("design", soon(APART, FIRST[-1:], FIRST), ids=lambda design: design.name)
def test_library_and_model_agree(design: Design, trace: Path) -> None:
    """On every address and counter, with every other policy; a call from another group shows."""
    plan = make_plan(design)
    simulator = Simulator(plan, compiled=False)
    with TraceReader(trace, sited=True) as reader:
        (chunk,) = reader
    expected = np.empty(len(chunk.op), np.int64)
    simulator.feed(chunk, expected)
    simulator.check()
    groups = simulator.groups(chunk)
    for told, differs in ((groups, False), (np.zeros_like(groups), True)):
        with Driver(checked_library(design), plan.grain, len(counter_names(plan)), check_every=64) as driver:
            driver.send(chunk, told)
            addresses, counters = driver.receive(len(chunk.op))
        assert (by_address(plan, 0, chunk, expected, addresses) is not None) == differs
        assert np.array_equal(counters, counter_row(simulator.counters())) != differs


KEPT = ("keep_malloc", "keep_calloc", "keep_realloc", "keep_aligned", "plugin_keep")
BYTES, SIZE = 200, 208


def sites_in(tree: CallTree, functions: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """The innermost frames of a tree that lie in these functions, as a design names them."""
    names, _ = frame_names(tree)
    for frame in sorted(set(tree.innermost.tolist())):
        module = tree.modules[tree.module[frame]]
        if any(place.function in functions for place in names[frame]):
            yield {
                "module": module.path.rpartition("/")[2],
                "build_id": module.build_id,
                "offset": int(tree.offset[frame]),
            }


@pytest.mark.thorough
def test_a_programs_own_calls_are_of_the_groups_that_the_model_says(tmp_path: Path) -> None:
    """By their return addresses, in the program and in a library that it loads late: every counter of the classes.

    A sixteenth of 1,024 call sites is a group too: the library cannot remember all.
    """
    plugin = shim("run_sites_plugin", "-Wl,--build-id")
    command = [program("run_sites", "-Wl,--build-id", "-ldl"), 2000, 20, 2, 5000, plugin]
    [recorded] = record([str(word) for word in command], tmp_path / "t.hst", stacks=3).traces
    with TraceReader(recorded.path) as reader:
        tree = reader.stacks()
    assert tree is not None
    sites = list(sites_in(tree, KEPT))
    assert len(sites) == len(KEPT) + 1  # keep_realloc calls malloc too
    every = list(sites_in(tree, ("many",)))
    assert len(every) == 1024
    groups = [{"sizes": [SIZE], "sites": sites}, {"sizes": [2 * SIZE], "sites": every[::16]}]
    design = changed(load("default"), "apart", {"segregation": {"kind": "sites", "groups": groups}})
    (row,) = simulate(Path(recorded.path), [design]).rows
    report = tmp_path / "report.json"
    done = start(command, checked_library(design), environment={"HEAPSMITH": f"stats={report},check"})
    assert (done.returncode, done.stderr) == (0, "")
    classes = json.loads(report.read_text())["classes"]
    for index, found in enumerate(classes):
        if found["size"] in (SIZE, 2 * SIZE):
            del found["size"], found["usable"]
            assert found == {name: counts[index] for name, counts in row.counters.classes.items()}
    kept, some = ({name: counts[last] for name, counts in row.counters.classes.items()} for last in (-2, -1))
    assert (kept["hit0"] + kept["refill"], kept["retire"]) == (2 * 2000 // 20 * 2, 0)
    assert some["hit0"] + some["refill"] == 2 * 64


def test_a_trace_that_shows_nothing_of_the_sites_is_named(trace: Path, tmp_path: Path) -> None:
    design = segregated(load("default"))
    assert design is not None
    assert simulate(trace, [load("default"), design]).notes == []
    plain = tmp_path / "plain.hst"
    with TraceWriter(plain, command=[], source="test") as writer:
        writer.append(random_chunk(100, 3))
    [note] = simulate(plain, [design]).notes
    assert note == "default: the trace has no call stacks (record --stacks), so all calls are in group 0"
    others = Params([Group([64], [Site("one", "0f", 5)])])
    [note] = simulate(trace, [msgspec.structs.replace(design, segregation=others)]).notes
    assert note == "default: none of its call sites is in the trace; they are those of other builds"


@pytest.mark.thorough
@pytest.mark.parametrize("name", [None, pytest.param("default", marks=pytest.mark.big)])
def test_both_builds_take_the_sites_of_a_trace(name: str | None, trace: Path) -> None:
    """And the audit finds the emitted C as it says."""
    design = segregated(load(name) if name else Design("small", [64, 96, 128, 2048], front=FRONT))
    assert design is not None
    with scratch() as emitted:
        generate(design, emitted)
        assert audit_emitted(design, emitted).ok
    runs = agreement(design, trace)
    assert [run.difference for run in runs] == [None, None]
    classes = make_plan(design).class_count
    assert [run.counters for run in runs] == [len(TOTALS) + len(LOCKS) + 18 * classes, len(TOTALS) + 16 * classes]
