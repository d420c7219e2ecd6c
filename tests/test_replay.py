"""The replayer: the driver keeps the order, catches broken mallocs, and its figures are the truth."""

import json
import struct
import subprocess
from collections.abc import Callable
from importlib.resources import as_file, files
from pathlib import Path

import msgspec
import numpy as np
import pytest
from conftest import Answer
from replay_events import Event, random_events, write_trace
from traces import random_trace

from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.peers import peers
from heapsmith.tools.peers.peers import Library, find_library, replay_driver
from heapsmith.tools.replay.replay import ReplayTable, replay, replay_once
from heapsmith.tools.replay.script import EVENT, HEADER, write_script

GLIBC = Library("glibc", None)

BUMP_MALLOC = """
/* A malloc that only ever takes new memory, and the ways to break it: FAULT is one of the names below. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
enum { none, overlap, dirty_calloc, misaligned, forgetful_realloc, out_of_memory, crash, slow_birth, slow_often };
enum { eights = slow_often + 1, slow_frees };
static char arena[1 << 28] __attribute__((aligned(4096)));
static atomic_size_t top = 64, calls;
static char *take(size_t alignment, size_t n)
{
    size_t room = alignment + 16 + (FAULT == overlap && n > 64 ? n - 32 : n);
    size_t call = ++calls;
    if (FAULT == crash && call > 500) raise(SIGSEGV);
    if (FAULT == out_of_memory && call > 500) return NULL;
    if (FAULT == slow_birth && gettid() != getpid()) usleep(200);
    if (FAULT == slow_often && call % 20 == 0) usleep(50);
    char *block = arena + ((atomic_fetch_add(&top, (room + 15) / 16 * 16) + 16 + alignment - 1) & -alignment);
    if (block + n > arena + sizeof arena) return NULL;
    if (FAULT == eights && alignment == 16 && (n % 16 || n == 0)) block += 8;
    ((size_t *)block)[-1] = n;
    return block;
}
void *malloc(size_t n) { return take(16, n) + (FAULT == misaligned && n == 48 ? 8 : 0); }
void free(void *p)
{
    if (FAULT == slow_birth && p == NULL && gettid() == getpid()) abort();
    if (FAULT == slow_frees && ++calls % 20 == 0) usleep(50);
}
void *calloc(size_t m, size_t n) { return FAULT == dirty_calloc ? memset(take(16, m * n), 1, m * n) : take(16, m * n); }
int posix_memalign(void **p, size_t alignment, size_t n) { *p = take(alignment, n); return *p == NULL ? 12 : 0; }
void *aligned_alloc(size_t alignment, size_t n) { return take(alignment, n); }
void *realloc(void *old, size_t n)
{
    char *block = take(16, n);
    if (old == NULL || FAULT == forgetful_realloc) return block;
    size_t before = ((size_t *)old)[-1];
    return memcpy(block, old, before < n ? before : n);
}
"""


