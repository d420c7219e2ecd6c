"""Sampling: which requests are samples by docs/machine-rooms.md, 'sampling', by their distribution, and in C."""

import json
import math
import subprocess
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray
from program import RUN, SMALL, Program, plain_and_compiled
from sanitized import ADDRESS_UNDEFINED, THREAD, Sanitizer, build_sanitized, run_sanitized
from test_options import run as run_with

from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.codegen.built import library_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.policy.front.array_stack import Params as Stack
from heapsmith.model.policy.front.prepared import Params as Prepared
from heapsmith.model.policy.prewarm import fronts as prewarm_fronts
from heapsmith.model.policy.sampling import common
from heapsmith.model.policy.sampling.countdown import Params
from heapsmith.model.trace.reader import Chunk, Op
from heapsmith.model.trace.writer import TraceWriter

MASK = (1 << 32) - 1
SIZES = [16, 64, 256]
STACK = Stack(capacity=8, refill=4, flush=4)
MEAN = 1000
OFTEN, SEED = 3000, 7
"""The mean and the seed of the designs that are compared on a trace."""


def mixed(x: int) -> int:
    x = (x ^ x >> 16) * 0x85EBCA6B & MASK
    x = (x ^ x >> 13) * 0xC2B2AE35 & MASK
    return x ^ x >> 16


def rotl(x: int, by: int) -> int:
    return (x << by | x >> (32 - by)) & MASK


def draws(seed: int, k: int) -> Iterator[int]:
    """The numbers that the k-th thread draws, as the page says."""
    low = mixed(seed ^ mixed(2 * k + 1))
    high = mixed(low + 2 * k + 2 & MASK) | 1
    while True:
        u = (rotl(low * 0x9E3779BB & MASK, 5) * 5 & MASK) >> 6
        high ^= low
        low, high = rotl(low, 26) ^ high ^ (high << 9 & MASK), rotl(high, 13)
        yield u + 1


def intervals(seed: int, k: int, mean: int) -> Iterator[int]:
    """Its intervals; their logarithms by the C library."""
    return (math.floor(-math.log(u / (1 << 26)) * mean) for u in draws(seed, k))


def program(compiled: bool, mean: int = MEAN, seed: int = 1) -> Program:
    return Program(compiled, SIZES, front=STACK, sampling=Params(mean_bytes=mean, seed=seed))


def is_taken(address: int) -> bool:
    """Whether a request of a small size is a sample."""
    return address >= RUN


@plain_and_compiled
def test_a_request_above_the_countdown_is_a_sample(compiled: bool) -> None:
    """Each thread by its own generator; what is no sample takes its bytes, and 0 bytes are never one."""
    case = program(compiled)
    of = [intervals(1, k, MEAN) for k in range(2)]
    until = [next(one) for one in of]
    taken = 0
    for step in range(300):
        thread, size = (0, 1)[step % 7 == 3], (0, 64, 16, 255)[step % 4]
        expected = size > until[thread]
        taken += expected
        until[thread] = next(of[thread]) if expected else until[thread] - size
        assert is_taken(case.malloc("x", size, thread)) == expected, step
        case.free("x", thread)
    assert taken > 15
    assert case.totals("sampled", "sampled_freed", "run_free") == (taken, taken, case.totals("run_free")[0])


