"""The waits of the replayer: all of them end, on any trace with threads, and one that does not is named."""

import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from replay_events import Event, random_events, write_trace

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import CheckFailed
from heapsmith.model.trace.reader import Op
from heapsmith.tools.peers.peers import Library, preload, replay_driver
from heapsmith.tools.replay import replay as replays
from heapsmith.tools.replay import script as scripts
from heapsmith.tools.replay.replay import glibc_bytes, replay_once
from heapsmith.tools.replay.script import EVENT, HEADER, write_script

GLIBC = Library("glibc", None)
MODES: list[dict[str, bool]] = [{"count_bytes": True}, {"latency": True}, {"check": True}, {}]
WINDOW = 8  # events, of the scripts here

Turn = tuple[int, int, int]
"""A thread, how many events it has in a row, and of 8 how many are frees of whatever block lives."""


def turns_of(turns: list[Turn]) -> list[Event]:
    """The events of threads that take turns; every other thread that had a turn ends in its last one.

    Threads get numbers by their first turns.
    """
    number_of: dict[int, int] = {}
    turns = [(number_of.setdefault(thread, len(number_of)), count, frees) for thread, count, frees in turns]
    events: list[Event] = []
    live: list[int] = []
    last = {thread: turn for turn, (thread, _, _) in enumerate(turns)}
    for turn, (thread, count, frees) in enumerate(turns):
        for number in range(count):
            if live and number % 8 < frees:
                events.append((Op.FREE, thread, live.pop(number % len(live)), 0))
            else:
                events.append((Op.MALLOC, thread, len(events) + 1, 16 * (1 + len(events) % 50)))
                live.append(len(events))
        if last[thread] == turn and thread % 2:
            events.append((Op.THREAD_EXIT, thread, 0, 0))
    return events


def replays_all(folder: Path, events: list[Event], modes: list[dict[str, bool]] = MODES) -> None:
    """Replay a trace of these events in small windows in each mode; the watchdog ends what does not end."""
    trace = write_trace(folder / "t.hst", events, chunk_events=WINDOW // 2)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scripts, "WINDOW", WINDOW)
        facts = write_script(trace, folder / "script")
    for mode in modes:
        done = replay_once(folder / "script", GLIBC, **mode)
        assert done.operations == facts.operations
        assert not mode.get("count_bytes") or done.bytes is None or done.bytes.asked == facts.peak_live_bytes


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("waits")


@pytest.mark.thorough
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    turns=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3 * WINDOW), st.integers(0, 8)), min_size=1, max_size=12)
)
def test_a_replay_ends_whatever_the_turns_of_its_threads(folder: Path, turns: list[Turn]) -> None:
    """Of the waits here, what each is for stays so once it is: whether a replay ends is no matter of its schedule."""
    replays_all(folder, turns_of(turns))


@pytest.mark.parametrize(
    "turns",
    [
        pytest.param([(0, 3, 0), (1, 40, 0), (1, 40, 8), (0, 9, 8)], id="the first waits while another grows"),
        pytest.param([(0, 40, 0), (1, 1, 0), (0, 39, 8)], id="the peak is the event of a stream of one"),
        pytest.param([(0, 1, 0), *((t, 2, 0) for t in range(1, 60)), (0, 60, 8)], id="60 streams of two events"),
        pytest.param([(0, 1, 0), (1, 1, 0), (0, 30, 0)], id="the peak is the last event"),
        pytest.param([(0, 1, 0), (1, 1, 8), (2, 30, 8), (3, 2, 8)], id="the peak is the first event"),
        pytest.param(
            [(1, 9, 0), (2, 9, 0), (3, 9, 0)] * 3, id="the first stream has no events but those that start others"
        ),
    ],
)
def test_replays_that_end(tmp_path: Path, turns: list[Turn]) -> None:
    replays_all(tmp_path, turns_of(turns))


def test_more_threads_than_processors_that_use_each_others_blocks(tmp_path: Path) -> None:
    replays_all(tmp_path, random_events(3, 600, 40))


