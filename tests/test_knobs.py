"""Are the settings of other mallocs derived from what a trace does, valid, and measured with and without them?"""

import json
import os
import re
import subprocess
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from conftest import Answer
from hypothesis import given, settings
from hypothesis import strategies as st
from preloaded import PROGRAMS
from traces import random_chunk, trace_of

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.errors import BadInput
from heapsmith.model.knobs import classes
from heapsmith.model.knobs.arena import NEVER, Arena, Thresholds, Used
from heapsmith.model.knobs.series import LiveBytes
from heapsmith.model.knobs.threads import Threads
from heapsmith.model.search.capacities import CapacityPass
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.reader import TraceWriter
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.compare.measure import Ratios, measure
from heapsmith.tools.knobs.advice import ADVISERS, advise, merged
from heapsmith.tools.knobs.knob import cached
from heapsmith.tools.knobs.measure import verdict
from heapsmith.tools.knobs.tcmalloc_classes import LARGEST, SizeClass, made, of_design, of_traces, valid_sizes
from heapsmith.tools.knobs.tcmalloc_classes import source as as_source
from heapsmith.tools.knobs.tcmalloc_classes import why_not_valid as why_not
from heapsmith.tools.peers.peers import Library

Call = Callable[..., Answer]
KIB, MIB = 1 << 10, 1 << 20


def chunk_of(*events: tuple[Op, int, int, int, int]) -> Chunk:
    """Events of op, thread, block, size and time."""
    ops, threads, blocks, sizes, times = zip(*events, strict=True)
    return Chunk.of(ops, threads, blocks, sizes, [0] * len(events), times)


def written(path: Path, chunk: Chunk) -> Path:
    with TraceWriter(path, command=["x"], source="test") as writer:
        writer.append(chunk)
    return path


def waves(count: int, rounds: int, size: int, step_ns: int = 50) -> Chunk:
    """So many blocks of a size come and go, again and again."""
    one = [(Op.MALLOC, block, size) for block in range(count)] + [(Op.FREE, b, 0) for b in reversed(range(count))]
    events = one * rounds
    return chunk_of(*((op, 0, block, asked, at * step_ns) for at, (op, block, asked) in enumerate(events)))


def used(of: Thresholds, chunk: Chunk) -> Used:
    arena = Arena(of, len(chunk.op))
    arena.feed(chunk, plain=True)
    return arena.used()


def test_a_mapped_block_raises_the_threshold() -> None:
    """The first free of 300 KiB makes it the threshold, so that the second block lies in the heap."""
    chunk = waves(1, 3, 300 * KIB)
    moving = used(Thresholds(), chunk)
    assert (moving.maps, moving.unmaps, moving.trims) == (1, 1, 0)
    assert moving.faulted == 2 * (300 * KIB + 4096) - 4096 + 16  # of the map whole pages, of the heap the chunk
    fixed = used(Thresholds(is_dynamic=False), chunk)
    assert (fixed.maps, fixed.unmaps, fixed.faulted) == (3, 3, 3 * (300 * KIB + 4096))
    assert used(Thresholds(1 << 25, NEVER, 0, is_dynamic=False), chunk).faulted == 300 * KIB + 16


def test_the_top_is_trimmed_down_to_the_pad() -> None:
    chunk = waves(8, 2, 100 * KIB)
    trimmed = used(Thresholds(1 << 25, 512 * KIB, 128 * KIB, is_dynamic=False), chunk)
    assert trimmed.trims > 0
    assert trimmed.faulted > used(Thresholds(1 << 25, NEVER, 128 * KIB, is_dynamic=False), chunk).faulted
    assert trimmed.peak == 8 * (100 * KIB + 16)


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 1000), threads=st.integers(1, 3))
def test_compiled_and_plain_agree(seed: int, threads: int) -> None:
    chunk = random_chunk(600, seed, threads, max_size=1 << 20, live=30)
    for of in (Thresholds(), Thresholds(1 << 18, 1 << 20, 1 << 16, is_dynamic=False)):
        compiled = Arena(of, len(chunk.op))
        compiled.feed(chunk)
        assert compiled.used() == used(of, chunk)