@plain_and_compiled
def test_a_thread_that_comes_again_is_a_new_one(compiled: bool) -> None:
    case, new = program(compiled), intervals(1, 1, MEAN)
    case.malloc("a", 1)
    case.exit(0)
    until = next(new)
    for _ in range(until // 50):
        assert not is_taken(case.malloc("b", 50))
        case.free("b")
    assert is_taken(case.malloc("c", 50))


@plain_and_compiled
def test_each_realloc_is_a_request(compiled: bool) -> None:
    """A sample ends with it. A small block moves if the request is due, and stays else; a large one may become one."""
    case, of = program(compiled), intervals(1, 0, MEAN)
    until = next(of)
    while until >= 64:
        case.malloc("a", 64)
        case.free("a")
        until -= 64
    until = next(of)
    assert is_taken(case.malloc("a", 64))
    while until < 256:  # an interval that is long enough for what follows
        until = next(of)
        assert is_taken(case.realloc("a", 256))
    until -= 64
    small = case.realloc("a", 64)
    assert not is_taken(small)
    while until >= 64:
        until -= 64
        assert case.realloc("a", 64) == small
    assert is_taken(case.realloc("a", 64))
    sampled = case.totals("sampled")[0]
    assert case.totals("sampled_freed") == (sampled - 1,)
    large = case.malloc("b", 60_000)
    assert case.totals("sampled") == (sampled + 1,)
    assert case.realloc("b", 61_000) == large
    assert case.totals("sampled", "sampled_freed") == (sampled + 2, sampled)


@pytest.mark.thorough
@plain_and_compiled
def test_aligned_and_calloc_count_what_was_asked_for(compiled: bool) -> None:
    case, of = program(compiled), intervals(1, 0, MEAN)
    until = next(of)
    for step in range(200):
        op, align, size = ((Op.CALLOC, 0, 33), (Op.ALIGNED, 6, 17), (Op.ALIGNED, 13, 5))[step % 3]
        expected, before = size > until, case.totals("sampled_bytes")[0]
        until = next(of) if expected else until - size
        case.malloc("x", size, op=op, align_log2=align)
        assert case.totals("sampled_bytes")[0] - before == (size if expected else 0), step
        case.free("x")


def test_intervals_are_exponential() -> None:
    """By the page's bound: what the logarithm loses, and what rounding down takes."""
    for seed in range(3):
        wanted = intervals(seed, 0, 1 << 20)
        case = program(False, 1 << 20, seed)
        state, at = case.simulator.state, 0
        case.malloc("x", 1)
        next(wanted)
        for _ in range(300):
            got = common.interval_of(common.drawn(state, at), 1 << 20)
            assert abs(got - next(wanted)) <= 4
    assert common.interval_of(1 << 26, 1 << 30) == 0
    assert common.interval_of(1, 1 << 20) == pytest.approx(26 * math.log(2) * (1 << 20), rel=1e-5)


@pytest.mark.thorough
def test_the_mean_of_all_intervals_is_the_stated_one() -> None:
    """Of each of the 2^26 numbers that may be drawn: a test of the distribution and not of the generator."""
    mean, total, above = 524_288, 0, 0
    for part in range(64):
        u = np.arange(part * (1 << 20) + 1, (part + 1) * (1 << 20) + 1, dtype=np.int64)
        log = np.floor(np.log2(u.astype(np.float64))).astype(np.int64)
        x = u << (30 - log)
        for _ in range(20):
            x = x * x >> 30
            above_two = x >> 31
            x >>= above_two
            log = log << 1 | above_two
        found = (((26 << 20) - log) * 11_629_080 >> 24) * mean >> 20
        assert found[:: 1 << 18].tolist() == [common.interval_of(int(one), mean) for one in u[:: 1 << 18]]
        total += int(found.sum())
        above += int((found >= mean).sum())
    assert abs(total / (1 << 26) - mean) < mean * 1e-6 + 0.5
    assert above / (1 << 26) == pytest.approx(math.exp(-1), abs=1e-6)


def drawn_sizes(seed: int, events: int) -> NDArray[np.int64]:
    """Sizes from 1 byte to 16 KiB, the small ones more often: integers alone, so they are the same everywhere."""
    numbers = np.arange(1, events + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed * 0x632BE5AB)
    numbers = (numbers ^ numbers >> np.uint64(31)) * np.uint64(0xBF58476D1CE4E5B9)
    numbers ^= numbers >> np.uint64(29)
    return 1 + (numbers >> np.uint64(50) & np.uint64(16383)).astype(np.int64) // (
        1 + (numbers & np.uint64(127)).astype(np.int64)
    )


def test_weights_add_up_to_the_bytes_asked_for() -> None:
    """Over seeds: the sum of weight times size differs from the exact bytes by what its standard error explains."""
    events, mean = 20_000, 20_000
    design = Design("case", [64, 1024, 16384], front=STACK, slab_bytes=65536)
    scores: list[float] = []
    for seed in range(12):
        sized = msgspec.structs.replace(design, sampling=Params(mean_bytes=mean, seed=seed))
        simulator = Simulator(make_plan(sized))
        sizes, address = drawn_sizes(seed, events), np.full(2 * events, -1, np.int64)
        both = np.stack([sizes, np.zeros_like(sizes)], 1).ravel()
        names = np.repeat(np.zeros(events, np.int64), 2)
        ops = np.tile([Op.MALLOC, Op.FREE], events)
        simulator.feed(Chunk.of(ops, names, names, both, names, names), address)
        chance = -np.expm1(-sizes / mean)
        taken = address[::2] >= RUN
        variance = float((sizes.astype(float) ** 2 * (1 - chance) / chance).sum())
        scores.append((float((sizes / chance)[taken].sum()) - float(sizes.sum())) / math.sqrt(variance))
        assert simulator.counters().totals["sampled"] == taken.sum() > 100
    assert max(map(abs, scores)) < 3.5
    assert abs(sum(scores)) / math.sqrt(len(scores)) < 3
    assert sum(score * score for score in scores) / len(scores) == pytest.approx(1, abs=0.9)