def test_the_bytes_of_a_trace_in_which_the_first_thread_waits_for_windows(tmp_path: Path) -> None:
    """The windows are those of any trace."""
    growing: list[Event] = [(Op.MALLOC, 1, name, 16) for name in range(1, 3 * scripts.WINDOW)]
    trace = write_trace(tmp_path / "t.hst", [(Op.MALLOC, 0, 0, 16), *growing, (Op.FREE, 0, 0, 0)])
    assert glibc_bytes(trace).asked == 16 * 3 * scripts.WINDOW


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The watchdog of each replay waits for 0.6 s."""

    def command(script: Path, library: Library | None = None) -> list[str]:
        return [str(replay_driver()), str(script), "--stall-ms", "600"]

    monkeypatch.setattr(replays, "replay_command", command)


def waiting_for_ever(folder: Path) -> Path:
    """A script in which stream 1 waits in its event 1 for 999 operations on its block."""
    return waits_for_ever(folder, [(Op.MALLOC, 0, 1, 16), (Op.MALLOC, 1, 2, 16), (Op.REALLOC, 1, 1, 48)])


def waits_for_ever(folder: Path, calls: list[Event]) -> Path:
    """A script of these calls in which each realloc waits for 999 operations on its block."""
    write_script(write_trace(folder / "t.hst", calls), folder / "s")
    data = bytearray((folder / "s").read_bytes())
    (header,) = np.frombuffer(data, HEADER, 1)
    events = np.frombuffer(data, EVENT, int(header["events"]), HEADER.itemsize)
    events["after"][events["op"] == Op.REALLOC] = 999
    (folder / "s").write_bytes(data)
    return folder / "s"


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("mode", MODES[1:])
def test_a_wait_that_does_not_end_is_named(tmp_path: Path, mode: dict[str, bool]) -> None:
    script = waiting_for_ever(tmp_path)
    with pytest.raises(CheckFailed) as caught:
        replay_once(script, GLIBC, **mode)
    assert str(caught.value) == (
        "glibc: replay: no progress for 0.6 s: stream 0 at its event 2 waits for stream 1 to end; "
        "stream 1 at its event 1 waits until 999 operations are complete on its block"
    )


@pytest.mark.usefixtures("impatient")
def test_streams_that_wait_at_the_peak_are_named(tmp_path: Path) -> None:
    with pytest.raises(
        CheckFailed, match="waits at the peak of the live bytes for the 1 others that begin before it; "
    ):
        replay_once(waiting_for_ever(tmp_path), GLIBC, count_bytes=True)


@pytest.mark.usefixtures("impatient")
def test_streams_beyond_the_fourth_are_counted(tmp_path: Path) -> None:
    """Seven threads wait behind the first one, which waits for ever."""
    calls: list[Event] = [(Op.MALLOC, 0, 1, 16)]
    calls += [(Op.MALLOC, thread, 1 + thread, 16) for thread in range(1, 8)]
    calls += [(Op.REALLOC, thread, 1, 48 + thread) for thread in range(1, 8)]
    with pytest.raises(CheckFailed) as caught:
        replay_once(waits_for_ever(tmp_path, calls), GLIBC)
    assert str(caught.value).count("waits until") == 3  # and the first stream waits for an end
    assert str(caught.value).endswith("; and 4 more wait")


SLOW = """
/* glibc's malloc, slow at each 256th call of a size, and of another without an end. */
#define _GNU_SOURCE
#include <stddef.h>
#include <unistd.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t n)
{
    static int calls;
    if (n == 77) pause();
    if (n == 33 && ++calls % 256 == 0) usleep(100000);
    return __libc_malloc(n);
}
"""


@pytest.fixture(scope="module")
def slow(tmp_path_factory: pytest.TempPathFactory) -> Library:
    folder = tmp_path_factory.mktemp("slow malloc")
    (folder / "slow.c").write_text(SLOW)
    flags = ["-O1", "-fno-builtin", "-shared", "-fPIC"]
    return Library("slow", compile_c([folder / "slow.c"], folder / "slow.so", flags=flags))


@pytest.mark.usefixtures("impatient")
def test_a_call_that_does_not_come_back_is_named(tmp_path: Path, slow: Library) -> None:
    write_script(write_trace(tmp_path / "t.hst", [(Op.MALLOC, 0, 1, 16), (Op.MALLOC, 1, 2, 77)]), tmp_path / "s")
    with pytest.raises(
        CheckFailed, match=r"0\.6 s: stream 1 does not come back from the call of one .* from event 0 on; "
    ):
        replay_once(tmp_path / "s", slow)


@pytest.mark.thorough
@pytest.mark.usefixtures("impatient")
def test_a_slow_replay_is_left_alone_also_after_a_stop(
    tmp_path: Path, slow: Library, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes longer than the limit, and then stands still for longer than it."""
    calls: list[Event] = [(Op.MALLOC, 0, name, 33) for name in range(256 * 12)]
    write_script(write_trace(tmp_path / "t.hst", calls), tmp_path / "s")
    monkeypatch.setenv("LD_PRELOAD", preload(slow, {}))
    for _ in range(9):  # on a busy machine it may stand still by itself
        with subprocess.Popen(
            replays.replay_command(tmp_path / "s"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as run:
            time.sleep(0.3)
            run.send_signal(signal.SIGSTOP)
            time.sleep(1.5)
            run.send_signal(signal.SIGCONT)
            out, errors = run.communicate()
        if run.returncode == 0:
            break
    assert (run.returncode, errors) == (0, b"")
    assert out
