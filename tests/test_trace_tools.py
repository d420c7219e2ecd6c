"""The laws of the trace tools: what stays is as it was, whole lives stay whole, every result is a sound trace."""

from pathlib import Path

import numpy as np
import pytest
from edited_traces import SAMPLES, TREE, Made, live_bytes, lives, made, read, rows, write
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.edit.selection import MAX, Criteria, filter_trace, sample_trace
from heapsmith.model.trace.edit.several_traces import concatenate, merge_traces, scale_trace
from heapsmith.model.trace.edit.window import Window, peak_event, slice_trace
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.reader import TraceReader

FEW = settings(max_examples=10, deadline=None)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("edited")


@FEW
@given(of=made(ties=True))
def test_what_keeps_everything_changes_nothing(folder: Path, of: Made) -> None:
    path, out = write(folder / "a.hst", of), folder / "out.hst"
    before = rows(read(path))
    filter_trace(path, out, Criteria())
    assert rows(read(out)) == before
    slice_trace(path, out, Window())
    assert rows(read(out)) == before
    scale_trace(path, out, 1)
    assert rows(read(out)) == before
    concatenate([path], out)
    assert rows(read(out)) == before
    sample_trace(path, out, 1.0)
    assert rows(read(out)) == before
    with TraceReader(path) as old, TraceReader(out) as new:
        assert new.footer.samples == old.footer.samples
        assert new.header == old.header


@FEW
@given(of=made(), sizes=st.tuples(st.integers(0, 300), st.integers(0, 3000)), data=st.data())
def test_a_filter_keeps_the_lives_of_blocks_born_as_it_says(
    folder: Path, of: Made, sizes: tuple[int, int], data: st.DataObject
) -> None:
    """Times tell which events stayed: the first event, the start of thread 0, always stays."""
    path, out = write(folder / "a.hst", of), folder / "out.hst"
    whole = read(path)
    last = whole.chunk.op.size
    times = tuple(sorted(data.draw(st.tuples(st.integers(0, last), st.integers(0, last)))))
    filter_trace(path, out, Criteria(sizes=sizes, time_ns=times))
    birth = (whole.chunk.op < 4) & (whole.chunk.op != Op.REALLOC)
    size, time = whole.chunk.size, whole.chunk.time_ns
    chosen = birth & (size >= sizes[0]) & (size <= sizes[1]) & (time >= times[0]) & (time < times[1])
    life = lives(whole.chunk)
    kept = np.isin(life, life[chosen]) | (whole.chunk.op >= Op.THREAD_START)
    found = read(out)
    assert found.chunk.time_ns.tolist() == time[kept].tolist()
    assert [row[:2] + row[3:] for row in rows(found)] == [row[:2] + row[3:] for row in rows(whole, kept)]
    births = np.unique(life[kept & (life >= 0)], return_inverse=True)[1]
    assert lives(found.chunk)[lives(found.chunk) >= 0].tolist() == births.tolist()


@FEW
@given(of=made(), threads=st.sets(st.integers(0, 3), min_size=1))
def test_a_filter_by_threads_keeps_their_blocks_and_their_starts(folder: Path, of: Made, threads: set[int]) -> None:
    path, out = write(folder / "a.hst", of), folder / "out.hst"
    whole = read(path)
    if max(threads) > whole.chunk.thread.max():
        with pytest.raises(BadInput, match=r"a\.hst: threads: there is no number"):
            filter_trace(path, out, Criteria(threads=frozenset(threads)))
        return
    filter_trace(path, out, Criteria(threads=frozenset(threads)))
    birth = (whole.chunk.op < 4) & (whole.chunk.op != Op.REALLOC)
    mine = np.isin(whole.chunk.thread, list(threads))
    life = lives(whole.chunk)
    kept = np.isin(life, life[birth & mine])
    found = read(out).chunk
    with_block = found.op < Op.THREAD_START
    assert found.op[with_block].tolist() == whole.chunk.op[kept].tolist()
    assert found.size[with_block].tolist() == whole.chunk.size[kept].tolist()
    assert (found.op == Op.THREAD_START).sum() == ((whole.chunk.op == Op.THREAD_START) & mine).sum()
    first_of = {
        thread: event for event, thread in reversed(list(enumerate(whole.chunk.thread.tolist()))) if kept[event]
    }
    exits = np.flatnonzero(whole.chunk.op == Op.THREAD_EXIT)
    seen = [
        thread in threads or first_of.get(thread, exit) < exit
        for thread, exit in zip(whole.chunk.thread[exits].tolist(), exits.tolist(), strict=True)
    ]
    assert (found.op == Op.THREAD_EXIT).sum() == sum(seen)


