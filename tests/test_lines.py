"""Lines: at every event the model touches exactly the cache lines that the emitted library's loads and stores touch."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from covering import covering_designs, soon, with_every_row
from observed_lines import LINE_SHIFT, TABLES, observe

from heapsmith.codegen.build import build
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, builtin_names, changed, load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.layout import (
    ALLOC_OF,
    BACKGROUND_FULL,
    BACKGROUND_LOW,
    CLASSES,
    FREE_OF,
    HEAPS,
    HUGE,
    POOL_LOCK,
    REGION,
    SIZE_CLASS,
    SIZED_ROW,
    Layout,
)
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.listener_words import LOGGED
from heapsmith.model.memory.touches import LOG
from heapsmith.model.trace.reader import Chunk, Op

ROOT = Path(__file__).resolve().parent.parent
SPAN_BYTES = 1 << 32
"""Of slabs, at most: under valgrind a process does not get more, and regions would be narrower than in the model."""

CONSTANT = (CLASSES, SIZE_CLASS, ALLOC_OF, FREE_OF, BACKGROUND_LOW, BACKGROUND_FULL, SIZED_ROW)
"""Regions of tables that no library writes."""
STARTED = {POOL_LOCK >> LINE_SHIFT}
"""What the library touches at its first request besides, to start itself; no part of the machine."""

SIZES = (1, 16, 24, 48, 100, 200, 700, 2032, 3000, 9000, 40_000)
"""2032 has the last entry of a line, where entries are bytes and stand for 16 bytes."""
WEIGHTS = (4, 4, 4, 4, 4, 4, 4, 4, 2, 1, 1)
ALLOCATIONS = (Op.MALLOC, Op.MALLOC, Op.MALLOC, Op.CALLOC, Op.ALIGNED)


BY_CLASS = [
    changed(load(name), f"{name}-by-class", {"dispatch": "class"})
    for name in ("two-level", "hot", "learner", "owner-batch", "counting")
]
PREPARED = changed(load("benchfast-whole"), "few-prepared", {"front": {"kind": "prepared", "blocks": 512}})
"""So few that a thread's frees find no room for some."""
DESIGNS = [
    design
    for design in (*map(load, builtin_names()), PREPARED, *BY_CLASS, *covering_designs())
    if design.heaps is None and not design.compile_flags
]
"""Valgrind has no restartable sequences: it would show the lines of the locks that stand in for them. Other
optimisation takes loads of constant tables out of the library.
"""
EACH_ROW = [*with_every_row(of_processors=False), load("sampling-ready")]
"""Together they have every row of the covering designs, and of those that these lack the one that touches most."""
EXITS = (
    *("counting", "default", "few-prepared", "hardened", "hot", "learner", "owner-batch", "ring-over-stack"),
    "two-level",
)
"""Designs whose heaps are drained, and adopted, in different ways."""
SOON, THEN = ([design for design in DESIGNS if design.name == name] for name in ("default", "by-class"))


def events(seed: int, count: int, threads: int, exits: float = 0.01) -> Chunk:
    """A random trace that grows and shrinks in turns; threads exit, in this share of their events, and come back."""
    draw = np.random.default_rng(seed)
    rows: list[tuple[int, int, int, int, int, int]] = []
    live: list[int] = []
    born: set[int] = set()
    for number in range(count):
        thread = int(draw.integers(threads))
        size = int(draw.choice(SIZES, p=np.array(WEIGHTS) / sum(WEIGHTS)))
        shrinks = number // 100 % 2 == 1
        if thread in born and thread > 0 and draw.random() < exits:
            rows.append((Op.THREAD_EXIT, thread, 0, 0, 0, 0))
            born.discard(thread)
            continue
        born.add(thread)
        if live and draw.random() < 0.1:
            rows.append((Op.REALLOC, thread, live[draw.integers(len(live))], size, 0, 0))
        elif live and draw.random() < (0.7 if shrinks else 0.3):
            rows.append((Op.FREE, thread, live.pop(draw.integers(len(live))), 0, 0, 0))
        else:
            op = ALLOCATIONS[draw.integers(len(ALLOCATIONS))]
            live.append(number)
            rows.append((op, thread, number, size, int(draw.integers(4, 9)) if op == Op.ALIGNED else 0, 0))
    return Chunk.of(*map(list, zip(*rows, strict=True)))


