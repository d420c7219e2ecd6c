"""The replayer's scripts: each stream is its thread's, and any order that the script allows is sound."""

import itertools
import random
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from replay_events import Event, random_events, write_trace

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.replay import instants
from heapsmith.tools.replay import script as scripts
from heapsmith.tools.replay.instants import SAMPLE
from heapsmith.tools.replay.replay import replay_once
from heapsmith.tools.replay.script import EVENT, HEADER, JOIN, SEGMENT, SPAWN, write_script

GLIBC = Library("glibc", None)


class Script(NamedTuple):
    """A script read back.

    The header; of each stream the events, how many of them come before the peak or reach it, their windows, and the
    positions at which RSS is sampled, each with its moment and instants.
    """

    header: np.void
    streams: list[list[tuple[int, ...]]]
    peaks: list[int]
    windows: list[list[int]]
    samples: list[list[tuple[int, int, int]]]


def read_script(path: Path) -> Script:
    data = path.read_bytes()
    header = np.frombuffer(data, HEADER, 1)[0]
    events = np.frombuffer(data, EVENT, int(header["events"]), HEADER.itemsize)
    at = HEADER.itemsize + events.nbytes
    first = np.frombuffer(data, "u8", int(header["streams"]) + 1, at)
    peaks = np.frombuffer(data, "u8", int(header["streams"]), at + first.nbytes)
    at += first.nbytes + peaks.nbytes
    first_sample = np.frombuffer(data, "u8", int(header["streams"]) + 1, at)
    segments = np.frombuffer(data, SEGMENT, int(header["segments"]), at + first_sample.nbytes)
    at += first_sample.nbytes + segments.nbytes
    samples = np.frombuffer(data, SAMPLE, int(header["samples"]), at).tolist()
    assert at + SAMPLE.itemsize * len(samples) == len(data)
    streams, windows = [], []
    for s in range(int(header["streams"])):
        rows = segments[int(first[s]) : int(first[s + 1])].tolist()
        streams.append([event for begin, n, _ in rows for event in events[begin : begin + n].tolist()])
        windows.append([window for _, n, window in rows for _ in range(n)])
    sampled = [samples[begin:end] for begin, end in itertools.pairwise(first_sample.tolist())]
    return Script(header, streams, peaks.tolist(), windows, sampled)


def play(script: Script, rng: random.Random) -> list[list[tuple[int, int, int]]]:
    """Run the streams in a random order that the script allows; (op, bytes before, bytes) of each stream's events."""
    done = [0] * int(script.header["slots"])
    held = [0] * int(script.header["slots"])
    at = [0] * len(script.streams)
    made: list[list[tuple[int, int, int]]] = [[] for _ in script.streams]
    born = {0}

    def earliest() -> int:
        return min(script.windows[s][i] for s, i in enumerate(at) if i < len(script.streams[s]))

    def ready(s: int) -> bool:
        if s not in born or at[s] == len(script.streams[s]) or script.windows[s][at[s]] > earliest() + 1:
            return False
        slot, after, *_, op = script.streams[s][at[s]]
        if op == JOIN:
            return slot in born and at[slot] == len(script.streams[slot])
        return op == SPAWN or after in (0, done[slot])

    while any(at[s] < len(events) for s, events in enumerate(script.streams)):
        s = rng.choice([s for s in range(len(at)) if ready(s)])  # IndexError: a deadlock
        slot, _, low, high, _, op = script.streams[s][at[s]]
        at[s] += 1
        if op == SPAWN:
            assert slot not in born
            born.add(slot)
        elif op != JOIN:
            size = 0 if op >= Op.FREE else low | high << 32
            made[s].append((op, held[slot], size))
            held[slot] = size
            done[slot] += 1
    return made