@pytest.mark.quick
def test_numbers_out_of_range_are_refused() -> None:
    for params, words in (
        (Params(mean_bytes=0), "expected 1 to 68719476736"),
        (Params(mean_bytes=1 << 37), "expected 1 to 68719476736"),
        (Params(seed=-1), "expected 0 to 4294967295"),
    ):
        refusal = Design("case", SIZES, front=STACK, sampling=params, **SMALL).why_not_valid()
        assert refusal is not None
        assert words in refusal.words


@pytest.mark.quick
def test_designs_that_cannot_take_samples_say_why() -> None:
    steady = msgspec.structs.replace(load("steady"), sampling=Params())
    warmed = prewarm_fronts.Params(classes=[prewarm_fronts.Prepared(sizes=[16], blocks=2)])
    for design, words in (
        (steady, "sampling: 'countdown' cannot go with bounded = true"),
        (msgspec.structs.replace(load("sampled"), prewarm=warmed), "cannot go with prewarm 'fronts'"),
        (
            msgspec.structs.replace(load("sampled"), front=Prepared(blocks=9), foreign="trust", dispatch="class"),
            "cannot go with fronts whose blocks were all taken before",
        ),
    ):
        refusal = design.why_not_valid()
        assert refusal is not None
        assert words in refusal.words
        assert "sampling" in refusal.fields


def often(mean: int = OFTEN) -> Design:
    return msgspec.structs.replace(load("sampled"), name="sampled-often", sampling=Params(mean_bytes=mean, seed=SEED))


def threaded_trace(folder: Path) -> Path:
    """Four threads that exit and come again, with realloc, calloc, and blocks that others free."""
    rows: list[tuple[int, ...]] = []
    live: list[int] = []
    spare: list[int] = []
    for step, size in enumerate(drawn_sizes(3, 12_000).tolist()):
        thread = step // 5 % 4
        op = (Op.MALLOC, Op.CALLOC, Op.MALLOC, Op.ALIGNED)[step % 4]
        align = step % 15 if op == Op.ALIGNED else 0
        live.append(spare.pop() if spare else len(live))
        asked = size if step % 49 else size * 40
        if step % 5 == 0 and step < 20:  # a thread's first request is as long as its first interval
            op, align, asked = Op.MALLOC, 0, common.interval_of(next(draws(SEED, thread)), OFTEN)
        rows.append((op, thread, live[-1], asked, align, step))
        if step % 49 == 0:
            rows.append((Op.REALLOC, thread, live[-1], size * 40 + step % 90, 0, step))
        if step % 3 == 0:
            rows.append((Op.REALLOC, thread, live[step * 7 % len(live)], size + step % 90, 0, step))
        if step % 8 != 0:
            spare.append(live.pop(step * 31 % len(live)))
            rows.append((Op.FREE, thread, spare[-1], 0, 0, step))
        if step % 997 == 0:
            rows.append((Op.THREAD_EXIT, thread, 0, 0, 0, step))
    free = [spare.pop() if spare else len(live) + place for place in range(2)]
    for step in range(12_000, 12_040):  # a heap is adopted by a thread that frees a long block first
        given, own = free
        rows.append((Op.MALLOC, 0, given, 2000, 0, step))
        rows += [(op, 4, own, 2000 * (op == Op.MALLOC), 0, step) for op in (Op.MALLOC, Op.FREE) * 2]
        rows += [(Op.THREAD_EXIT, 4, 0, 0, 0, step), (Op.FREE, 5, given, 0, 0, step)]
        rows += [(op, 5, given, 2000 * (op == Op.MALLOC), 0, step) for op in (Op.MALLOC, Op.FREE) * 3]
        rows.append((Op.THREAD_EXIT, 5, 0, 0, 0, step))
    trace = folder / "threads.hst"
    with TraceWriter(trace, command=["threads"], source="test") as writer:
        writer.append(Chunk.of(*zip(*rows, strict=True)))
    return trace