def test_delays_keep_the_most_of_their_window() -> None:
    """At most 5, 5, 5, 0, 0, 0, 0, 9, 9, 0 bytes are live in ten slices, at their ends 5, 5, 0, 0, 0, 0, 0, 9, 0, 0."""
    events = [(Op.MALLOC, 0, 0, 5, 0), (Op.FREE, 0, 0, 0, 2), (Op.MALLOC, 0, 0, 9, 7), (Op.FREE, 0, 0, 0, 8)]
    series = LiveBytes(9, 1, 1)
    series.feed(chunk_of(*events))
    assert series.slice_ns == 1
    assert series.mean() == pytest.approx(1.9)
    assert [series.kept(delay).faulted_again for delay in (1, 3, 5, None)] == [5, 5, 0, 0]
    assert series.kept(1).idle == pytest.approx((5 + 5 + 9 + 9) / 10)
    assert series.kept(None).idle == pytest.approx((5 * 5 + 9 + 9) / 10)


def test_calls_meet_within_a_microsecond() -> None:
    times = [0, 500, 1600, 2000, 9000]
    threads = Threads(3)
    threads.feed(chunk_of(*((Op.MALLOC, at % 2, at, 8, time) for at, time in enumerate(times))))
    assert (threads.meetings, threads.most_alive) == (2, 2)
    threads.feed(chunk_of((Op.THREAD_EXIT, 1, 0, 0, 9001), (Op.THREAD_START, 2, 0, 0, 9002)))
    assert threads.most_alive == 2


