"""The recorder on small programs, one hazard each, and on real ones: every event there, none twice, none lost."""

import os
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import BadInput
from heapsmith.model.trace.reader import Op, TraceReader, verify
from heapsmith.tools.record.record import Processes, RecordResult, build_recorder, record
from heapsmith.tools.record.spool_merge import UNIT_WORDS
from heapsmith.tools.record.unseen import RecordedTrace

PROGRAMS = Path(__file__).parent / "programs"
M, C, R, A, F, FS = Op.MALLOC, Op.CALLOC, Op.REALLOC, Op.ALIGNED, Op.FREE, Op.FREE_SIZED

Event = tuple[Op, int, int, int]
"""Operation, thread, size, log2 of the alignment."""

Program = Callable[..., list[str]]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Program:
    """Compiles tests/programs/rec_<name>.c and gives the command that runs it."""
    folder = tmp_path_factory.mktemp("programs")

    def command(name: str, *arguments: str) -> list[str]:
        built = folder / name
        if not built.exists():
            compile_c([PROGRAMS / f"rec_{name}.c"], built, flags=("-O1", "-fno-builtin", "-pthread"))
        return [str(built), *arguments]

    return command


def sound(result: RecordResult, *, foreign: bool = False) -> RecordResult:
    """The result, if every trace verifies and nothing was lost."""
    for trace in result.traces:
        assert verify(trace.path).events == trace.events
        assert (trace.drops, trace.lost_frees, trace.nested) == (0, 0, 0)
        assert foreign or trace.foreign_frees == 0
    return result


def stories(trace: RecordedTrace, sizes: range) -> list[list[Event]]:
    """Of every block born with one of `sizes`, its events, in the order of births."""
    born: list[list[Event]] = []
    live: dict[int, list[Event]] = {}
    with TraceReader(trace.path) as reader:
        for chunk in reader:
            for op, thread, block, size, align, *_ in zip(*(column.tolist() for column in chunk), strict=True):
                if op in (M, C, A):
                    live.pop(block, None)
                    if size in sizes:
                        live[block] = []
                        born.append(live[block])
                if op < Op.THREAD_START and block in live:
                    live[block].append((Op(op), thread, size, align))
    return born


def births(trace: RecordedTrace, sizes: range) -> dict[int, int]:
    """How many blocks were born with each of `sizes`."""
    return dict(Counter(story[0][2] for story in stories(trace, sizes)))


def thread_events(trace: RecordedTrace) -> list[tuple[int, int]]:
    """(operation, thread) of all events."""
    with TraceReader(trace.path) as reader:
        return [pair for chunk in reader for pair in zip(chunk.op.tolist(), chunk.thread.tolist(), strict=True)]


def test_blocks_handed_to_another_thread(program: Program, tmp_path: Path) -> None:
    (trace,) = sound(record(program("threads"), tmp_path / "t.hst")).traces
    found = stories(trace, range(5001, 5005))
    assert len(found) == 4000
    assert all([event[0] for event in story] == [M, F] for story in found)
    makers = {(story[0][2], story[0][1]) for story in found}
    (consumer,) = {story[1][1] for story in found}
    assert len(makers) == 4
    assert len({thread for _, thread in makers} | {consumer, 0}) == 6
    counts = Counter(op for op, _ in thread_events(trace))
    assert (counts[Op.THREAD_START], counts[Op.THREAD_EXIT]) == (6, 5)