def expected(events: list[Event], threads: int) -> list[list[tuple[int, int, int]]]:
    held: dict[int, int] = {}
    made: list[list[tuple[int, int, int]]] = [[] for _ in range(threads)]
    for op, thread, name, size in events:
        if op < Op.THREAD_START:
            made[thread].append((int(op), held.get(name, 0), size))
            held[name] = size
    return made


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    threads=st.integers(1, 5),
    chunk=st.sampled_from([7, 64, 1000]),
    window=st.sampled_from([1, 50, 1000]),
)
def test_any_order_the_script_allows_is_the_traces(
    tmp_path_factory: pytest.TempPathFactory, seed: int, threads: int, chunk: int, window: int
) -> None:
    folder = tmp_path_factory.mktemp("script")
    events = random_events(seed, 300, threads)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "WINDOW", window)
        facts = write_script(write_trace(folder / "t.hst", events, chunk), folder / "script")
    script = read_script(folder / "script")
    assert play(script, random.Random(seed)) == expected(events, threads)
    assert facts.operations == int(script.header["operations"]) == 300
    held: dict[int, int] = {}
    live = []
    for _, _, name, size in events:
        held[name] = size
        live.append(sum(held.values()))
    assert facts.peak_live_bytes == int(script.header["peak_live_bytes"]) == max(live)
    stream = int(script.header["peak_stream"])
    at_peak = script.streams[stream][script.peaks[stream] - 1]
    assert at_peak[2] == events[live.index(max(live))][3]
    before = [stream[:peak] for stream, peak in zip(script.streams, script.peaks, strict=True)]
    upto = play(script._replace(streams=before), random.Random(seed))
    assert sum(now - then for made in upto for _, then, now in made) == max(live)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6), threads=st.integers(1, 4), chunk=st.sampled_from([7, 64, 1000]), each=st.integers(1, 90)
)
def test_samples_are_evenly_spaced_in_the_traces_time(
    tmp_path_factory: pytest.TempPathFactory, seed: int, threads: int, chunk: int, each: int
) -> None:
    folder = tmp_path_factory.mktemp("script")
    events = random_events(seed, 300, threads)  # an event each nanosecond
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instants, "ALONE", each)
        patch.setattr(instants, "SHARED", each)
        write_script(write_trace(folder / "t.hst", events, chunk), folder / "script")
    count = min(max(len(events) // each, 8), 256)
    wanted: Counter[tuple[int, ...]] = Counter()
    first = next(thread for op, thread, _, _ in events if op < Op.THREAD_START)
    for instant in range(count):
        before = events[: int((instant + 0.5) / count * (len(events) - 1)) + 1]
        calls = [thread for op, thread, _, _ in before if op < Op.THREAD_START] or [first]
        wanted[tuple(calls.count(thread) for thread in range(threads))] += 1
    script = read_script(folder / "script")
    moments: dict[int, dict[int, int]] = {}
    instants_of: dict[int, set[int]] = {}
    for stream, samples in enumerate(script.samples):
        assert samples == sorted(samples)
        for position, moment, times in samples:
            own = sum(event[-1] in (SPAWN, JOIN) for event in script.streams[stream][:position])
            moments.setdefault(moment, {})[stream] = position - own
            instants_of.setdefault(moment, set()).add(times)
    found = Counter[tuple[int, ...]]()
    for moment, positions in moments.items():
        found[tuple(positions.get(stream, 0) for stream in range(threads))] += min(instants_of[moment])
    assert found == wanted
    assert {len(times) for times in instants_of.values()} == {1}


@pytest.mark.parametrize("begin", [0, 10**12])
def test_the_average_is_over_the_traces_time(tmp_path: Path, begin: int) -> None:
    """A block that lives for nearly all of the time and few of the events."""
    mib = 1 << 20
    calls = [(Op.MALLOC, 0, 8 * mib), (Op.FREE, 0, 0), *[(Op.MALLOC, 0, 64), (Op.FREE, 0, 0)] * 4000]
    ops, blocks, sizes = zip(*calls, strict=True)
    zeros = np.zeros(len(calls), np.int64)
    times = begin + np.append(0, 10**9 + np.arange(len(calls) - 1))
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, sizes, zeros, times))
    write_script(tmp_path / "t.hst", tmp_path / "script")
    done = replay_once(tmp_path / "script", GLIBC)
    assert 8 * mib < done.average_rss_bytes < 9 * mib
    assert done.end_rss_bytes < mib


def test_a_short_thread_waits_with_its_sample_for_the_long_one(tmp_path: Path) -> None:
    """The first thread allocates; then nearly all of the time passes between two events of the second thread.

    In the replay the second thread may have ended before the first has allocated.
    """
    count, size = 2000, 16_384
    calls = [(Op.MALLOC, 0, number, size) for number in range(count)]
    calls += [(Op.MALLOC, 1, count, 64), (Op.FREE, 1, count, 0)]
    ops, threads, blocks, sizes = zip(*calls, strict=True)
    times = np.append(np.arange(count + 1), 10**9)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, threads, blocks, sizes, [0] * len(calls), times))
    write_script(tmp_path / "t.hst", tmp_path / "script")
    samples = read_script(tmp_path / "script").samples
    assert [position for position, _, _ in samples[1]] == [1]
    for _ in range(20):
        assert replay_once(tmp_path / "script", GLIBC).average_rss_bytes > count * size


