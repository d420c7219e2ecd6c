"""What the programs of a command count in the search for its malloc."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from traces import trace_of

from heapsmith.tools.record.record import RecordResult, record
from heapsmith.tools.record.shares import shares
from heapsmith.tools.record.unseen import RecordedTrace


def recorded(path: Path, program: str, sizes: list[int], drops: int = 0) -> RecordedTrace:
    """A recorded process that allocates these sizes and frees them."""
    trace_of(path, sizes, freed=True)
    return RecordedTrace(str(path), 1, 0, 0, [program], 2 * len(sizes), len(sizes), drops, 0, 0, 0, 0, 0, 0)


def result(*traces: RecordedTrace) -> RecordResult:
    return RecordResult(0, 1, 1.0, list(traces), inlines=False, running=[], unwritten=[], interrupted=False)


def test_events_and_bytes_over_time_count_half_and_half(tmp_path: Path) -> None:
    server = recorded(tmp_path / "a.hst", "/usr/bin/server", [10] * 80)
    clients = [recorded(tmp_path / f"{name}.hst", f"/{name}/client", [100] * 6) for name in ("b", "c")]
    found = shares(result(server, *clients))
    # 80 of 92 blocks; 800 bytes until 159 ns, and twice 600 until 11 ns. The first client's trace stands for both.
    memory = 800 * 159, 2 * 600 * 11
    assert found == [
        (tmp_path / "a.hst", pytest.approx((80 / 92 + memory[0] / sum(memory)) / 2)),
        (tmp_path / "b.hst", pytest.approx((12 / 92 + memory[1] / sum(memory)) / 2)),
    ]


def test_small_programs_and_lost_events_are_left_out(tmp_path: Path) -> None:
    first = recorded(tmp_path / "a.hst", "asked-for", [1])
    busy = recorded(tmp_path / "b.hst", "busy", [100] * 97)
    small = recorded(tmp_path / "c.hst", "small", [100] * 1)
    lossy = recorded(tmp_path / "d.hst", "lossy", [100] * 500, drops=1)
    (one, part), (other, rest) = shares(result(first, busy, small, lossy))
    assert (one, other) == (tmp_path / "a.hst", tmp_path / "b.hst")  # the first has less than LEAST_SHARE, and stays
    assert part + rest == pytest.approx(1)
    assert 0 < part < 0.02
    assert shares(result(first)) == [(tmp_path / "a.hst", 1.0)]


def test_a_command_of_two_programs(tmp_path: Path) -> None:
    python = shlex.join([sys.executable, "-S", "-c", "print(sum(range(9)))"])
    run = record(["sh", "-c", f"{python} && exec env"], tmp_path / "t.hst", stdout=subprocess.DEVNULL)
    found = shares(run)
    assert len(run.traces) >= 2
    assert sum(part for _, part in found) == pytest.approx(1)
    assert found[0][0] == tmp_path / "t.hst"
    assert found[0][1] > 0.5