def test_a_filter_by_sites_keeps_the_blocks_born_there(folder: Path) -> None:
    chunk = random_chunk(400, 3, 2, live=30)
    site = np.where(chunk.op < 4, 1 + np.arange(400) % TREE.innermost.size, 0).astype(np.uint32)
    path, out = write(folder / "s.hst", Made(chunk, site, 64)), folder / "out.hst"
    whole = read(path)
    filter_trace(path, out, Criteria(sites=frozenset({2, 3})))
    birth = (chunk.op < 4) & (chunk.op != Op.REALLOC)
    life = lives(chunk)
    kept = np.isin(life, life[birth & np.isin(site, [2, 3])])
    found = read(out)
    with_block = found.chunk.op < Op.THREAD_START
    assert [row[3:5] + row[6:] for row in rows(found, with_block)] == [row[3:5] + row[6:] for row in rows(whole, kept)]
    with TraceReader(out) as trace:
        stacks = trace.stacks()
    assert stacks is not None
    assert stacks.parent.size < TREE.parent.size or len(stacks.modules) < 3  # what no event needs is gone
    with pytest.raises(BadInput, match="sites: there is no number 6; expected 0 to 5"):
        filter_trace(path, out, Criteria(sites=frozenset({6})))


@FEW
@given(of=made(), data=st.data())
def test_slices_one_after_the_other_have_the_live_bytes_of_the_whole(
    folder: Path, of: Made, data: st.DataObject
) -> None:
    path = write(folder / "a.hst", of)
    whole = read(path)
    count = whole.chunk.op.size
    cut = data.draw(st.integers(1, count - 1))
    first, second, out = folder / "first.hst", folder / "second.hst", folder / "out.hst"
    slice_trace(path, first, Window(events=(0, cut)))
    slice_trace(path, second, Window(time_ns=(cut, MAX)))  # the time of an event is its number
    assert rows(read(first)) == rows(whole, slice(0, cut))
    concatenate([first, second], out, free=True)
    found = live_bytes(read(out).chunk)
    expected = live_bytes(whole.chunk)
    assert found[:cut] == expected[:cut]
    assert found[cut - count :] == expected[cut:]
    after = read(second).chunk
    made_there = after.op.size - (count - cut)
    assert live_bytes(after)[made_there - 1] == expected[cut - 1] if made_there else expected[cut - 1] == 0
    concatenate([first, second], out)
    both = live_bytes(read(out).chunk)[cut:]
    assert both == [expected[cut - 1] + later for later in live_bytes(after)]


