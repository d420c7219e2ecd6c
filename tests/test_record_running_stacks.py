"""`heapsmith record --pid --stacks`: the call stacks of events, and which are missing where the process ends."""

import os
import time
from pathlib import Path
from threading import Lock

import pytest
from led_elsewhere import STEPS, recorded_while, running
from test_record_running import BIRTHS, write_trace

from heapsmith.model.trace.reader import Op, TraceReader
from heapsmith.model.trace.stacks import CallTree
from heapsmith.tools.record.record import SPOOL_VARIABLE, build_recorder
from heapsmith.tools.running import record

pytestmark = pytest.mark.skipif(os.uname().machine != "x86_64", reason="only processes of x86-64 are led elsewhere")


def stacked(trace: Path) -> list[tuple[int, int, list[tuple[str, int]]]]:
    """Operation, size and call stack of each event but the beginning of threads: files and offsets."""
    with TraceReader(trace) as reader:
        tree = reader.stacks()
        return [
            (op, size, [place(tree, frame) for frame in tree.path(site)] if tree and site else [])
            for chunk, sites in reader.sited()
            for op, size, site in zip(chunk.op.tolist(), chunk.size.tolist(), sites.tolist(), strict=True)
            if op != Op.THREAD_START
        ]


def place(tree: CallTree, frame: int) -> tuple[str, int]:
    module = int(tree.module[frame])
    return (tree.modules[module].path if module >= 0 else "", int(tree.offset[frame]))


def test_the_stacks_are_those_of_a_full_recording(tmp_path: Path) -> None:
    """The program repeats itself: once the recorder has all of its steps, once those after the cut are recorded."""
    spools = tmp_path / "spools"
    spools.mkdir()
    with running(tmp_path, 1, build_recorder(32), environment={SPOOL_VARIABLE: str(spools)}) as at:
        for _ in range(3):
            at.say("step")
    (spool,) = spools.glob("*.spool")
    write_trace(spool, tmp_path / "full.hst", sites=True)
    with running(tmp_path, 1) as at:
        at.say("step")
        found = recorded_while(
            at.process.pid, tmp_path / "live.hst", lambda: [at.say("step"), at.say("step")], stacks=True
        )
    live, full = stacked(tmp_path / "live.hst"), stacked(tmp_path / "full.hst")
    assert not any(frames for _, _, frames in live[: found.census_blocks])
    after = live[found.census_blocks :]
    assert (found.drops, found.foreign_frees, found.lost_frees) == (0, 0, 0)
    assert len(after) > STEPS
    ends = [at for at in range(len(full)) if full[at : at + len(after)] == after]
    assert len(ends) == 1
    assert len({tuple(frames) for _, _, frames in after}) > 5
    assert all(frames for op, _, frames in after if op in (*BIRTHS, Op.REALLOC))


@pytest.mark.thorough
def test_stacks_newer_than_the_last_look_are_missing_where_the_process_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All others are there, and all events. No look comes after the first step; the second one has other stacks too."""
    looks, lock, look = [True], Lock(), record._Stacks.look

    def at_first(stacks: record._Stacks, *, is_held: bool = False) -> None:
        with lock:
            if looks[-1]:
                look(stacks, is_held=is_held)
                looks.append(True)

    monkeypatch.setattr(record._Stacks, "look", at_first)
    monkeypatch.setattr(record, "_LOOK_S", 0.0)
    with running(tmp_path, 1) as at:

        def act() -> None:
            at.say("step")
            enough = len(looks) + 2
            while len(looks) < enough:
                time.sleep(0.01)
            with lock:
                looks.append(False)
            at.say("threads")
            at.process.stdin.close()  # type: ignore[union-attr]
            at.process.wait()

        found = recorded_while(at.process.pid, tmp_path / "t.hst", act, stacks=True, ends=True)
    assert (found.ended, found.drops, found.lost_frees) == ("process", 0, 0)
    after = stacked(tmp_path / "t.hst")[found.census_blocks :]
    have = [bool(frames) for op, _, frames in after if op in BIRTHS]
    assert have.index(False) > STEPS // 4
    assert 0 < have.count(False) < have.count(True) // 100