@pytest.fixture(scope="module")
def bump(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Library]:
    """The bump malloc, broken as named."""
    folder = tmp_path_factory.mktemp("bump")
    (folder / "bump.c").write_text(BUMP_MALLOC)

    def make(fault: str) -> Library:
        out = folder / f"{fault}.so"
        if not out.exists():
            flags = ["-O1", "-w", "-shared", "-fPIC", "-fno-builtin", f"-DFAULT={fault}"]
            compile_c([folder / "bump.c"], out, flags=flags)
        return Library(fault, out)

    return make


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A script of one thread, with blocks of 48 bytes among the others."""
    folder = tmp_path_factory.mktemp("alone")
    events = random_events(1, 1500, 1)
    events += [(Op.MALLOC, 0, 10_000 + i, 48) for i in range(9)] + [(Op.FREE, 0, 10_000 + i, 0) for i in range(9)]
    write_script(write_trace(folder / "t.hst", events), folder / "script")
    return folder / "script"


def test_sound_mallocs_pass_the_check(alone: Path, bump: Callable[[str], Library]) -> None:
    for library in (GLIBC, bump("none")):
        assert replay_once(alone, library, check=True).checked
        assert not replay_once(alone, library).checked


def test_a_block_for_no_object_of_16_bytes_may_be_aligned_to_8(tmp_path: Path, bump: Callable[[str], Library]) -> None:
    events: list[Event] = [(Op.MALLOC, 0, bytes_asked, bytes_asked) for bytes_asked in range(1, 100)]
    events += [(Op.MALLOC, 0, 1000, 0), *((Op.REALLOC, 0, name, 2 * name + 1) for name in range(1, 50))]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    assert replay_once(tmp_path / "script", bump("eights"), check=True).checked


@pytest.mark.parametrize(
    ("fault", "complaint"),
    [
        ("overlap", r"thread 0, its event \d+: contents of the block of \d+ bytes at 0x\w+ have changed near byte \d+"),
        ("dirty_calloc", r"byte 0 of the \d+ that calloc returned is not zero"),
        ("misaligned", r"the block of 48 bytes at 0x\w+8 is not aligned to 16"),
        ("forgetful_realloc", r"contents of the block of \d+ bytes at 0x\w+ have changed near byte 0"),
        ("out_of_memory", r"of \d+ bytes returned NULL"),
        ("crash", r"the replay was killed by SIGSEGV"),
    ],
)
def test_broken_mallocs_are_caught(alone: Path, bump: Callable[[str], Library], fault: str, complaint: str) -> None:
    with pytest.raises(CheckFailed, match=rf"^{fault}: .*{complaint}$|^{fault}: .*{complaint}: "):
        replay_once(alone, bump(fault), check=True)


def test_a_block_overwritten_is_seen_when_it_is_freed(tmp_path: Path, bump: Callable[[str], Library]) -> None:
    events: list[Event] = [(Op.MALLOC, 0, name, 96) for name in range(1, 11)]
    events += [(op, 0, name, 0) for op, name in zip([Op.FREE, Op.FREE_SIZED] * 5, range(1, 11), strict=True)]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    with pytest.raises(CheckFailed, match=r"its event 10: contents of the block of 96 bytes .* near byte 88"):
        replay_once(tmp_path / "script", bump("overlap"), check=True)
    replay_once(tmp_path / "script", bump("none"), check=True)


def test_all_threads_and_blocks_survive_the_check(tmp_path: Path) -> None:
    write_script(write_trace(tmp_path / "t.hst", random_events(3, 40_000, 4, live=500, sizes=100)), tmp_path / "script")
    replayed = replay_once(tmp_path / "script", GLIBC, check=True)
    assert (replayed.operations, replayed.threads) == (40_000, 4)


@pytest.mark.parametrize(("threads", "cross_thread"), [(1, 0.0), (3, 0.0), (5, 0.4)])
def test_random_traces_survive_the_check(tmp_path: Path, threads: int, cross_thread: float) -> None:
    """Sizes of 0, alignments to 4096, threads that end in the middle and blocks they leave to others."""
    trace = random_trace(tmp_path / "t.hst", 100_000, 11, threads, cross_thread=cross_thread, max_size=1000)
    facts = write_script(trace, tmp_path / "script")
    replayed = replay_once(tmp_path / "script", GLIBC, check=True)
    assert facts.operations == replayed.operations == 100_000 - 2 * (threads - 1)
    assert replayed.threads == threads


def handed_over(count: int) -> list[Event]:
    """Blocks born in thread 1 and freed in thread 0."""
    return [
        event
        for name in range(1, count)
        for event in ((Op.MALLOC, 1 if name > 1 else 0, name, 64), (Op.FREE, 0, name, 0))
    ]


def test_a_free_waits_for_the_birth_in_another_thread(tmp_path: Path, bump: Callable[[str], Library]) -> None:
    """A birth sleeps for 200 us. Who waits for it spins, which is no CPU time. Without the wait, free(NULL) aborts."""
    script = tmp_path / "script"
    write_script(write_trace(tmp_path / "t.hst", handed_over(300)), script)
    replayed = replay_once(script, bump("slow_birth"))
    assert replayed.stalls > 10
    assert replayed.cpu_ns < replayed.wall_ns / 4
    data = bytearray(script.read_bytes())
    header = np.frombuffer(data, HEADER, 1)[0]
    np.frombuffer(data, EVENT, int(header["events"]), HEADER.itemsize)["after"][:] = 0
    script.write_bytes(data)
    with pytest.raises(CheckFailed, match="slow_birth: the replay was killed by SIGABRT"):
        replay_once(script, bump("slow_birth"))


def test_rss_is_that_of_the_blocks(tmp_path: Path) -> None:
    block, mib = 256 << 10, 1 << 20
    events: list[Event] = [(Op.MALLOC, 0, name, block) for name in range(1, 257)]
    events += [(Op.FREE, 0, name, 0) for name in range(1, 257)]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    touched = replay_once(tmp_path / "script", GLIBC)
    assert 64 * mib <= touched.peak_live_rss_bytes <= touched.peak_rss_bytes < 67 * mib
    assert touched.end_rss_bytes < 3 * mib  # glibc unmaps blocks of this size
    assert touched.minor_faults >= 64 * mib // 4096
    part = replay_once(tmp_path / "script", GLIBC, touched=(256, 1024, 1024, 1024))
    assert 16 * mib <= part.peak_live_rss_bytes < 19 * mib
    for policy, most in (("first", 5 * mib), ("none", 3 * mib)):
        command = [replay_driver(), tmp_path / "script", "--touch", policy]
        assert json.loads(subprocess.run(command, capture_output=True, check=True).stdout)["peak_rss_bytes"] < most


def test_the_peak_of_rss_need_not_be_that_of_live_bytes(tmp_path: Path) -> None:
    """Blocks of 1,100 bytes at multiples of 4096 take a page each; glibc gives the pages back when all are free."""
    events: list[Event] = [(Op.MALLOC, 0, 1, 3_000_000), (Op.FREE, 0, 1, 0)]
    events += [(Op.ALIGNED, 0, name, 1100) for name in range(2, 2048)]
    events += [(Op.FREE, 0, name, 0) for name in range(2, 2048)]
    write_script(write_trace(tmp_path / "t.hst", events, align_log2=12), tmp_path / "script")
    replayed = replay_once(tmp_path / "script", GLIBC)
    assert replayed.peak_rss_bytes > 2000 * 4096
    assert 3_000_000 < replayed.peak_live_rss_bytes < 4_000_000
    assert replayed.end_rss_bytes < 1 << 20


def test_a_peak_between_two_samples_is_seen(tmp_path: Path) -> None:
    """15 MiB are resident between two samples; of the 64 MiB that are live later, nothing is touched."""
    mib = 1 << 20
    small: list[Event] = [(Op.MALLOC, 0, 1, 24), (Op.FREE, 0, 1, 0)]
    events = 40 * small
    events += [(Op.MALLOC, 0, name, 3 * mib) for name in range(1, 6)]
    events += [(Op.FREE, 0, name, 0) for name in range(1, 6)]
    events += [(Op.MALLOC, 0, 1, 64 * mib), (Op.FREE, 0, 1, 0), *(40 * small)]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    replayed = replay_once(tmp_path / "script", GLIBC, touched=(1024, 1024, 0, 0))
    assert replayed.peak_live_rss_bytes < 2 * mib
    few = 512 << 10  # pages of files that came after the peak
    assert 15 * mib - few <= replayed.peak_rss_bytes < 17 * mib


def test_the_script_and_the_tables_are_in_no_figure(tmp_path: Path) -> None:
    events: list[Event] = [(Op.MALLOC, 0, name, 16) for name in range(1, 40_001)]
    events += [(Op.FREE, 0, name, 0) for name in range(1, 40_001)]
    events += [event for _ in range(60_000) for event in ((Op.MALLOC, 0, 1, 16), (Op.FREE, 0, 1, 0))]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    assert (tmp_path / "script").stat().st_size > 3 << 20  # and the driver's table has 960,000 bytes
    replayed = replay_once(tmp_path / "script", GLIBC)
    assert replayed.start_rss_bytes < 300_000
    assert 40_000 * 32 <= replayed.peak_rss_bytes < 40_000 * 32 + 500_000  # glibc's chunks of 32 bytes
    assert replayed.minor_faults < 40_000 * 32 / 4096 + 100


def test_no_quantile_of_few_operations_is_above_the_worst(tmp_path: Path) -> None:
    events: list[Event] = [(Op.MALLOC, 0, name, 300_000 * name) for name in range(1, 9)]
    write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    several = [replay_once(tmp_path / "script", GLIBC, latency=True).latency_ns for _ in range(20)]
    assert all(one is not None and one.p99 <= one.p999 <= one.worst for one in several)


def test_stamped_operations_tell_the_slow_ones(alone: Path, bump: Callable[[str], Library]) -> None:
    several = [replay_once(alone, bump("slow_often"), latency=True) for _ in range(5)]  # others may interrupt frees
    assert min(one.free_ns.p99 for one in several if one.free_ns) < 50_000
    assert min(one.malloc_ns.p99 for one in several if one.malloc_ns) >= 50_000
    assert (found := several[0].latency_ns) is not None
    assert found.p50 < 50_000 <= found.p99 <= found.p999 <= found.worst  # one call in twenty sleeps for 50 us
    assert min(found.stamp, found.step) > 0
    assert replay_once(alone, bump("none")).latency_ns is None


def test_the_latency_of_all_has_that_of_frees(alone: Path, bump: Callable[[str], Library]) -> None:
    several = [replay_once(alone, bump("slow_frees"), latency=True) for _ in range(5)]  # others may interrupt mallocs
    assert min(one.malloc_ns.p99 for one in several if one.malloc_ns) < 50_000
    assert min(one.free_ns.p99 for one in several if one.free_ns) >= 50_000
    assert min(one.latency_ns.p999 for one in several if one.latency_ns) >= 50_000


QUANTILES = """
#include "latency.h"
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    static struct latency one, sum;
    for (int i = 1; i < argc; i++)
        one.count[latency_bucket(strtoull(argv[i], NULL, 10))]++;
    latency_merge(&sum, &one);
    for (int share = 0; share <= 100; share += 10)
        printf("%f ", latency_quantile(&sum, share / 100.0, 0));
}
"""


def test_quantiles_of_the_histogram_are_those_of_the_values(tmp_path: Path) -> None:
    values = np.sort(np.exp(np.random.default_rng(1).uniform(0, 40, 1001)).astype(np.uint64))
    (tmp_path / "quantiles.c").write_text(QUANTILES)
    with as_file(files("heapsmith.runtime") / "replay") as folder:
        sources = [tmp_path / "quantiles.c", folder / "latency.c"]
        compile_c(sources, tmp_path / "quantiles", flags=["-O1", f"-I{folder}", f"-I{HEAP}"])
    shown = subprocess.run([tmp_path / "quantiles", *map(str, values)], check=True, capture_output=True, text=True)
    assert [float(word) for word in shown.stdout.split()] == pytest.approx(
        np.quantile(values, np.linspace(0, 1, 11), method="inverted_cdf").astype(float), rel=1 / 128
    )


def test_a_script_larger_than_memory_comes_and_goes_in_windows(tmp_path: Path) -> None:
    pairs = 150_000
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        zeros = np.zeros(2 * pairs, np.uint8)
        ops, sizes = np.tile([Op.MALLOC, Op.FREE], pairs), np.tile([32, 0], pairs)
        writer.append(Chunk.of(ops, zeros, zeros, sizes, zeros, np.arange(2 * pairs)))
    write_script(tmp_path / "t.hst", tmp_path / "script")
    whole = replay_once(tmp_path / "script", GLIBC)
    command = [replay_driver(), tmp_path / "script", "--resident", "1000"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    windows = msgspec.json.decode(shown, type=type(whole))
    assert windows.operations == whole.operations == 2 * pairs
    assert whole.minor_faults < 40
    assert windows.minor_faults < whole.minor_faults + 20  # of the script's 1,172 pages none is counted


def test_the_drivers_bad_input(alone: Path, tmp_path: Path) -> None:
    def said(*arguments: str) -> tuple[int, str]:
        done = subprocess.run([replay_driver(), *arguments], check=False, capture_output=True, text=True)
        return done.returncode, done.stderr

    cut = tmp_path / "cut"
    cut.write_bytes(alone.read_bytes()[:-1])
    assert said(str(cut)) == (2, f"replay: {cut}: not a whole replay script of version 5\n")
    cut.write_bytes(b"HSREPLAY")
    assert said(str(cut)) == (2, f"replay: {cut}: 8 bytes hold no script header\n")
    whole = alone.read_bytes()
    for position, moment in ((0, 0), (1, 256)):
        cut.write_bytes(whole[:-16] + struct.pack("<QII", position, moment, 1))
        assert said(str(cut)) == (2, f"replay: {cut}: the samples are not those of its streams\n")
    assert said(str(tmp_path / "none")) == (2, f"replay: {tmp_path}/none: No such file or directory\n")
    assert said(str(alone), "--touch", "some") == (2, "replay: --touch wants none, first or all, not 'some'\n")
    assert said(str(alone), "--touched", "0,1024,1025,0") == (2, "replay: --touched: 1025 is above 1024\n")
    assert said(str(alone), "--touched", "1,2,3") == (
        2,
        "replay: --touched wants four numbers of 1,024, as 1024,1024,512,0, not '1,2,3'\n",
    )
    assert said(str(alone), "--stalls") == (2, "replay: unknown argument '--stalls'\n")
    assert said()[0] == 2


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_trace(tmp_path_factory.mktemp("trace") / "t.hst", random_events(5, 20_000, 1, live=300, sizes=100))


def test_replay_compares_libraries(trace: Path, bump: Callable[[str], Library]) -> None:
    seen: list[tuple[str, int, int]] = []
    path = str(bump("none").path)
    table = replay(trace, ["glibc", path], stop=Stop(3), check=True, progress=lambda *step: seen.append(step))
    assert (table.operations, table.threads, table.rounds, table.ended) == (20_000, 1, 3, "rounds")
    first, second = table.rows
    assert (first.library, first.path, second.library, second.path) == ("glibc", None, "none.so", path)
    assert first.time_ratio == first.rss_ratio == first.average_ratio == Ratio(1.0, 1.0, 1.0)
    assert second.rss_ratio.median > 3  # it never takes a freed block again
    assert second.peak_rss_bytes.median > first.peak_rss_bytes.median > table.peak_live_bytes
    assert first.checked
    assert 0 < first.ns_per_op.minimum <= first.ns_per_op.median
    replays = [what.removeprefix("replay under ") for what, *_ in seen if what.startswith("replay under")]
    assert replays[:2] == ["glibc", "none.so"]
    assert sorted(replays) == ["glibc"] * 4 + ["none.so"] * 4
    as_json = json.loads(msgspec.json.encode(table))
    assert msgspec.convert(as_json, ReplayTable) == table


def test_the_command_stamps_operations(trace: Path, call: Callable[..., Answer]) -> None:
    command = ("replay", trace, "--lib", "glibc", "--rounds", 2, "--latency")
    row = msgspec.json.decode(call(*command, "--json").out, type=ReplayTable).rows[0]
    assert row.latency_ns is not None
    assert 0 < row.latency_ns.p50.median <= row.latency_ns.p99.median <= row.latency_ns.p999.median
    assert row.latency_ns.worst.minimum >= row.latency_ns.p999.minimum
    assert "p99.9" in call(*command).out
    assert "p99.9" not in call(*command[:-1]).out


def test_replay_refuses_what_it_cannot_do(trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "text.so").write_text("no library\n")
    (tmp_path / "empty.c").write_text("int nothing_of_malloc;\n")
    compile_c([tmp_path / "empty.c"], tmp_path / "empty.so", flags=["-shared", "-fPIC"])
    (tmp_path / "a b.so").write_text("")
    for libs, complaint in [
        ([], "no library named"),
        (["glib"], "did you mean glibc"),
        (["defalt"], "did you mean default"),
        (["nosuch/lib.so"], "nosuch/lib.so: no such library"),
        (["glibc", "glibc"], "glibc: named twice"),
        ([str(tmp_path / "text.so")], r"text.so: cannot stand in for malloc: .*cannot be preloaded"),
        ([str(tmp_path / "empty.so")], r"empty.so: cannot stand in for malloc: it replaces no malloc"),
        ([str(tmp_path / "a b.so")], r"a b.so: cannot stand in for malloc: .*file too short"),
    ]:
        with pytest.raises(BadInput, match=complaint):
            replay(trace, libs, stop=Stop(1))
    with pytest.raises(BadInput, match="rounds: expected at least 1, not 0"):
        replay(trace, ["glibc"], stop=Stop(0))
    with pytest.raises(BadInput, match=r"missing\.hst"):
        replay(tmp_path / "missing.hst", ["glibc"], stop=Stop(1))
    monkeypatch.setattr(peers, "FOLDERS", (tmp_path,))
    monkeypatch.setattr(peers, "_linker_cache", tuple)
    monkeypatch.setattr(peers, "built_folder", lambda: tmp_path / "peers")
    with pytest.raises(BadInput, match=r"rpmalloc is not installed: librpmallocwrap.so\*, .* nor in "):
        find_library("rpmalloc")
    (tmp_path / "librpmallocwrap.so.1").write_text("")
    assert find_library("rpmalloc").path == tmp_path / "librpmallocwrap.so.1"


def test_an_empty_trace(tmp_path: Path) -> None:
    table = replay(write_trace(tmp_path / "t.hst", []), ["glibc"], stop=Stop(1))
    assert (table.operations, table.peak_live_bytes, table.threads) == (0, 0, 1)
