"""`heapsmith record --pid`: the trace is the full one cut there, to the block; its end, and what cannot be recorded."""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from conftest import Answer
from led_elsewhere import DESIGN, STEPS, Running, is_under_way, recorded_while, running
from preloaded import PROGRAMS, library

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.policy.sampling import ready
from heapsmith.model.trace.reader import Op, TraceReader, TraceWriter
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.process_memory import ProcessMemory
from heapsmith.tools.record.record import SPOOL_VARIABLE, build_recorder
from heapsmith.tools.record.spool import Spool
from heapsmith.tools.running.record import RunningResult
from heapsmith.tools.top.view import serving

Call = Callable[..., Answer]

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="only processes of x86-64 are led elsewhere")

GUARDS, PAGE = 200, 4096
STREAMS_AT = 16
"""Where struct recording has the number of streams given out."""
BIRTHS = (Op.MALLOC, Op.CALLOC, Op.ALIGNED)


Row = tuple[int, int, int, int, int]
"""Operation, thread, block, size, log2 of the alignment."""


def events(trace: Path) -> list[Row]:
    with TraceReader(trace) as reader:
        return [
            event
            for chunk in reader
            for event in zip(*(column.tolist() for column in chunk[:5]), strict=True)
            if event[0] != Op.THREAD_START
        ]


def by_thread(of: Sequence[Row]) -> dict[int, list[Row]]:
    found: dict[int, list[Row]] = {}
    for event in of:
        found.setdefault(event[1], []).append(event)
    return found


def shape(of: Sequence[Row]) -> list[tuple[int, int, int]]:
    return [(op, size, align) for op, _, _, size, align in of]


def named(of: Sequence[Row], names: dict[int, Any], thread_names: dict[int, int]) -> dict[int, list[Any]]:
    """By thread, the blocks of its events under names that do not depend on how threads took turns.

    A block is named by the thread that made it and by how many that thread had made before; names: of earlier blocks.
    """
    of_number, made = dict(names), Counter[int]()
    found: dict[int, list[Any]] = {}
    for op, thread, block, *_ in of:
        name = thread_names[thread]
        if op in BIRTHS:
            of_number[block] = (name, made[name])
            made[name] += 1
        found.setdefault(name, []).append(of_number.get(block))
    return found


SIZES = {
    **dict.fromkeys([1001, 1002, 1003, 1004, 1005, 1006, 1007, 1008, 200_001], 0),
    **dict.fromkeys([1009, 1011, 1024, 1088, 1152], 6),
    **dict.fromkeys([1012, 8192], 12),
}
"""What each function of live_operators.cc asks for, and the log2 of the alignment."""


@pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
def test_every_function_and_operator_is_recorded(tmp_path: Path) -> None:
    program = tmp_path / "live operators"
    compile_c([PROGRAMS / "live_operators.cc"], program, flags=["-O1", "-fno-builtin"], compiler="g++")
    with running(tmp_path, 1, of=program) as at:
        at.say("step")
        found = recorded_while(at.process.pid, tmp_path / "t.hst", lambda: at.say("step"))
    assert (found.foreign_frees, found.lost_frees) == (0, 0)
    born = Counter((size, align) for op, _, _, size, align in events(tmp_path / "t.hst") if op in BIRTHS)
    assert {size: born[size, align] for size, align in SIZES.items()} == dict.fromkeys(SIZES, 100)
    assert sum(1 for op, *_ in events(tmp_path / "t.hst") if op in (Op.FREE, Op.FREE_SIZED)) == 100 * len(SIZES)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.thorough
