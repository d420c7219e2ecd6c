"""verify: agreement is reported as such, and each kind of planted disagreement is found at the event that made it."""

import os
import re
import resource
import signal
from pathlib import Path

import msgspec
import numpy as np
import pytest
from covering import covering_designs
from nasty import nasty_trace
from workshop import Workshop

from heapsmith.bench.gates.mutating import Mutant
from heapsmith.codegen.difference import LOCK_NAMES, by_address, counted, counter_names, counter_row, place
from heapsmith.codegen.driver import Driver, DriverFailed
from heapsmith.codegen.verify import Library, Run, VerifyReport, replay, verify
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.design import changed as changed_design
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter

DESIGN: Design = next(design for design in covering_designs() if not design.row("counting").COUNTS_HITS)
PLAN = make_plan(DESIGN)


def written(path: Path, chunk: Chunk, chunk_events: int = 1000) -> Path:
    with TraceWriter(path, command=[], source="test", chunk_events=chunk_events) as writer:
        writer.append(chunk)
    return path


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("trace") / "nasty.hst", nasty_trace(PLAN, seed=4, waves=20))


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(DESIGN, tmp_path_factory.mktemp("shop")).opened()


def changed(shop: Workshop, file: str, before: str, after: str) -> Library:
    """The checked library with one piece of one line changed."""
    text = shop.texts()[file]
    (number,) = [index for index, line in enumerate(text.split("\n"), 1) if before in line]
    line = text.split("\n")[number - 1]
    path = shop.keep(Mutant(file, number, "", line, line.replace(before, after)), number)
    return Library("changed", path, 64, counted(PLAN, checked=True))


def run(shop: Workshop, trace: Path, file: str, before: str, after: str) -> Run:
    (row,) = replay(PLAN, [changed(shop, file, before, after)], trace, lambda what, done, total: None)
    return row


def test_agreement(trace: Path) -> None:
    told: list[tuple[str, int, int]] = []
    report = verify(DESIGN, [trace], progress=lambda *step: told.append(step))
    assert report.ok
    assert report.audit is not None
    assert report.audit.ok
    assert [row.build for row in report.runs] == ["checked", "release"]
    for row in report.runs:
        assert row.difference is None
        assert row.events == told[-1][1] == told[-1][2] > 2000
        assert row.threads == 4
        assert row.addresses > row.events // 3
    checked, release = report.runs
    assert checked.counters - release.counters == 2 * PLAN.class_count + len(LOCK_NAMES)
    again = msgspec.json.decode(msgspec.json.encode(report), type=VerifyReport)
    assert again.runs == report.runs


GROWN = changed_design(
    load("unmap"),
    "grown",
    {
        **{"classifier": "class_region", "empties": "dedicated", "sizes": [64, 1024], "slab_span_bytes": 1 << 30},
        **{"thp": "grown", "thp_slabs_from_bytes": 1 << 21, "slab_bytes": 65_536, "superslab_bytes": 1 << 21},
        **{"front": {"kind": "none"}, "transfer_bytes": 0, "unmapping": {"kind": "superslabs", "keep": 0}},
    },
)


@pytest.mark.thorough
def test_a_superslab_comes_back_on_the_pages_that_it_had(tmp_path: Path) -> None:
    """The first lies on small pages, also when it is mapped again after one on huge pages."""
    blocks = (1 << 21) // 1024
    births = [(Op.MALLOC, block, 1024) for block in range(blocks)]
    rows = [*births, (Op.MALLOC, blocks, 64), *((Op.FREE, block, 0) for block in range(blocks)), *births]
    ops, numbers, sizes = zip(*rows, strict=True)
    zeros = [0] * len(rows)
    trace = written(tmp_path / "t.hst", Chunk.of(ops, zeros, numbers, sizes, zeros, range(len(rows))))
    totals = simulate(trace, [GROWN]).rows[0].counters.totals
    assert (totals["superslabs"], totals["superslabs_unmapped"], totals["superslabs_reused"]) == (2, 1, 1)
    assert [row.difference for row in verify(GROWN, [trace]).runs] == [None, None]


@pytest.mark.thorough
def test_an_address_that_differs(shop: Workshop, trace: Path) -> None:
    row = run(
        shop,
        trace,
        "6_slabs/take.h",
        "char *block = slab_start(slab) + hs_class[class].first + slab->carved",
        "char *block = slab_start(slab) + hs_class[class].first + (left - taken)",
    )
    assert row.difference is not None
    assert row.difference.event == 0
    assert row.difference.what == "address"
    assert "superslab 0, slab" in row.difference.expected


def test_a_counter_that_differs_names_the_event_that_moved_it(shop: Workshop, trace: Path) -> None:
    row = run(
        shop,
        trace,
        "8_threads/heaps/thread.c",
        "count_own(&hs_count.adoptions, 1)",
        "count_own(&hs_count.adoptions, 2)",
    )
    assert row.difference is not None
    assert row.difference.what == "adoptions"
    assert (row.difference.expected, row.difference.got) == ("1", "2")
    chunk = nasty_trace(PLAN, seed=4, waves=20)
    simulator = Simulator(PLAN, compiled=False)
    first = 0
    while simulator.counters().totals["adoptions"] == 0:
        simulator.feed(chunk.part(first, first + 1))
        first += 1
    assert row.difference.event == first - 1


def test_bytes_that_differ_name_the_event_that_moved_them(shop: Workshop, tmp_path: Path) -> None:
    """Bytes are compared after each chunk: at the end of some, huge blocks live."""
    trace = written(tmp_path / "short.hst", nasty_trace(PLAN, seed=4, waves=20), chunk_events=100)
    row = run(
        shop, trace, "7_large/huge.c", "table[slot].pages * PAGE_BYTES : 0;", "table[slot].pages * PAGE_BYTES + 1 : 0;"
    )
    assert row.difference is not None
    assert row.difference.what == "bytes of live blocks"
    assert int(row.difference.got) == int(row.difference.expected) + 1
    assert row.difference.operation.startswith(("malloc", "calloc", "realloc", "aligned"))