def test_a_slice_bears_what_is_alive_in_the_order_of_its_birth(folder: Path) -> None:
    """Thread 1 starts, bears block 1 and exits; block 0 was resized; block 2 died; thread 2 lives without a block."""
    ops = [Op.CALLOC, 6, Op.ALIGNED, Op.MALLOC, 6, Op.REALLOC, Op.FREE, 7, Op.MALLOC]
    chunk = Chunk.of(
        ops, [0, 1, 1, 0, 2, 0, 1, 1, 2], [0, 0, 1, 2, 0, 0, 2, 0, 2], [8, 0, 64, 9, 0, 80, 0, 0, 5],
        [0, 0, 6, 0, 0, 0, 0, 0, 0], range(100, 109), [0, 1, 0, 1, 2, 3, 1, 0, 2],
    )  # fmt: skip
    site = np.array([1, 0, 2, 3, 0, 4, 0, 0, 5], np.uint32)
    path = write(folder / "a.hst", Made(chunk, site, 4))
    slice_trace(path, folder / "out.hst", Window(events=(8, 9)))
    whole = read(path)
    found = read(folder / "out.hst")
    assert [column.tolist() for column in found.chunk] == [
        [Op.MALLOC, 6, Op.ALIGNED, 6, 7, Op.MALLOC],
        [0, 1, 1, 2, 1, 2],
        [0, 0, 1, 0, 0, 2],
        [80, 0, 64, 0, 0, 5],
        [0, 0, 6, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [3, 0, 0, 2, 0, 2],
    ]
    assert found.stacks == [whole.stacks[event] for event in (5, 1, 2, 4, 7, 8)]


@FEW
@given(of=made(), around=st.integers(1, 20))
def test_the_peak_is_in_the_slice_around_it(folder: Path, of: Made, around: int) -> None:
    path = write(folder / "a.hst", of)
    live = live_bytes(of.chunk)
    peak = peak_event(path)
    assert peak == int(np.argmax(live))
    slice_trace(path, folder / "out.hst", Window(events=(max(0, peak + 1 - around), peak + 1 + around)))
    assert max(live_bytes(read(folder / "out.hst").chunk)) == max(live)


@FEW
@given(several=st.lists(made(ties=True), min_size=2, max_size=4), data=st.data())
def test_a_merge_keeps_each_trace_and_a_filter_by_threads_gives_it_back(
    folder: Path, several: list[Made], data: st.DataObject
) -> None:
    paths = [write(folder / f"{number}.hst", of) for number, of in enumerate(several)]
    begins = data.draw(st.lists(st.integers(0, 60), min_size=len(paths), max_size=len(paths)))
    out, back = folder / "out.hst", folder / "back.hst"
    merge_traces(paths, out, begins)
    time = np.concatenate([of.chunk.time_ns + begin for of, begin in zip(several, begins, strict=True)])
    number = np.concatenate([np.arange(of.chunk.op.size) for of in several])
    trace = np.repeat(np.arange(len(several)), [of.chunk.op.size for of in several])
    order = np.lexsort((trace, number, time))
    merged = read(out)
    assert merged.chunk.time_ns.tolist() == (time[order] - time[order[0]]).tolist()
    for one, path in enumerate(paths):
        own = trace[order] == one
        whole = read(path)
        kept = [row[:1] + row[3:5] + row[6:] for row in rows(merged, own)]
        assert kept == [row[:1] + row[3:5] + row[6:] for row in rows(whole)]
        filter_trace(out, back, Criteria(threads=frozenset(merged.chunk.thread[own].tolist())))
        assert rows(read(back)) == rows(whole)


@FEW
@given(of=made(ties=True), copies=st.integers(2, 5), stagger=st.integers(0, 40))
def test_copies_are_a_merge_of_the_trace_with_itself(folder: Path, of: Made, copies: int, stagger: int) -> None:
    path = write(folder / "a.hst", of)
    scale_trace(path, folder / "scaled.hst", copies, stagger)
    begins = [copy * stagger for copy in range(copies)]
    merge_traces([path] * copies, folder / "merged.hst", begins)
    scaled = read(folder / "scaled.hst")
    assert rows(scaled) == rows(read(folder / "merged.hst"))
    assert scaled.chunk.thread.max() + 1 == copies * (of.chunk.thread.max() + 1)
    with TraceReader(folder / "scaled.hst") as trace:
        assert trace.footer.samples is not None
        assert trace.footer.samples.touched[0].pages == copies * SAMPLES.touched[0].pages
        known = SAMPLES.processor[: of.chunk.thread.max() + 1]
        assert sorted(found for found in trace.footer.samples.processor if any(found)) == sorted(copies * known)


@FEW
@given(of=made(), rate=st.floats(0.05, 1), seed=st.integers(0, 1 << 70))
def test_a_sample_has_whole_lives(folder: Path, of: Made, rate: float, seed: int) -> None:
    path, out = write(folder / "a.hst", of), folder / "out.hst"
    sample_trace(path, out, rate, seed)
    whole, found = read(path), read(out)
    kept = np.isin(whole.chunk.time_ns, found.chunk.time_ns)
    life = lives(whole.chunk)
    assert np.array_equal(np.isin(life, life[kept]), kept)
    assert [row[:2] + row[3:] for row in rows(found)] == [row[:2] + row[3:] for row in rows(whole, kept)]


def test_samples_are_unbiased_over_seeds(folder: Path) -> None:
    """Each block is in about `rate` of the samples: 5.5 standard deviations of a binomial are the most."""
    chunk = random_chunk(300, 11, 2, live=40)._replace(time_ns=np.arange(300))
    birth = (chunk.op < 4) & (chunk.op != Op.REALLOC)
    path, out = write(folder / "a.hst", Made(chunk, None, 1000)), folder / "out.hst"
    seeds, rate = 300, 0.3
    count = np.zeros(300)
    for seed in range(seeds):
        # the first block, at time 0, tells where time begins: a sample without it begins later
        sample_trace(path, out, rate, seed)
        with TraceReader(out) as trace:
            (found,) = list(trace)
        first = next(
            shift
            for shift in range(300)
            if np.array_equal(chunk.size[(found.time_ns + shift) % 300], found.size)
            and np.array_equal(chunk.op[(found.time_ns + shift) % 300], found.op)
        )
        count[found.time_ns + first] += 1
    deviations = (count[birth] - seeds * rate) / np.sqrt(seeds * rate * (1 - rate))
    assert np.abs(deviations).max() < 5.5
    total, blocks = count[birth].sum(), int(birth.sum()) * seeds
    assert abs(total - blocks * rate) < 4.5 * np.sqrt(blocks * rate * (1 - rate))


def test_a_sample_does_not_depend_on_chunks(folder: Path) -> None:
    found = []
    for chunk_events in (13, 400):
        path = write(folder / "a.hst", Made(random_chunk(400, 5, 2), None, chunk_events))
        sample_trace(path, folder / "out.hst", 0.4, 2)
        found.append(rows(read(folder / "out.hst")))
    assert found[0] == found[1]


def test_rates_of_samples_multiply(folder: Path) -> None:
    path = write(folder / "a.hst", Made(random_chunk(4000, 5), None, 1000))
    sample_trace(path, folder / "half.hst", 0.5, 1)
    sample_trace(folder / "half.hst", folder / "tenth.hst", 0.2, 2)
    with TraceReader(folder / "tenth.hst") as trace:
        assert trace.footer.sample_rate == pytest.approx(0.1)
        assert trace.footer.lines("edits") == ["sample: 0.5 of the blocks, seed 1", "sample: 0.2 of the blocks, seed 2"]