def test_the_trace_is_the_full_trace_cut_there(threads: int, tmp_path: Path) -> None:
    """The recorder in front of the library makes the full trace, of the same calls."""
    spools = tmp_path / "spools"
    spools.mkdir()
    live_trace, full_trace = tmp_path / "live.hst", tmp_path / "full.hst"
    with running(tmp_path, threads, build_recorder(), environment={SPOOL_VARIABLE: str(spools)}) as at:
        at.say("step")
        at.say("step")
        before = at.live()

        def act() -> None:
            at.say("step")
            at.say("threads")
            at.say("step")

        found = recorded_while(at.process.pid, live_trace, act)
    (spool,) = spools.glob("*.spool")
    write_trace(spool, full_trace)
    full, live = events(full_trace), events(live_trace)
    count = found.census_blocks
    census, after = live[:count], live[count:]
    assert {event[0] for event in census} == {Op.MALLOC}
    assert (found.drops, found.foreign_frees, found.lost_frees, found.ended) == (0, 0, 0, "signal")
    usable = Counter(event[3] for event in census)
    assert not Counter(before.values()) - usable  # the others are of the C library
    cut = cut_of(full, after)
    same_blocks(full, cut, census, after)


def write_trace(spool: Path, out: Path, *, sites: bool = False) -> None:
    with (
        Spool(spool) as whole,
        TraceWriter(out, source="test", command=whole.header.argv, sites=sites) as writer,
    ):
        for chunk, site, _ in whole.chunks(1.0):
            writer.append(chunk, *([site] if sites else []))
        writer.close({"stacks": whole.tree.packed()} if sites and whole.tree else None)


def cut_of(full: list[Row], after: list[Row]) -> int:
    """Where the full trace has as many events left as the other has before its end."""
    shapes = shape(full)
    wanted = Counter(shape(after))
    for cut in range(len(full) - len(after), -1, -1):
        if Counter(shapes[cut : cut + len(after)]) == wanted:
            return cut
    raise AssertionError("the full trace has no such events in a row")


def same_blocks(full: list[Row], cut: int, census: list[Row], after: list[Row]) -> None:
    """Each thread did the same to the same blocks after the cut, and the census has the blocks that were live there."""
    live: dict[int, int] = {}
    for op, _, block, size, _ in full[:cut]:
        if op in (*BIRTHS, Op.REALLOC):
            live[block] = size
        elif op in (Op.FREE, Op.FREE_SIZED):
            del live[block]
    assert len(live) == len(census)
    rest = full[cut : cut + len(after)]
    shapes = {thread: shape(its) for thread, its in by_thread(after).items()}
    twins = {
        thread: next(other for other, its in shapes.items() if its == shape(mine))
        for thread, mine in by_thread(rest).items()
    }
    assert sorted(twins.values()) == sorted(shapes)
    of_full = named(rest, {block: ("full", block) for block in live}, twins)
    of_live = named(after, {event[2]: ("live", event[2]) for event in census}, {thread: thread for thread in shapes})
    pairs = {
        pair for thread in shapes for pair in zip(of_full[thread], of_live[thread], strict=True) if pair[0] != pair[1]
    }
    given = {event[2]: event[3] for event in census}
    assert len({one for one, _ in pairs}) == len({other for _, other in pairs}) == len(pairs)
    assert {(one[0], other[0]) for one, other in pairs} == {("full", "live")}
    assert len(pairs) > 100
    assert all(live[one[1]] <= given[other[1]] for one, other in pairs)


@pytest.mark.thorough
def test_a_cut_in_the_middle_of_calls_loses_nothing(tmp_path: Path) -> None:
    """Each block that is freed was known, and none is given out that is live.

    A second census has the blocks that the first trace ends with.
    """
    with running(tmp_path, 4) as at:
        at.say("run", "running")

        def act() -> None:
            time.sleep(0.3)
            at.say("")

        first = recorded_while(at.process.pid, tmp_path / "first.hst", act)
        second = recorded_while(at.process.pid, tmp_path / "second.hst", lambda: at.say("step"))
    for found in (first, second):
        assert (found.drops, found.foreign_frees, found.lost_frees) == (0, 0, 0)
        assert found.events > found.census_blocks + STEPS
    at_end = trace_info(tmp_path / "first.hst")
    assert at_end.live_blocks_at_end == second.census_blocks
    assert at_end.threads == 1 + 4 + 1


