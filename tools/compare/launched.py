"""Runs a user's program once from a small process that measures it (`runtime/replay/launch.c`)."""

import subprocess
from pathlib import Path

import msgspec

from heapsmith.codegen.toolchain import Tool
from heapsmith.model.errors import Missing
from heapsmith.tools.common.limited import Output, too_long
from heapsmith.tools.common.process_watch import Watch, watching
from heapsmith.tools.common.processes import end_below
from heapsmith.tools.common.program_start import Start, not_started
from heapsmith.tools.common.replay_tools import runtime_tool

PERIOD_US = 5000
"""The time between two samples of RSS; docs/lab/bench.md has what they cost."""


class Launched(msgspec.Struct, frozen=True):
    """The report of heapsmith-launch on one run (`runtime/replay/launch.c`).

    `average_rss_bytes`: over time, of the sum over the command and its descendants, without children that fork has
    just made, from `samples` every PERIOD_US, which took `sampling_ns` of CPU time outside the command.
    `peak_rss_bytes`: the largest such sum, or the peak of the largest process if that is more: of the command, the
    descendants that were waited for, and daemons that ended before the command. A page that processes share counts in
    each. `processes`: the most that a sample saw.
    `left`: processes that went on after the command's end.
    """

    exec_errno: int
    exit_status: int
    signal: int
    wall_ns: int
    user_ns: int
    system_ns: int
    peak_rss_bytes: int
    average_rss_bytes: int
    samples: int
    sampling_ns: int
    minor_faults: int
    left: int = 0
    processes: int = 1

    @property
    def cpu_ns(self) -> int:
        return self.user_ns + self.system_ns


def launcher() -> Path:
    """heapsmith-launch, which runs a command from a small process (launch.c says why)."""
    return launch_tool().ready()


def launch_tool() -> Tool:
    """What it is made of."""
    return runtime_tool("heapsmith-launch", "launch.c", "become.c")


def launch(
    start: Start, report: Path, limit_s: float | None, *, stdout: Output, stderr: Output, watch: Watch | None = None
) -> Launched:
    """One run with /dev/null as standard input; the launcher writes to `report`. `watch` sees its processes.

    Raises BadInput if the system cannot execute the program, Missing if the launcher cannot run,
    CheckFailed for a run that exceeds `limit_s`, which is killed.
    """
    report.write_bytes(b"")
    with subprocess.Popen(
        [launcher(), report, str(PERIOD_US)],
        env={},
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        close_fds=False,
    ) as process:
        try:
            with watching(watch, process.pid, with_root=False):
                process.communicate(start.describe(), timeout=limit_s)
        except BaseException as error:
            if process.poll() is None:
                end_below(process.pid)
                process.kill()
            if isinstance(error, subprocess.TimeoutExpired):
                raise too_long(limit_s) from None
            raise
    if process.returncode != 0:
        raise Missing(f"the launcher cannot run {start.command[0]}: {report} cannot be written")
    used = msgspec.json.decode(report.read_bytes(), type=Launched)
    if used.exec_errno:
        raise not_started(start, used.exec_errno)
    return used