def test_classes_are_those_of_the_mallocs() -> None:
    shape = classes.glibc()
    of = [int(shape.size_class[(size + shape.bias + shape.grain - 1) // shape.grain]) for size in (0, 24, 25, 40, 1032)]
    assert of == [0, 0, 1, 1, 63]
    sizes = classes.jemalloc_sizes()
    assert sizes[:12] == [8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224]
    assert {14336, 16384, 32768, 8 * MIB} <= set(sizes)
    assert [classes.jemalloc_slots(size, 200) for size in (16, 48, 160, 4096, 16384)] == [200, 200, 200, 20, 20]


def tcache_misses(chunk: Chunk, count: int) -> int:
    """Allocations up to 1032 bytes that find their thread's bin empty, with lists in the place of bits."""
    bins: dict[tuple[int, int], int] = defaultdict(int)
    size_of: dict[int, int] = {}
    misses = 0
    for op, thread, block, size in zip(chunk.op, chunk.thread, chunk.block, chunk.size, strict=True):
        if op in (Op.FREE, Op.FREE_SIZED) and (index := size_of.pop(block)) < 64:
            bins[thread, index] = min(count, bins[thread, index] + 1)
        elif op < Op.REALLOC:
            size_of[block] = max(0, (int(size) + 8 + 15) // 16 - 2)
            if size_of[block] < 64:
                misses += bins[thread, size_of[block]] == 0
                bins[thread, size_of[block]] = max(0, bins[thread, size_of[block]] - 1)
    return misses


@pytest.mark.parametrize("count", [1, 7, 40])
def test_misses_are_those_of_lists(count: int) -> None:
    chunk = random_chunk(4000, 3, 2, max_size=2000, live=200, realloc=0.0, aligned=0.0, cross_thread=0.1)
    chunk = Chunk(*(column[chunk.op < Op.THREAD_START] for column in chunk))
    one = CapacityPass(classes.glibc(), 2, 2, len(chunk.op))
    one.feed(chunk)
    assert cached(one.curves(), [count] * 64, [1] * 64).misses == tcache_misses(chunk, count)


def knobs_of(trace: Path, library: str, favour: str = "balanced") -> dict[str, str]:
    (found,) = advise([trace], [library], favour, "default").advice  # type: ignore[arg-type]
    assert bool(found.knobs) == bool(found.environment) == bool(found.lines())
    return {knob.name: knob.value for knob in found.knobs}


def test_waves_of_blocks_get_room_in_the_caches(tmp_path: Path) -> None:
    trace = written(tmp_path / "waves.hst", waves(60, 400, 200))
    assert knobs_of(trace, "glibc") == {"tcache_count": "60"}
    assert knobs_of(trace, "jemalloc") == {}  # whose caches have room for 200
    pairs = written(tmp_path / "pairs.hst", waves(5, 5000, 200))
    assert all(knobs_of(pairs, library) == {} for library in ADVISERS)


def test_large_blocks_that_come_again_stay_in_the_heap(tmp_path: Path) -> None:
    """Four of 24 blocks of 2 MiB come and go: more than glibc's trim threshold, which moves to 4 MiB."""
    events = [(Op.MALLOC, at) for at in range(20)]
    events += [(op, at) for _ in range(60) for op in (Op.MALLOC, Op.FREE) for at in range(20, 24)]
    timed = ((op, 0, block, 2 * MIB if op == Op.MALLOC else 0, at * 10_000) for at, (op, block) in enumerate(events))
    trace = written(tmp_path / "large.hst", chunk_of(*timed))
    found = knobs_of(trace, "glibc", "time")
    assert set(found) == {"mmap_threshold", "trim_threshold"}
    assert int(found["mmap_threshold"]) > 2 * MIB
    assert int(found["trim_threshold"]) >= 8 * MIB
    huge = written(tmp_path / "huge.hst", waves(1, 60, 9 * MIB, step_ns=10_000))
    assert knobs_of(huge, "jemalloc")["oversize_threshold"] == "0"


def test_threads_that_take_turns_need_one_arena(tmp_path: Path) -> None:
    events = [(Op.MALLOC, at // 50 % 4, at, 5000, at * 3000) for at in range(400)]
    trace = written(tmp_path / "turns.hst", chunk_of(*events))
    assert knobs_of(trace, "glibc")["arena_max"] == "1"
    at_once = [(Op.MALLOC, at % 4, at, 5000, at * 30) for at in range(400)]
    assert "arena_max" not in knobs_of(written(tmp_path / "once.hst", chunk_of(*at_once)), "glibc")


PARKED, SIZES = 1500, (64, 256, 1000)
"""Of tests/programs/parked_threads.c, which asks for seven blocks of each size in each thread."""


@pytest.mark.thorough
def test_caches_of_parked_threads_get_less_room(tmp_path: Path) -> None:
    """And glibc's malloc then holds so much less, which the number of arenas does not change."""
    calls = [(Op.MALLOC, 0, 0, 100)]
    for thread in range(1, PARKED + 1):
        calls += [(Op.MALLOC, thread, at, SIZES[(at - 1) // 7]) for at in range(1, 22)]
        calls += [(Op.FREE, thread, at, 0) for at in reversed(range(1, 22))]
    calls += [(Op.MALLOC, 0, 1, 100), (Op.FREE, 0, 1, 0)] * 20_000
    trace = written(tmp_path / "parked.hst", chunk_of(*((*call, 1000 * at) for at, call in enumerate(calls))))
    found = knobs_of(trace, "glibc")
    assert found["tcache_count"] == "1"  # for the thread that works
    assert "tcache_count" not in knobs_of(trace, "glibc", "time")
    job = compile_c([PROGRAMS / "parked_threads.c"], tmp_path / "park", flags=("-O1", "-fno-builtin", "-pthread"))
    used = {}
    for setting in ("tcache_count=7", "tcache_count=1", "arena_max=1"):
        variables = os.environ | {"GLIBC_TUNABLES": f"glibc.malloc.{setting}"}
        used[setting] = int(subprocess.run([job], env=variables, check=True, capture_output=True).stdout)
    saved = used["tcache_count=7"] - used["tcache_count=1"]
    assert 0.8 < saved / (PARKED * 6 * sum(SIZES)) < 1.2
    assert abs(used["arena_max=1"] - used["tcache_count=7"]) < 0.1 * saved


def test_memory_that_is_seldom_needed_goes_back_sooner(tmp_path: Path) -> None:
    """64 MiB for a tenth of a second, then half a MiB for thirty seconds."""
    first = [(Op.MALLOC, 0, at, MIB, at * 1000) for at in range(64)]
    gone = [(Op.FREE, 0, at, 0, 100_000_000 + at) for at in range(64)]
    small = [(Op.MALLOC, 0, 63, 512 * KIB, 200_000_000), (Op.FREE, 0, 63, 0, 30_000_000_000)]
    trace = written(tmp_path / "burst.hst", chunk_of(*first, *gone, *small))
    assert knobs_of(trace, "jemalloc")["dirty_decay_ms"] == "100"  # the small block comes sooner
    assert knobs_of(trace, "mimalloc3")["MIMALLOC_PURGE_DELAY"] == "25"


def test_a_trace_without_times_says_what_is_missing(tmp_path: Path) -> None:
    from heapsmith.model.trace.imports.formats import import_trace

    (tmp_path / "a.rep").write_text("0\n1\n2\n1\na 0 8\nf 0\n")
    import_trace(tmp_path / "a.rep", tmp_path / "a.hst")
    found = advise([tmp_path / "a.hst"], list(ADVISERS), "balanced", "default")
    assert len(found.lacks) == 2
    assert [one.knobs for one in found.advice] == [[]] * len(ADVISERS)


def test_several_traces_count_as_one(tmp_path: Path) -> None:
    trace = written(tmp_path / "waves.hst", waves(60, 400, 200))
    other = trace_of(tmp_path / "other.hst", [8] * 10, freed=True)
    one = advise([trace, other], ["glibc"], "balanced", "default")
    assert [knob.value for knob in one.advice[0].knobs] == ["60"]
    assert one.operations == 48_000 + 20


@pytest.mark.parametrize("name", builtin_names())
def test_designs_become_valid_tables(name: str) -> None:
    table = of_design(load(name)).classes
    assert why_not(table) is None
    smallest = min(size for size in load(name).sizes if size >= 16)
    assert smallest in [one.size for one in table]


def test_a_design_with_too_many_classes_is_refused() -> None:
    design = msgspec.structs.replace(load("default"), sizes=[16 * (at + 1) for at in range(100)])
    with pytest.raises(BadInput, match="TCMalloc has room for 85"):
        of_design(design)


@settings(max_examples=5, deadline=None)
@given(seed=st.integers(0, 1000), largest=st.sampled_from([100, 5000, 1 << 20]))
def test_traces_become_valid_tables(tmp_path_factory: pytest.TempPathFactory, seed: int, largest: int) -> None:
    trace = tmp_path_factory.mktemp("t") / "t.hst"
    written(trace, random_chunk(500, seed, 1, max_size=largest, live=50))
    table = of_traces([trace])
    assert why_not(table.classes) is None
    assert table.lost <= largest / 2


def test_a_table_has_the_sizes_that_a_trace_asks_for(tmp_path: Path) -> None:
    table = of_traces([written(tmp_path / "waves.hst", waves(60, 10, 13 * 128))])
    assert 13 * 128 in [one.size for one in table.classes]
    assert table.lost == 0
    text = as_source(table.classes, "waves.hst")
    rows = re.findall(r"^    \{ *(\d+), +(\d+), +(\d+)\},", text, re.MULTILINE)
    assert [tuple(map(int, row)) for row in rows] == [(0, 0, 0)] + [
        (c.size, c.pages, c.num_to_move) for c in table.classes
    ]


@pytest.mark.parametrize(
    ("at", "row", "words"),
    [
        (0, SizeClass(24, 1, 32), "24: expected a multiple of 16"),
        (-2, SizeClass(LARGEST - 64, 32, 2), "expected a multiple of 128"),
        (0, SizeClass(16, 2, 32), "16: expected one page"),
        (-1, SizeClass(LARGEST, 31, 2), "expected 1 to 32 pages and a block"),
        (-1, SizeClass(LARGEST, 32, 1), "expected 2 to 128 blocks of a batch"),
        (-1, SizeClass(LARGEST - 128, 32, 2), "the last of 262144 bytes"),
    ],
)
def test_a_table_against_the_rules_is_noticed(at: int, row: SizeClass, words: str) -> None:
    table = [made(size) for size in (16, 1024, 4096, 65_536, LARGEST - 128, LARGEST)]
    assert why_not(table) is None
    table[at] = row
    assert words in str(why_not(table))


def test_every_size_has_a_valid_span() -> None:
    for size in valid_sizes()[::7]:
        assert why_not([made(size), made(LARGEST)] if size < LARGEST else [made(size)]) is None


def test_settings_stand_behind_those_that_are_there() -> None:
    assert merged("jemalloc", {"MALLOC_CONF": "narenas:1"}, {"MALLOC_CONF": "thp:never"}) == {
        "MALLOC_CONF": "thp:never,narenas:1"
    }
    assert merged("mimalloc", {"MIMALLOC_PURGE_DELAY": "2"}, {"MIMALLOC_PURGE_DELAY": "9"}) == {
        "MIMALLOC_PURGE_DELAY": "2"
    }


def test_only_the_row_with_settings_runs_with_them() -> None:
    def variants(library: Library) -> list[Library]:
        return [library, Library("set", None, settings={"HEAPSMITH_TEST_SETTING": "1"})]

    command = ["sh", "-c", 'test -z "$HEAPSMITH_TEST_SETTING"']
    table = measure(command, ["glibc"], stop=Stop(1), variants=variants)
    assert {row.library: row.exit_status for row in table.rows} == {"glibc": 0, "set": 1}
    assert "HEAPSMITH_TEST_SETTING" not in os.environ


def test_verdicts_follow_the_intervals() -> None:
    same, less, more = Ratio(1.0, 0.98, 1.02), Ratio(0.9, 0.88, 0.92), Ratio(1.1, 1.05, 1.2)
    assert verdict(Ratios(same, less, same, same)) == "gains nothing"
    assert verdict(Ratios(less, same, same, same)) == "gains"
    assert verdict(Ratios(same, same, more, same)) == "loses"
    assert verdict(Ratios(less, same, same, more)) == "trades"


def test_the_command_prints_lines_for_a_shell_and_measures(call: Call, tmp_path: Path) -> None:
    trace = written(tmp_path / "waves.hst", waves(60, 400, 200))
    answer = call("knobs", trace, "--lib", "glibc")
    assert answer.out.endswith("\nexport GLIBC_TUNABLES=glibc.malloc.tcache_count=60\n")
    answer = call("knobs", trace, "--lib", "glibc", "--measure", "--rounds", 1, "--json", "--", "true")
    assert answer.status == 0
    found = json.loads(answer.out)
    assert found["advised"]["advice"][0]["environment"] == {"GLIBC_TUNABLES": "glibc.malloc.tcache_count=60"}
    assert [row["library"] for row in found["measured"]["table"]["rows"]] == ["glibc", "glibc: all settings"]
    assert found["measured"]["effects"][0]["verdict"] == "gains nothing"  # a round has no interval
    answer = call("knobs", trace, "--lib", "glibc", "--measure", "--rounds", 1, "--", "true")
    assert "glibc with all settings: gains nothing: CPU " in answer.out.replace("\n", " ")
    assert "SizeClassInfo" not in answer.out
    assert "    {   262144,      32,           2}," in call("knobs", trace, "--classes").out


def test_a_command_that_fails_measures_nothing(call: Call, tmp_path: Path) -> None:
    trace = written(tmp_path / "waves.hst", waves(60, 400, 200))
    measure = ["knobs", trace, "--lib", "glibc", "--measure", "--rounds", 1, "--json", "--"]
    answer = call(*measure, "sh", "-c", "exit 3")
    assert (answer.status, answer.out) == (1, "")
    assert answer.err == "heapsmith: sh -c 'exit 3': exit status 3 under glibc; expected exit status 0\n"
    answer = call(*measure, "sh", "-c", "kill -9 $$")
    assert (answer.status, "killed by SIGKILL under glibc" in answer.err) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--lib", "rpmalloc"], "--lib rpmalloc: no settings are known of it; expected one of glibc, jemalloc"),
        (["--measure"], "--measure: expected -- CMD"),
        (["--", "true"], "--measure: expected -- CMD"),
        (["default"], "default: a design has size classes (--classes)"),
    ],
)
def test_mistakes_are_one_line(call: Call, tmp_path: Path, arguments: list[str], words: str) -> None:
    answer = call("knobs", trace_of(tmp_path / "a.hst", [8]), *arguments)
    assert (answer.status, answer.out) == (2, "")
    assert answer.err.startswith(f"heapsmith: {words}")
    assert answer.err.count("\n") == 1


def test_a_trace_without_events_is_refused(call: Call, tmp_path: Path) -> None:
    answer = call("knobs", written(tmp_path / "none.hst", Chunk.of(*[np.zeros(0)] * 6)))
    assert (answer.status, "no allocation" in answer.err) == (2, True)