def predicted(plan: Plan, chunk: Chunk, nodes: Sequence[str]) -> list[set[int]]:
    """The lines that the model says each event touches, but for those of huge blocks, whose places are the system's.

    Those that it says are written are there a second time, as ~line. The program itself touches nothing. The heap of
    threads that have none lies before HEAPS, behind all huge blocks.
    """
    huge_end = HEAPS - plan.layout.heap_bytes
    hardware = msgspec.structs.replace(load_hardware("default"), nodes=tuple(nodes))
    listener = Listener(hardware, LOG, 1 << 20)
    simulator = Simulator(
        plan, compiled=False, listener=listener, application=Application(births="none", deaths="none")
    )
    found = []
    for index in range(len(chunk.op)):
        listener.array[LOGGED] = 0
        simulator.feed(chunk.part(index, index + 1))
        touched = [(at >> LINE_SHIFT, write) for at, write in listener.log() if not HUGE <= at < huge_end]
        assert not [at for at, write in listener.log() if write and any(0 <= at - begin < REGION for begin in CONSTANT)]
        found.append({line for line, _ in touched} | {~line for line, write in touched if write})
    assert listener.lost == 0
    return found


def tops_of(plan: Plan, heaps: int) -> set[int]:
    """The lines of the tops of the first `heaps` heaps."""
    starts = [HEAPS + heap * plan.layout.heap_bytes for heap in range(heaps)]
    return {line for at in starts for line in range(at >> LINE_SHIFT, ((at + plan.layout.end - 1) >> LINE_SHIFT) + 1)}


def differences(
    plan: Plan, library: Path, chunk: Chunk, folder: Path, nodes: Sequence[str] = (), *, writes: bool = False
) -> list[tuple[int, set[int], set[int]]]:
    """Events at which they differ: lines that only the library touched, and that only the model says it does.

    writes: also ~line for a line that the library writes, of which the model says that it is only read.

    Where code faults, lackey loses what it touched just before: a top of `prepared`.
    """
    tops = set() if not plan.has_guards else tops_of(plan, int(chunk.thread.max()) + 1)
    expected = predicted(plan, chunk, nodes)
    expected[0] |= STARTED | {~line for line in STARTED}
    found = []
    exited: set[int] = set()
    exit_seen: set[int] = set()
    for index, event in enumerate(observe(plan, library, chunk, folder, nodes)):
        surely = event.surely | ({~line for line in event.written} if writes else set())
        if chunk.op[index] == Op.THREAD_EXIT:  # the library's work is in the next event
            exited |= expected[index]
            exit_seen |= surely
            continue
        wanted = expected[index] | exited
        seen = surely | exit_seen | (event.may_be & wanted)
        unseen = {line for line in wanted - seen - tops if line >= 0}
        if unseen or not seen <= wanted:
            found.append((index, seen - wanted, unseen))
        exited, exit_seen = set(), set()
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("design", soon(DESIGNS, SOON, THEN), ids=lambda design: design.name)
def test_the_library_touches_the_lines_that_the_model_says(design: Design, tmp_path: Path) -> None:
    agree(design, tmp_path, (1, 1), (2, 3))


@pytest.mark.parametrize("design", soon(EACH_ROW, EACH_ROW[-1:], EACH_ROW[:-1]), ids=lambda design: design.name)
def test_lines_of_each_row(design: Design, tmp_path: Path) -> None:
    """The designs above, with all their pairs, take long."""
    agree(design, tmp_path, (2, 3))


def agree(design: Design, folder: Path, *runs: tuple[int, int]) -> None:
    """Library and model touch the same lines in random runs: of a seed, and of as many threads."""
    design = msgspec.structs.replace(design, slab_span_bytes=min(design.slab_span_bytes, SPAN_BYTES))
    library = library_of(design)
    for seed, threads in runs:
        assert differences(make_plan(design), library, events(seed, 160, threads), folder) == []


@pytest.mark.parametrize(
    "design",
    soon(DESIGNS, [], [design for design in DESIGNS if design in EACH_ROW or design.name in EXITS]),
    ids=lambda design: design.name,
)
def test_lines_of_threads_that_exit(design: Design, tmp_path: Path) -> None:
    """The traces above have hardly an exit: this one has seven. And the model says which lines are written."""
    design = msgspec.structs.replace(design, slab_span_bytes=min(design.slab_span_bytes, SPAN_BYTES))
    chunk = events(2, 160, 3, exits=0.08)
    assert np.count_nonzero(chunk.op == Op.THREAD_EXIT) == 7
    assert differences(make_plan(design), library_of(design), chunk, tmp_path, writes=True) == []


GUARDS = {"sampled": 0, "checks": 8, "hardened": 64}


@pytest.mark.parametrize("base", soon(GUARDS, [], ["sampled"]))
def test_the_lines_of_samples(base: str, tmp_path: Path) -> None:
    """Aligned and cleared ones, and those that end at a guard, are among them."""
    guards = GUARDS[base]
    sampling = {"kind": "countdown", "mean_bytes": 2000, "guards": guards}
    design = changed(load(base), f"{base}-often", {"sampling": sampling, "slab_span_bytes": SPAN_BYTES})
    library = build(design, tmp_path / "library.so")
    for seed, threads in ((1, 1), (2, 3)):
        chunk = events(seed, 160, threads)
        assert differences(make_plan(design), library, chunk, tmp_path) == []