@pytest.mark.thorough
def test_library_and_model_take_the_same_samples_with_threads(tmp_path: Path) -> None:
    report = verify(often(), [threaded_trace(tmp_path)], audit=False)
    assert [run.difference for run in report.runs] == [None, None]
    assert {run.threads for run in report.runs} == {6}


def counters(options: str, design: Design) -> dict[str, int]:
    out, errors = run_with(f"stats,{options}" if options else "stats", library=library_of(design))
    assert out == ""
    found: dict[str, int] = json.loads(errors)["counters"]
    return found


@pytest.mark.thorough
def test_the_environment_chooses_the_mean() -> None:
    """run_options asks for 1.4 MB, of which seven blocks of 200,000 bytes are freed."""
    design = often(100_000)
    assert 3 <= counters("", design)["sampled"] <= 30
    assert counters("sample=0", design)["sampled"] == 0
    each = counters("sample=1", design)
    assert each["sampled"] > 13
    assert each["sampled_bytes"] > 1_400_000
    assert each["sampled_freed"] >= 13
    assert counters(f"sample={1 << 36}", design)["sampled"] == 0
    for bad in ("", "1k", "-1", str((1 << 36) + 1)):
        assert run_with(f"sample={bad}", library=library_of(design))[1] == (
            f'heapsmith: HEAPSMITH: bad value in "sample={bad}"\n'
        )


@pytest.mark.thorough
@pytest.mark.slow
def test_malloc_takes_three_instructions_more() -> None:
    """And free none. A pair of calls in a loop, by callgrind, where no request is due in between."""
    rare = often(1 << 36)
    without = msgspec.structs.replace(rare, name="unsampled", sampling=None)
    for form in ("pair-32", "mixed"):
        more = per_operation(FORMS[form], library_of(rare)) - per_operation(FORMS[form], library_of(without))
        assert 2 < more <= 3.05


@pytest.mark.parametrize("sanitizer", [THREAD, ADDRESS_UNDEFINED], ids=lambda one: one.name)
@pytest.mark.thorough
def test_samples_under_sanitizers(sanitizer: Sanitizer, tmp_path: Path) -> None:
    built = build_sanitized(often(500), sanitizer, tmp_path)
    run_sanitized(built, sanitizer, ["--operations", "4000", "--threads", "4"])


def samples_of_threads(design: Design, folder: Path) -> dict[str, int]:
    """The counters of a program of four threads that looks whether its blocks keep their bytes."""
    source = folder / "threads.c"
    source.write_text("""
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *work(void *with)
{
    unsigned char *block[64] = { 0 };
    size_t bytes[64] = { 0 };
    unsigned number = (unsigned)(size_t)with;
    for (int step = 0; step < 40000; step++) {
        number = number * 1664525 + 1013904223;
        int at = number >> 26;
        for (size_t byte = 0; byte < bytes[at]; byte += 13)
            if (block[at][byte] != at)
                abort();
        bytes[at] = number >> 8 & (step % 100 == 0 ? 0xffff : 0x3ff);
        if (step % 3 == 0) {
            free(block[at]);
            block[at] = malloc(bytes[at]);
        } else {
            block[at] = realloc(block[at], bytes[at] + 1);
        }
        memset(block[at], at, bytes[at]);
    }
    for (int at = 0; at < 64; at++)
        free(block[at]);
    return NULL;
}
int main(void)
{
    pthread_t thread[4];
    for (size_t which = 0; which < 4; which++)
        if (pthread_create(&thread[which], NULL, work, (void *)which) != 0)
            return 3;
    for (size_t which = 0; which < 4; which++)
        pthread_join(thread[which], NULL);
    return 0;
}
""")
    built, report = folder / "threads", folder / "stats.json"
    subprocess.run(["gcc", "-O1", "-fno-builtin", "-pthread", str(source), "-o", str(built)], check=True)
    environment = {"LD_PRELOAD": str(library_of(design)), "HEAPSMITH": f"stats={report}"}
    subprocess.run([str(built)], env=environment, check=True, timeout=120)
    found: dict[str, int] = json.loads(report.read_text())["counters"]
    return found


@pytest.mark.thorough
def test_a_program_of_many_threads_keeps_its_blocks(tmp_path: Path) -> None:
    """Each block that a sample is, too: the memory of others is not touched, and all of them are freed in the end."""
    found = samples_of_threads(often(2000), tmp_path)
    assert found["sampled"] > 10_000
    assert 0 <= found["sampled"] - found["sampled_freed"] < 20  # those of the C library's own blocks live on