def test_the_ends_of_threads_are_recorded(tmp_path: Path) -> None:
    """Three threads end in each of four steps, and others take their places; the last ones may end too late."""
    with running(tmp_path, 3) as at:
        found = recorded_while(at.process.pid, tmp_path / "t.hst", lambda: list(map(at.say, 4 * ["threads"])))
    ends = Counter(thread for op, thread, *_ in events(tmp_path / "t.hst") if op == Op.THREAD_EXIT)
    assert (found.drops, found.lost_frees, set(ends.values())) == (0, 0, {1})
    assert 3 <= len(ends) <= 12


def test_what_cannot_be_written_is_counted(tmp_path: Path) -> None:
    """Of two processes that make the same events one may write files of 256 KiB at most."""

    def recorded(limit: int) -> RunningResult:
        with running(tmp_path, 1) as at:

            def act() -> None:
                resource.prlimit(at.process.pid, resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
                for _ in range(12):
                    at.say("step")

            return recorded_while(at.process.pid, tmp_path / "t.hst", act)

    whole, cut = recorded(resource.RLIM_INFINITY), recorded(256 << 10)
    assert whole.drops == 0
    assert cut.drops > STEPS
    assert cut.events + cut.drops == whole.events  # the blocks of the census are events too


def next_threads(at: Running) -> None:
    """Has each thread end, another one go on, and waits until the kernel knows the old ones no more."""
    tasks = Path(f"/proc/{at.process.pid}/task")
    main = str(at.process.pid)
    before = {task.name for task in tasks.iterdir()} - {main}
    at.say("threads")
    while before & {task.name for task in tasks.iterdir()}:
        time.sleep(0.001)


def test_threads_go_on_in_the_streams_of_threads_that_are_gone(tmp_path: Path) -> None:
    """Three threads at a time need three streams, however many come; the main thread has one."""
    with running(tmp_path, 3) as at:
        recorded_while(at.process.pid, tmp_path / "t.hst", lambda: [next_threads(at) for _ in range(4)])
        with ProcessMemory(at.process.pid) as memory:
            view = serving(memory)
            assert view is not None
            streams = memory.word(view.at["recording"] + STREAMS_AT) & 0xFFFFFFFF
    assert streams == 3 + 1


@pytest.mark.thorough
def test_guarded_samples_are_in_the_census(tmp_path: Path) -> None:
    """Each request is a sample, so that all slots have blocks; their sizes are those that the program asked for.

    Of a sample of a small request that is in no slot the census has the page.
    """
    sampling = ready.Params(on=True, mean_bytes=1, guards=GUARDS)
    design = msgspec.structs.replace(load(DESIGN), name=f"{DESIGN}-guards", sampling=sampling)
    with running(tmp_path, 1, design=design) as at:
        at.say("step")
        before = at.live()

        def act() -> None:
            for _ in range(4):
                at.say("step")

        found = recorded_while(at.process.pid, tmp_path / "t.hst", act)
    assert (found.drops, found.foreign_frees, found.lost_frees) == (0, 0, 0)
    census = events(tmp_path / "t.hst")[: found.census_blocks]
    small = load(DESIGN).sizes[-1]
    pages = {-(-bytes_ // PAGE) * PAGE for bytes_ in before.values() if bytes_ <= small}
    unknown = Counter(before.values()) - Counter(event[3] for event in census)
    assert all(bytes_ <= small for bytes_ in unknown)
    assert sum(unknown.values()) <= sum(event[3] in pages for event in census)
    assert found.events > found.census_blocks + STEPS


def beginnings(pid: int) -> list[bytes]:
    """Of the functions that a recording leads elsewhere."""
    with ProcessMemory(pid) as memory:
        view = serving(memory)
        assert view is not None
        pairs = memory.read(view.at["recorded"], 16 * view.at["RECORDED"])
        places = [int.from_bytes(pairs[at : at + 8], "little") for at in range(0, len(pairs), 16)]
        return [memory.read(place, 8) for place in places]


def test_the_command_says_what_it_recorded(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "a b.hst"
    with running(tmp_path, 1) as at:
        at.say("step")
        pid, before = at.process.pid, beginnings(at.process.pid)
        answer = call("record", "-o", out, "--pid", pid, "--seconds", "0.2s", "--json")
        assert answer.status == 0, answer.err
        found = json.loads(answer.out)
        assert (found["ended"], found["census_blocks"], found["pid"]) == ("time", found["events"] - 1, pid)
        assert beginnings(pid) == before
        at.say("step")
        answer = call("record", "-o", out, "--pid", pid, "--seconds", "0.2s")
        assert "was held for" in answer.out
    told = call("trace", "info", out).out
    assert "live at the beginning" in " ".join(told.split())


@pytest.mark.parametrize("design", [None, "default"])
def test_a_process_of_another_malloc_gets_one_line(design: str | None, call: Call, tmp_path: Path) -> None:
    with running(tmp_path, 1, design=design) as at:
        answer = call("record", "-o", tmp_path / "t.hst", "--pid", at.process.pid)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "heapsmith run sampling-ready -- CMD" in answer.err
    assert not list(tmp_path.glob("*.hst"))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--pid", "1", "--only"], "--only: is of a command"),
        (["--pid", "1", "--", "true"], "CMD: is of a command"),
        (["--seconds", "1s", "--", "true"], "--seconds: is of a process that runs"),
        (["--pid", str(2**22 + 1)], "no such process"),
    ],
)
def test_what_does_not_go_together_is_refused(words: list[str], said: str, call: Call, tmp_path: Path) -> None:
    answer = call("record", "-o", tmp_path / "t.hst", *words)
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err


@pytest.mark.thorough
def test_a_process_goes_on_without_its_recorder_and_is_recorded_again(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "heapsmith", "record", "-o", str(tmp_path / "lost.hst"), "--pid"]
    with running(tmp_path, 2) as at:
        before = beginnings(at.process.pid)
        with subprocess.Popen([*words, str(at.process.pid)]) as recorder:
            while not is_under_way(at.process.pid):
                time.sleep(0.01)
            at.say("step")
            recorder.kill()
        assert beginnings(at.process.pid) != before
        at.say("step")
        at.say("step")
        assert not is_under_way(at.process.pid)  # it saw that nobody reads
        found = recorded_while(at.process.pid, tmp_path / "t.hst", lambda: at.say("threads"))
        assert beginnings(at.process.pid) == before
    assert (found.drops, found.foreign_frees, found.lost_frees) == (0, 0, 0)
    assert found.events > found.census_blocks + STEPS


FORKS = "while read line; do (more=$line$line$line; more=$more$more; echo stopped); done"


@pytest.mark.thorough
def test_children_are_not_recorded_and_the_end_of_the_process_ends_it(tmp_path: Path) -> None:
    environment = os.environ | {"LD_PRELOAD": preloadable(library(DESIGN, checked=False))}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sh", "-c", FORKS], text=True, env=environment, **pipes) as process:  # type: ignore[call-overload]
        at = Running(process, tmp_path)
        at.say("a" * 200)

        def act() -> None:
            for length in range(1, 40):
                at.say("b" * 50 * length)
            process.stdin.close()
            process.wait()

        found = recorded_while(process.pid, tmp_path / "t.hst", act)
    assert found.ended in ("process", "signal")  # whichever is seen first
    assert (found.drops, found.foreign_frees, found.lost_frees) == (0, 0, 0)
    assert found.events > found.census_blocks + 1
    assert trace_info(tmp_path / "t.hst").threads == 2