def test_addresses_in_contention(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0:glibc.malloc.arena_max=1")
    done = tmp_path / "done"
    (trace,) = sound(record(program("contention", str(done)), tmp_path / "t.hst")).traces
    found = stories(trace, range(1040, 1240))
    counts = Counter(event[0] for story in found for event in story)
    assert [counts[M], counts[R], counts[F]] == [int(number) for number in done.read_text().split()]
    assert all([event[0] for event in story] in ([M], [M, F], [M, R, F]) for story in found)


def test_children_have_their_own_traces(program: Program, tmp_path: Path) -> None:
    result = sound(record(program("fork"), tmp_path / "t.hst"), foreign=True)
    assert [births(trace, range(6000, 6007)) for trace in result.traces] == [
        {6000: 1, 6001: 100, 6003: 100, 6005: 100, 6006: 100},
        {6002: 100},
        {6004: 100},
    ]
    parent, *children = result.traces
    assert [child.parent_pid for child in children] == [parent.pid, parent.pid]
    assert [trace.foreign_frees for trace in result.traces] == [0, 1, 0]
    assert {Path(child.path).name for child in children} == {f"t.{child.pid}.0.hst" for child in children}


def test_a_child_without_an_event_has_no_trace(program: Program, tmp_path: Path) -> None:
    result = sound(record(program("idle_child"), tmp_path / "t.hst"))
    assert [births(trace, range(6200, 6202)) for trace in result.traces] == [{6200: 1}, {6201: 1}]
    assert result.warnings() == []


def test_exec_is_followed(program: Program, tmp_path: Path) -> None:
    result = sound(record(program("exec"), tmp_path / "t.hst"))
    assert result.exit_status == 7
    images = sorted(result.traces, key=lambda trace: trace.sequence)
    assert [births(image, range(6100, 6103)) for image in images] == [{6102: 3}, {6101: 2}, {6100: 1}]
    assert len({image.pid for image in images}) == 1
    assert images[1].program == [*program("exec"), "1"]
    assert [TraceReader(image.path).footer.extra["exit_status"] for image in images] == [None, None, 7]


@pytest.mark.parametrize(
    ("how", "status"), [("return", 0), ("_exit", 3), ("kill", 128 + signal.SIGKILL), ("abort", 128 + signal.SIGABRT)]
)
def test_every_end_keeps_what_was_recorded(program: Program, tmp_path: Path, how: str, status: int) -> None:
    result = sound(record(program("end", how), tmp_path / "t.hst"))
    assert result.exit_status == status
    assert births(result.traces[0], range(6200, 6202)) == {6200: 100_000, 6201: 1}
    assert TraceReader(result.traces[0].path).footer.extra["exit_status"] == status


def test_events_after_a_threads_end(program: Program, tmp_path: Path) -> None:
    (trace,) = sound(record(program("destructors"), tmp_path / "t.hst")).traces
    assert births(trace, range(6300, 6303)) == {6300: 5, 6301: 1, 6302: 1}  # 4 rounds of destructors
    of_thread = [op for op, thread in thread_events(trace) if thread == 1]
    assert of_thread[0] == Op.THREAD_START
    assert {M, F} <= set(of_thread[of_thread.index(Op.THREAD_EXIT) :])


def test_events_before_main(program: Program, tmp_path: Path) -> None:
    result = sound(record(program("early"), tmp_path / "t.hst"))
    assert result.exit_status == 0
    assert [[event[0] for event in story] for story in stories(result.traces[0], range(6401, 6412))] == [
        [C, F],
        [M, F],
        [M, F],
        [M, F],
    ]


def test_whole_family(program: Program, tmp_path: Path) -> None:
    result = sound(record(program("family"), tmp_path / "t.hst"))
    assert result.exit_status == 0
    found = [story for story in stories(result.traces[0], range(1 << 20)) if story[0][2] in {0, 8192, 70015, *MARKED}]
    assert [[(op, size, align) for op, _, size, align in story] for story in found] == FAMILY


FAMILY = [
    [(M, 6501, 0), (F, 0, 0)],
    [(C, 6501, 0), (F, 0, 0)],
    [(M, 6503, 0), (R, 6504, 0), (F, 0, 0)],
    [(M, 6505, 0), (R, 300000, 0), (R, 6506, 0), (F, 0, 0)],
    [(M, 6507, 0), (F, 0, 0)],
    [(M, 6508, 0), (F, 0, 0)],
    [(M, 6510, 0), (F, 0, 0)],
    [(A, 6511, 8), (F, 0, 0)],
    [(A, 8192, 12), (F, 0, 0)],
    [(A, 6512, 5), (F, 0, 0)],
    [(A, 6513, 12), (F, 0, 0)],
    [(A, 8192, 12), (F, 0, 0)],
    [(M, 0, 0), (F, 0, 0)],
    [(M, 6514, 0), (FS, 6514, 0)],
    [(M, 70015, 0), (FS, 70015, 0)],
    [(A, 6528, 7), (FS, 6528, 7)],
    [(M, 6520, 0), (F, 0, 0)],
    [(M, 6521, 0), (F, 0, 0)],
    [(C, 6522, 0), (R, 6523, 0), (F, 0, 0)],
    [(A, 6524, 6), (F, 0, 0)],
    [(A, 6525, 12), (F, 0, 0)],
    [(A, 8192, 12), (F, 0, 0)],
    [(A, 6529, 6), (F, 0, 0)],
    [(M, 6519, 0), (F, 0, 0)],
]
MARKED = range(6501, 6530)


def test_closed_descriptors_and_another_directory(program: Program, tmp_path: Path) -> None:
    result = sound(record(program("descriptors"), Path(os.path.relpath(tmp_path / "t.hst"))))
    assert result.exit_status == 0
    assert births(result.traces[0], range(6600, 6601)) == {6600: 100_000}


def test_what_cannot_be_written_is_counted(program: Program, tmp_path: Path) -> None:
    result = record(program("descriptors", "limit"), tmp_path / "t.hst")
    (trace,) = result.traces
    assert result.exit_status == 0
    assert verify(trace.path).events == trace.events
    found = stories(trace, range(6600, 6601))
    recorded = sum(map(len, found)) - trace.lost_frees + trace.foreign_frees
    assert 20_000 < recorded < 65_536  # 512 KiB of records of 8 bytes or more
    assert recorded + trace.drops == pytest.approx(200_000, abs=10)


def test_short_threads_share_streams(program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # the spool stays
    (trace,) = sound(record(program("short_threads"), tmp_path / "t.hst")).traces
    found = stories(trace, range(6700, 6701))
    assert sorted(story[0][1] for story in found) == list(range(1, 2001))
    assert all([event[0] for event in story] == [M, F] for story in found)
    beside = Counter(story[0][1] for story in stories(trace, range(6701, 6702)))
    assert sorted(beside.items()) == [(thread, 1000) for thread in range(2001, 2009)]
    assert Counter(op for op, _ in thread_events(trace))[Op.THREAD_EXIT] == 2008
    (spool,) = tmp_path.glob(".t.hst.*.spool/*")
    assert spool.stat().st_size < 50 * 8 * UNIT_WORDS


def test_handlers_that_allocate(program: Program, tmp_path: Path) -> None:
    (trace,) = sound(record(program("signals"), tmp_path / "t.hst")).traces
    found = births(trace, range(6800, 6802))
    assert found[6800] == 1000
    assert found[6801] >= 1


def test_a_malloc_of_the_programs_own(tmp_path: Path) -> None:
    library = compile_c(
        [PROGRAMS / "rec_own_malloc.c"], tmp_path / "libown.so", flags=("-O1", "-fno-builtin", "-shared", "-fPIC")
    )
    main = compile_c([PROGRAMS / "rec_own_main.c", library], tmp_path / "main", flags=("-O1", "-fno-builtin"))
    result = record([str(main)], tmp_path / "t.hst")
    assert result.exit_status == 0
    (trace,) = result.traces
    assert (trace.drops, trace.foreign_frees, trace.lost_frees) == (0, 0, 0)
    found = stories(trace, range(6901, 6906))
    assert [[(event[0], event[2]) for event in story] for story in found] == [
        [(M, 6901), (F, 0)],
        [(C, 6902), (F, 0)],
        [(M, 6903), (R, 6904), (F, 0)],
        [(M, 6905), (F, 0)],
    ]
    assert trace.nested == 3  # its calloc and reallocs


def test_operator_new(tmp_path: Path) -> None:
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("g++ is not installed")
    built = tmp_path / "new"
    subprocess.run([compiler, "-std=c++17", "-o", built, PROGRAMS / "rec_new.cc"], check=True)
    (trace,) = sound(record([str(built)], tmp_path / "t.hst")).traces
    found = [[(event[0], event[2], event[3]) for event in story] for story in stories(trace, range(1024, 7004))]
    for expected in ([(M, 7001, 0), (F, 0, 0)], [(M, 7002, 0), (F, 0, 0)], [(M, 7003, 0), (F, 0, 0)]):
        assert found.count(expected) == 1
    assert [(A, 1024, 9), (F, 0, 0)] in found


def test_times_and_cost(program: Program, tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def see(_: str, done: int, total: int) -> None:
        seen.append((done, total))

    result = record(program("end", "return"), tmp_path / "t.hst", progress=see)
    extra = TraceReader(result.traces[0].path).footer.extra
    with TraceReader(result.traces[0].path) as reader:
        last_ns = [int(chunk.time_ns[-1]) for chunk in reader][-1]
    assert 0 < extra["start_ns"] < extra["start_ns"] + last_ns < result.wall_ns
    assert 0 < result.record_ns < 1000
    assert extra["cost"]["records"] >= 200_001
    assert 0 < extra["cost"]["spool_ns"] < result.wall_ns
    assert seen == sorted(seen)
    assert seen[-1][0] > 0.99 * seen[-1][1]


def test_quick_events_share_times_and_pauses_are_seen(program: Program, tmp_path: Path) -> None:
    """A pause moves at most three times the events that came fast before it, and never a large block's birth or end."""
    (trace,) = sound(record(program("pauses"), tmp_path / "t.hst")).traces
    with TraceReader(trace.path) as reader:
        columns = [np.concatenate(parts) for parts in zip(*reader, strict=True)]
    op, size, time_ns = columns[0], columns[3], columns[5]
    pause_ns = 1_990_000
    quick = time_ns[(op == M) & (size == 40)].reshape(20, 300)
    assert np.unique(quick).size < quick.size // 4
    assert all(times[100] >= pause_ns * before for before, times in enumerate(quick))
    large = np.flatnonzero(size == 100_000)[-20:]
    assert (op[large + 1] == F).all()
    assert (time_ns[large + 1] - time_ns[large] >= pause_ns).all()
    few = time_ns[(op == M) & (size == 48)].reshape(20, 10)
    assert (few[3:, -1] - few[:-3, -1] >= pause_ns).all()


def test_only_the_heaviest_image(program: Program, tmp_path: Path) -> None:
    result = record(program("fork"), tmp_path / "t.hst", processes=Processes(all=False))
    assert [births(trace, range(6000, 6007))[6001] for trace in result.traces] == [100]
    assert [path.name for path in tmp_path.iterdir()] == ["t.hst"]


REAL = {
    "true": ["true"],
    "sort": ["sort", __file__],
    "perl": ["perl", "-e", "my %h; $h{$_ * 7919 % 1009} .= 'x' for 1..30000; print scalar keys %h"],
    "git": ["git", "--version"],
    "python": [sys.executable, "-c", "import json; print(len(json.dumps([{str(i): i} for i in range(9999)])))"],
}


@pytest.mark.parametrize("name", REAL)
def test_real_programs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which(REAL[name][0]) is None:
        pytest.skip(f"{name} is not installed")
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    assert sound(record(REAL[name], tmp_path / "t.hst")).exit_status == 0


def test_the_compiler_proper_is_the_main_trace(tmp_path: Path) -> None:
    source = PROGRAMS / "rec_family.c"
    result = sound(
        record(["gcc", "-O2", "-c", str(source), "-o", str(tmp_path / "x.o")], tmp_path / "t.hst"), foreign=True
    )
    assert result.exit_status == 0
    assert (tmp_path / "x.o").exists()
    assert "cc1" in result.traces[0].program[0]
    assert {"as", "gcc"} <= {Path(trace.program[0]).name for trace in result.traces}


def test_bad_input(tmp_path: Path, program: Program) -> None:
    (tmp_path / "text").write_text("not a program")
    out = tmp_path / "t.hst"
    for command in (["no-such-command-here"], [str(tmp_path / "text")], [str(tmp_path)], []):
        with pytest.raises(BadInput, match=r"no such command|CMD"):
            record(command, out)
    (tmp_path / "text").chmod(0o755)
    with pytest.raises(BadInput, match="cannot be executed"):
        record([str(tmp_path / "text")], out)
    with pytest.raises(BadInput, match="cannot write the trace"):
        record(["true"], tmp_path / "missing" / "t.hst")
    with pytest.raises(BadInput, match="it is a directory"):
        record(["true"], tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["text"]


def test_library_is_built_once() -> None:
    first = build_recorder()
    made = first.stat().st_mtime_ns
    assert build_recorder() == first
    assert first.stat().st_mtime_ns == made


def test_samples_of_memory_are_a_millisecond_apart(tmp_path: Path) -> None:
    """Large blocks are a moment to look, of which a busy program has hundreds in a millisecond."""
    out = tmp_path / "t.hst"
    sound(record([sys.executable, "-I", "-c", "for _ in range(5000): bytearray(1 << 20)"], out))
    with TraceReader(out) as reader:
        samples = reader.footer.samples
    assert samples is not None
    times = [time_ns for time_ns, _ in samples.resident]
    assert 0 < len(times) < 4 + (times[-1] - times[0]) / 700_000  # 2^22 ticks of 6 GHz


def test_samples_of_memory_and_time(program: Program, tmp_path: Path) -> None:
    """Pages of large blocks that were touched before they died or grew, the process's bytes, the threads' time."""
    out = tmp_path / "t.hst"
    sound(record(program("touched"), out))
    with TraceReader(out) as reader:
        samples = reader.footer.samples
    assert samples is not None
    pages = {row.bytes: (row.blocks, row.pages, row.touched) for row in samples.touched}
    # A block of 4 MiB, page header and all, is 1,024 whole pages of a mapping; a quarter of one and all of the other
    # were touched; of 8 MiB one half. The first page of a quarter belongs to the block's header.
    assert [(blocks, of) for blocks, of, _ in pages.values()] == [(2, 2048), (1, 2048)]
    assert [touched for _, _, touched in pages.values()] == pytest.approx([1024 + 256, 1024], abs=4)
    assert list(pages) == [4 << 20, 8 << 20]
    assert samples.resident_peak >= 5 << 20
    assert max(size for _, size in samples.resident) == samples.resident_peak
    working, sleeping = samples.processor
    assert working[1] >= 30_000_000
    assert sleeping[0] >= 60_000_000
    assert sleeping[1] < sleeping[0] // 2
