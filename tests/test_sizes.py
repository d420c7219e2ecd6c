"""Every small size and the large ones' edges on every built-in design: class, alignment, usable size, address."""

from itertools import count

import numpy as np
import pytest
from loaded import Loaded, RealThread
from preloaded import FIRST_BUILT_IN

from heapsmith.codegen.built import library_of
from heapsmith.codegen.difference import place
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.trace.reader import Chunk, Op


def sizes(plan: Plan) -> list[int]:
    """0 to small_limit, the sizes about page multiples behind it, and those about the huge limit."""
    pages = [plan.small_limit + 1, *(count * plan.page_bytes + by for count in range(1, 20) for by in (-1, 0, 1))]
    huge = [plan.huge_bytes + by for by in (-plan.page_bytes, -1, 0, 1, plan.page_bytes)]
    return [*range(plan.small_limit + 1), *(size for size in (*pages, *huge) if size > plan.small_limit)]


def usable(plan: Plan, size: int) -> int:
    """Bytes that a block for this request offers: the first class that holds it, else whole pages."""
    rows = [row.usable for row in plan.classes if row.usable >= size]
    tail = plan.tail_bytes if size <= plan.huge_bytes else 0
    return rows[0] if rows else -(-(size + tail) // plan.page_bytes) * plan.page_bytes - tail


def told(plan: Plan, size: int) -> int:
    """What malloc_usable_size says: with canaries the size asked for; 0 where no byte of malloc(0) may be touched."""
    live_map = plan.design.row("hardening").LIVE_MAP
    return size if plan.tail_bytes or (live_map and not size) else usable(plan, size)


@pytest.mark.parametrize("name", FIRST_BUILT_IN)
def test_every_size(name: str) -> None:
    plan = make_plan(load(name))
    asked = sizes(plan)
    birth_and_death = [(op, size if op == Op.MALLOC else 0) for size in asked for op in (Op.MALLOC, Op.FREE)]
    ops, requests = zip(*birth_and_death, strict=True)
    nothing = np.zeros(len(ops), np.int64)
    addresses = np.empty(len(ops), np.int64)
    Simulator(plan).feed(Chunk.of(ops, nothing, nothing, requests, nothing, nothing), addresses)

    library = Loaded(library_of(plan.design))
    events = count(1)
    wrong: list[str] = []

    def ask() -> int:
        for size, code in zip(asked, addresses[::2].tolist(), strict=True):
            block = library.malloc(size)
            library.background(next(events))
            found = library.locate(block)
            if found != code:
                wrong.append(f"malloc({size}): {place(plan, code, size)} expected, got {place(plan, found, size)}")
            if library.usable_size(block) != told(plan, size):
                wrong.append(f"malloc({size}): {told(plan, size)} bytes expected, got {library.usable_size(block)}")
            if block % (16 if usable(plan, size) >= 16 else plan.grain):
                wrong.append(f"malloc({size}): {block:#x} is not aligned")
            library.free(block)
            library.background(next(events))
        return len(asked)

    thread = RealThread()
    assert thread.do(ask) == len(asked) > plan.small_limit
    thread.join()
    assert not wrong, wrong[:5]


@pytest.mark.parametrize("name", FIRST_BUILT_IN)
def test_the_table_names_the_first_class_that_holds_a_size(name: str) -> None:
    plan = make_plan(load(name))
    for size in range(plan.small_limit + 1):
        row = plan.classes[plan.size_class[(size + plan.bias + plan.grain - 1) // plan.grain]]
        assert row.usable == usable(plan, size)