def test_many_threads_have_fewer_moments(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(instants, "MOST_SAMPLES", 40)
    monkeypatch.setattr(instants, "SHARED", 1)
    write_script(write_trace(tmp_path / "t.hst", random_events(1, 300, 4), 64), tmp_path / "script")
    moments = {moment for samples in read_script(tmp_path / "script").samples for _, moment, _ in samples}
    assert moments <= set(range(10))
    assert len(moments) > 4


def test_without_times_the_average_is_over_the_events(tmp_path: Path) -> None:
    """Blocks that all live to the end: on average half of them do."""
    count, size = 512, 65536
    zeros = np.zeros(count, np.int64)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        ops, sizes = zeros + int(Op.MALLOC), zeros + size
        writer.append(Chunk.of(ops, zeros, np.arange(count), sizes, zeros, zeros + 5))
    write_script(tmp_path / "t.hst", tmp_path / "script")
    done = replay_once(tmp_path / "script", GLIBC)
    assert done.average_rss_bytes == pytest.approx(count * size / 2, rel=0.1)


def test_threads_keep_near_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the trace all allocate before one frees, but no thread waits for a block of another."""
    monkeypatch.setattr(scripts, "WINDOW", 1)
    mib, threads = 1 << 20, range(1, 21)
    events: list[Event] = [(Op.MALLOC, 0, 0, 16)]
    events += [(Op.MALLOC, t, t, mib) for t in threads] + [(Op.FREE, t, t, 0) for t in threads]
    write_script(write_trace(tmp_path / "t.hst", events, 1), tmp_path / "script")
    assert [windows[-1] - windows[0] for windows in read_script(tmp_path / "script").windows[1:]] == [20] * 20
    assert replay_once(tmp_path / "script", GLIBC).peak_rss_bytes >= 19 * mib


def test_slots_freed_elsewhere_are_reused_and_bounded(tmp_path: Path) -> None:
    events: list[Event] = []
    for name in range(1, 10_001):
        events += [(Op.MALLOC, 0, name, 32), (Op.FREE, 1, name, 0)]
    facts = write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    assert facts.slots < 3000  # one live block, and those that wait for their reuse
    (_, free), after = read_script(tmp_path / "script").streams, 1
    assert all(event[after] > 0 for event in free)


def test_slots_of_ended_threads_are_reused(tmp_path: Path) -> None:
    events: list[Event] = [(Op.MALLOC, 0, 1, 16)]
    for t in range(1, 201):
        names = range(100 * t, 100 * t + 50)
        events += [(Op.MALLOC, t, name, 16) for name in names] + [(Op.FREE, t, name, 0) for name in names]
        events.append((Op.THREAD_EXIT, t, 0, 0))
    facts = write_script(write_trace(tmp_path / "t.hst", events), tmp_path / "script")
    assert facts.slots < 4096  # not 64 or more for each of 200 threads


def lives_one_after_another(threads: int) -> list[Event]:
    """Threads that begin after the one before has ended, leave a block to their successor, and free theirs late."""
    events: list[Event] = [(Op.MALLOC, 0, 1, 16)]
    for t in range(1, threads):
        events += [
            (Op.THREAD_START, t, 0, 0),
            (Op.FREE, t, t, 0),
            (Op.MALLOC, t, t + 1, 16 * t),
            (Op.THREAD_EXIT, t, 0, 0),
        ]
    for t in range(1, threads):
        events += [(Op.MALLOC, t, 1000 + t, 160000 + 16 * t)]
    return events


@pytest.mark.parametrize("chunk", [5, 1000])
def test_a_thread_begins_after_those_that_ended_before_it(tmp_path: Path, chunk: int) -> None:
    write_script(write_trace(tmp_path / "t.hst", lives_one_after_another(20), chunk), tmp_path / "script")
    script = read_script(tmp_path / "script")
    own = [(op, slot) for slot, *_, op in script.streams[0] if op in (SPAWN, JOIN)]
    assert own == [(SPAWN, 1)] + [step for t in range(2, 20) for step in ((JOIN, t - 1), (SPAWN, t))]
    late = [event for event in play(script, random.Random(1))[0] if event[2] >= 160000]
    assert len(late) == 18  # of threads that are joined by then; the last thread makes its own
    assert replay_once(tmp_path / "script", GLIBC, check=True).threads == 20


def test_a_script_that_cannot_be_written(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "t.hst", random_events(1, 9, 1))
    with pytest.raises(Missing, match="the replay script cannot be written: No such file"):
        write_script(trace, tmp_path / "no" / "script")
    with pytest.raises(Missing, match="the replay script cannot be written: No space left"):
        write_script(trace, Path("/dev/full"))


def test_sizes_beyond_a_script(tmp_path: Path) -> None:
    trace = write_trace(tmp_path / "t.hst", [(Op.MALLOC, 0, 1, 8), (Op.MALLOC, 0, 2, 1 << 48)])
    with pytest.raises(BadInput, match="event 1: 281474976710656 bytes: a replay can ask for"):
        write_script(trace, tmp_path / "script")