def test_contents_that_change(shop: Workshop, trace: Path) -> None:
    row = run(shop, trace, "9_api/api.c", "memcpy(moved, block,", "memset(moved, 1,")
    assert row.difference is not None
    assert "in realloc: byte 0" in row.difference.got
    assert "realloc" in row.difference.operation


def test_an_equation_that_does_not_hold(shop: Workshop, trace: Path) -> None:
    row = run(
        shop,
        trace,
        "8_threads/front/array_stack.c",
        "stack_hold(heap, class, capacity - plan->flush + 1);",
        "stack_hold(heap, class, capacity + 1);",
    )
    assert row.difference is not None
    assert row.difference.event is not None


@pytest.mark.thorough
def test_a_crash_and_a_hang(shop: Workshop, trace: Path) -> None:
    row = run(shop, trace, "7_large/runs.c", "count_own(&hs_count.run_free, 1);", "__builtin_trap();")
    assert row.difference is not None
    assert row.difference.got == "ILL"
    assert row.difference.operation.startswith(("free", "realloc"))
    library = changed(shop, "7_large/runs.c", "count_own(&hs_count.run_free, 1);", "for (;;);").path
    chunk = nasty_trace(PLAN, seed=4, waves=4)
    with Driver(library, PLAN.grain, len(counter_names(PLAN)), stall_s=1) as driver:
        driver.send(chunk)
        with pytest.raises(DriverFailed, match=r"^no progress for 1 s: thread \d+ does not come back from it$"):
            driver.receive(len(chunk.op))


@pytest.mark.parametrize(
    ("file", "before", "after", "said"),
    [
        ("9_api/api.c", "alignment % sizeof(void *) != 0", "false", "posix_memalign: 4"),
        (
            "8_threads/heaps/thread.c",
            "exits < PTHREAD_DESTRUCTOR_ITERATIONS && hs_started()",
            "exits < 1 && hs_started()",
            "a thread that allocates in a late destructor has no heap of its own then",
        ),
    ],
)
def test_a_fact_that_is_not_so(shop: Workshop, file: str, before: str, after: str, said: str) -> None:
    library = changed(shop, file, before, after).path
    with Driver(library, PLAN.grain, len(counter_names(PLAN))) as driver, pytest.raises(DriverFailed, match=said):
        driver.close()


@pytest.mark.parametrize(("limit", "used"), [(resource.RLIMIT_DATA, "VmData"), (resource.RLIMIT_AS, "VmSize")])
def test_memory_that_the_system_refuses(shop: Workshop, tmp_path: Path, limit: int, used: str) -> None:
    """It is not the library's fault: without the limit both are equal."""
    (kilobytes,) = re.findall(rf"^{used}:\s*(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    most = int(kilobytes) * 1024 + (1 << 30)
    row = (Op.MALLOC, 0, 0, most, 0, 0)
    path = written(tmp_path / "large.hst", Chunk.of(*zip(row, strict=True)))
    library = Library("release", shop.pristine(), 0, counted(PLAN, checked=False))
    before = resource.getrlimit(limit)
    resource.setrlimit(limit, (most, before[1]))
    try:
        with pytest.raises(Missing, match=r"release build .*: the system refused it [\d,]+ bytes"):
            replay(PLAN, [library], path, lambda what, done, total: None)
    finally:
        resource.setrlimit(limit, before)


def test_a_driver_that_the_system_kills(shop: Workshop) -> None:
    with Driver(shop.pristine(), PLAN.grain, len(counter_names(PLAN))) as driver:
        os.kill(driver._process.pid, signal.SIGKILL)
        with pytest.raises(Missing, match="ran out of memory: killed by SIGKILL"):
            driver.receive(1)


def test_one_batch_larger_than_any_pipe(shop: Workshop) -> None:
    events = 400_000
    ops = np.tile([Op.MALLOC, Op.FREE], events // 2)
    nothing = np.zeros(events, np.int64)
    chunk = Chunk.of(ops, nothing, nothing, np.where(ops == Op.MALLOC, 100, 0), nothing, nothing)
    expected = np.empty(events, np.int64)
    simulator = Simulator(PLAN)
    simulator.feed(chunk, expected)
    with Driver(shop.pristine(), PLAN.grain, len(counter_names(PLAN))) as driver:
        driver.send(chunk)
        addresses, counters = driver.receive(events)
        driver.close()
    assert by_address(PLAN, 0, chunk, expected, addresses) is None
    assert np.array_equal(counters, counter_row(simulator.counters()))


def test_places_in_words() -> None:
    row = PLAN.classes[2]
    code = PLAN.superslab_bytes + PLAN.slab_bytes + row.first + 3 * row.stride
    assert place(PLAN, code, row.usable) == (
        f"superslab 1, slab 1, offset {row.first + 3 * row.stride} (block 3 of class {row.size})"
    )
    assert place(PLAN, (1 << 60) + 7, 1 << 20) == "run at page 7"
    assert place(PLAN, (1 << 61) + 2, 1 << 20) == "huge mapping 2"
    assert place(PLAN, -1, 0) == "no block"


def test_a_trace_that_cannot_be_read(tmp_path: Path, trace: Path) -> None:
    broken = tmp_path / "broken.hst"
    broken.write_bytes(trace.read_bytes()[:-100])
    with pytest.raises(BadInput, match=r"broken\.hst"):
        verify(DESIGN, [broken], audit=False)