def test_each_table_of_the_observer_is_a_variable_of_the_library() -> None:
    """A name that no library has would be left out in silence: its lines would be missed."""
    sources = *ROOT.glob("runtime/heap/**/*.[ch]"), *ROOT.glob("templates/**/*.j2")
    text = "\n".join(path.read_text() for path in sources)
    assert [
        name for name in TABLES if not re.search(rf"^[a-z}}](?:[^(\n]|\(\*)*\b{name}[\[;,]", text, re.MULTILINE)
    ] == []


@pytest.mark.thorough
@pytest.mark.parametrize("freed_blocks", ["bitmap", "list"])
def test_lines_of_a_slab_of_many_blocks(freed_blocks: str, tmp_path: Path) -> None:
    """The marks of its blocks lie on several lines: what is freed far from the slab's begin is not on the first."""
    fields = {"sizes": [16, 1024], "front": {"kind": "none"}, "slab_bytes": 16_384, "slab_span_bytes": SPAN_BYTES}
    design = changed(load("bare"), "many", {**fields, "freed_blocks": freed_blocks})
    library = library_of(design)
    births = [(Op.MALLOC, 0, number, 16, 0, 0) for number in range(1000)]
    some = (980, 70, 640, 600)
    deaths = [(Op.FREE, 0, number, 0, 0, 0) for number in some]
    again = [(Op.MALLOC, 0, number, 16, 0, 0) for number in some]
    chunk = Chunk.of(*map(list, zip(*births, *deaths, *again, strict=True)))
    assert differences(make_plan(design), library, chunk, tmp_path) == []


@pytest.mark.big
def test_lines_of_two_nodes(tmp_path: Path) -> None:
    small = {"sizes": [64, 1024, 2048], "front": {"kind": "array_stack", "capacity": 4, "refill": 2, "flush": 2}}
    design = changed(load("nodes"), "near", {**small, "thp_block_bytes": None, "slab_span_bytes": SPAN_BYTES})
    library = build(design, tmp_path / "library.so")
    chunk, plan = events(3, 400, 4), make_plan(design)
    totals = Simulator(plan, compiled=False, nodes=("0,2", "1,3"))
    totals.feed(chunk)
    kept, flushed = (sum(totals.counters().classes[name]) for name in ("transfer_in", "flushed"))
    assert 0 < kept < flushed
    assert differences(plan, library, chunk, tmp_path, ("0,2", "1,3")) == []


SUPERSLABS_GO: dict[str, Any] = {"slab_bytes": 4096, "superslab_bytes": 16_384, "unmapping": {"kind": "superslabs"}}
THEIRS = {"remote": "owner_list", "ownership": "superslab", "slab_record": {"kind": "head"}, "slab_choice": "scan"}
OF_CLASSES = {"empties": "dedicated", "classifier": "class_region", "release": {"kind": "delay"}}


@pytest.mark.big
@pytest.mark.parametrize("fields", [{}, THEIRS, OF_CLASSES], ids=["shared", "owned", "of classes"])
def test_lines_of_superslabs_that_go_and_come_back(fields: dict[str, Any], tmp_path: Path) -> None:
    chosen = {"sizes": [1024, 2048, 4096], "front": {"kind": "none"}, "slab_span_bytes": SPAN_BYTES}
    design = changed(load("unmap"), "goes", {**chosen, **SUPERSLABS_GO, **fields})
    library = build(design, tmp_path / "library.so")
    births = [[(Op.MALLOC, 0, wave * 60 + index, 1000 << wave % 3, 0, 0) for index in range(60)] for wave in range(4)]
    deaths = [[(Op.FREE, 0, row[2], 0, 0, 0) for row in wave] for wave in births]
    rows = [row for wave in zip(births, deaths, strict=True) for half in wave for row in half]
    chunk = Chunk.of(*map(list, zip(*rows, strict=True)))
    simulator = Simulator(make_plan(design), compiled=False)
    simulator.feed(chunk)
    totals = simulator.counters().totals
    assert min(totals["superslabs_unmapped"], totals["superslabs_reused"]) > 1
    assert differences(make_plan(design), library, chunk, tmp_path) == []


@pytest.mark.big
def test_a_wrong_statement_is_seen(tmp_path: Path) -> None:
    plan = make_plan(load("default"))
    library = build(plan.design, tmp_path / "library.so")
    moved = msgspec.structs.replace(plan.layout, count=plan.layout.count + 64)
    wrong = msgspec.structs.replace(plan, layout=Layout(**msgspec.structs.asdict(moved)))
    assert differences(wrong, library, events(1, 40, 1), tmp_path) != []
