"""Measuring real programs: the launcher's RSS is the program's own, output is compared, statuses pass through."""

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.tools.common.preload import for_all, preloadable
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.compare.launched import Launched, launch, launcher
from heapsmith.tools.compare.measure import Given, MeasureTable, measure
from heapsmith.tools.compare.under import run_under

MIB = 1 << 20

# A library that counts as a malloc, leaves the work to the C library's own, and logs the programs it is loaded into.
FORWARD = """
#include <stdio.h>
#include <stdlib.h>
extern void *__libc_malloc(size_t);
void *malloc(size_t n) { return __libc_malloc(n); }
__attribute__((constructor)) static void loaded(void)
{
    FILE *log = getenv("LOG") ? fopen(getenv("LOG"), "a") : NULL;
    if (log != NULL && fprintf(log, "loaded\\n") > 0) fclose(log);
}
"""

TOUCH_64_MIB = """
#include <stdlib.h>
#include <string.h>
int main(void) { char *block = malloc(64 << 20); memset(block, 1, 64 << 20); return block[12345] - 1; }
"""

# For half of its time.
HOLD_64_MIB = """
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void)
{
    char *block = malloc(64 << 20);
    memset(block, 1, 64 << 20);
    usleep(150000);
    free(block);
    usleep(150000);
    return 0;
}
"""

# As in a sandbox that refuses it.
NO_PIDFD = """
#include <errno.h>
long syscall(long number, ...) { (void)number; errno = ENOSYS; return -1; }
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with forward.so and the programs touch and hold."""
    folder = tmp_path_factory.mktemp("built")
    (folder / "forward.c").write_text(FORWARD)
    (folder / "touch.c").write_text(TOUCH_64_MIB)
    compile_c([folder / "forward.c"], folder / "forward.so", flags=["-shared", "-fPIC", "-fno-builtin"])
    (folder / "hold.c").write_text(HOLD_64_MIB)
    for name in ("touch", "hold"):
        compile_c([folder / f"{name}.c"], folder / name, flags=["-O0", "-fno-builtin"])
    return folder


def test_peak_rss_is_the_programs_not_this_processs(built: Path) -> None:
    ballast = bytearray(os.urandom(MIB)) * 200
    assert len(ballast) == 200 * MIB
    (small,) = measure(["true"], ["glibc"], stop=Stop(2)).rows
    assert 0 < small.peak_rss_bytes.median < 8 * MIB
    (large,) = measure([str(built / "touch")], ["glibc"], stop=Stop(2)).rows
    assert 64 * MIB < large.peak_rss_bytes.median < 72 * MIB
    assert large.minor_faults.median > small.minor_faults.median
    child = "import resource, os; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
    direct = int(subprocess.run([sys.executable, "-c", child], check=True, capture_output=True, text=True).stdout)
    assert direct > 200 * 1024  # KiB: what the launcher is for


@pytest.mark.thorough
def test_times_are_the_programs(built: Path) -> None:
    spin = "i = 0\nwhile i < 3000000: i += 1\n"
    (busy,) = measure([sys.executable, "-S", "-c", spin], ["glibc"], stop=Stop(1)).rows
    (idle,) = measure(["sleep", "0.2"], ["glibc"], stop=Stop(1)).rows
    assert busy.cpu_ns.median > 50e6
    assert busy.wall_ns.median >= 0.3 * busy.cpu_ns.median
    assert idle.wall_ns.median > 200e6
    assert idle.cpu_ns.median < 50e6


@pytest.mark.thorough
def test_the_average_rss_is_that_of_the_tree_over_time(built: Path) -> None:
    """64 MiB for half of the time, in a child of the command."""
    for _ in range(9):  # a busy machine may prolong one of the halves
        (row,) = measure(["sh", "-c", f"'{built / 'hold'}'; true"], ["glibc"], stop=Stop(1)).rows
        if is_half := 0.3 * 64 * MIB < row.average_rss_bytes.median < 0.75 * 64 * MIB + 16 * MIB:
            break
    assert is_half
    assert row.peak_rss_bytes.median > 64 * MIB
    (used,) = row.runs
    assert 20 < used.samples < 100_000
    assert 0 < used.sampling_ns < 0.5 * used.wall_ns


def test_wall_time_without_samples_is_the_programs(tmp_path: Path) -> None:
    (tmp_path / "no_pidfd.c").write_text(NO_PIDFD)
    compile_c([tmp_path / "no_pidfd.c"], tmp_path / "no_pidfd.so", flags=["-shared", "-fPIC"])
    report, env = tmp_path / "report", os.environ | {"LD_PRELOAD": preloadable(tmp_path / "no_pidfd.so")}
    description = Start(["sleep", "0.2"], "/bin/sleep").describe()
    subprocess.run([launcher(), report, "5000"], input=description, check=True, env=env)
    used = msgspec.json.decode(report.read_bytes(), type=Launched)
    assert used.wall_ns > 200e6
    assert (used.samples, used.average_rss_bytes) == (0, used.peak_rss_bytes)


def test_what_goes_on_after_the_commands_end_is_told(built: Path) -> None:
    """Such as a daemon: it leaves the group of its parent, and its parents end."""
    daemon = "(setsid sleep 30 >/dev/null 2>&1 &) ; sleep 0.2"
    (row,) = measure(["sh", "-c", daemon], [str(built / "forward.so")], stop=Stop(1)).rows
    assert row.note.startswith("1 process went on after the command's end")
    (row,) = measure(["sh", "-c", "true & wait; true"], [str(built / "forward.so")], stop=Stop(1)).rows
    assert (row.note, row.runs[0].left) == ("", 0)


WAITS = "(setsid {} > /dev/null 2>&1 & echo $! > {}) ; {} ; while kill -0 $(cat {}) 2>/dev/null ; do sleep .01 ; done"
"""A daemon, and a command that looks whether it is gone, as scripts of services do."""


@pytest.mark.parametrize("samples", [True, False], ids=["with pidfd", "without pidfd"])
def test_a_daemon_that_has_ended_is_gone_for_the_command(samples: bool, built: Path, tmp_path: Path) -> None:
    pid, report = tmp_path / "pid", tmp_path / "report"
    (tmp_path / "no_pidfd.c").write_text(NO_PIDFD)
    compile_c([tmp_path / "no_pidfd.c"], tmp_path / "no_pidfd.so", flags=["-shared", "-fPIC"])
    env = os.environ | ({} if samples else {"LD_PRELOAD": preloadable(tmp_path / "no_pidfd.so")})
    script = WAITS.format("sleep 300", f"'{pid}'", f"kill $(cat '{pid}')", f"'{pid}'")
    description = Start(["sh", "-c", script], "/bin/sh").describe()
    subprocess.run([launcher(), report, "5000"], input=description, check=True, env=env, timeout=100)
    used = msgspec.json.decode(report.read_bytes(), type=Launched)
    assert (used.exit_status, used.left, used.samples > 0) == (0, 0, samples)


@pytest.mark.thorough
def test_what_a_daemon_used_that_ended_counts(built: Path, tmp_path: Path) -> None:
    pid = f"'{tmp_path / 'pid'}'"
    (row,) = measure(["sh", "-c", WAITS.format(f"'{built / 'hold'}'", pid, "true", pid)], ["glibc"], stop=Stop(1)).rows
    assert (row.note, row.runs[0].left) == ("", 0)
    assert row.peak_rss_bytes.median > 64 * MIB
    assert row.average_rss_bytes.median > 8 * MIB


def test_one_round_tells_whether_the_output_varies_by_itself(built: Path) -> None:
    """One more run under the first library says so."""
    rows = measure(["sh", "-c", "echo $$"], ["glibc", str(built / "forward.so")], stop=Stop(1)).rows
    assert [(row.same_output, row.ratios.cpu.low) for row in rows] == [(None, None)] * 2


def test_rows_ratios_and_order(built: Path) -> None:
    seen: list[str] = []
    table = measure(
        ["sh", "-c", "echo same; exit 7"],
        ["glibc", str(built / "forward.so")],
        stop=Stop(2),
        progress=lambda what, done, total: seen.append(f"{what} {done}/{total}"),
    )
    first, second = table.rows
    assert seen[:3] == ["sh: whose malloc it uses 0/1", "sh under glibc 0/6", "sh under forward.so 1/6"]
    assert sorted(line.partition(" ")[2].rpartition(" ")[0] for line in seen[3:-1]) == [
        *["under forward.so"] * 2,
        *["under glibc"] * 2,
    ]
    assert {one for _, one in first.ratios.items()} == {Ratio(1.0, 1.0, 1.0)}
    assert second.ratios.wall.median > 0
    assert (table.rounds, table.ended, len(second.runs)) == (2, "rounds", 2)
    assert (first.exit_status, second.exit_status, second.signal) == (7, 7, 0)
    assert (first.same_output, second.same_output) == (True, True)
    assert msgspec.json.decode(msgspec.json.encode(table), type=MeasureTable) == table


def test_the_first_round_warms_up_and_is_not_counted(built: Path, tmp_path: Path) -> None:
    marker = tmp_path / "marker"
    script = f"test -e '{marker}' || {{ touch '{marker}'; exit 3; }}"
    (row,) = measure(["sh", "-c", script], [str(built / "forward.so")], stop=Stop(1)).rows
    assert row.exit_status == 0
    assert marker.exists()


@pytest.mark.parametrize(
    ("script", "same"),
    [
        ("cat /dev/zero | head -c 3000000", (True, True)),
        ("echo $LD_PRELOAD", (True, False)),
        ('test -z "$LD_PRELOAD"', (True, False)),  # the exit status
        ('test -z "$LD_PRELOAD" || kill -TERM $$', (True, False)),
        ("echo $$", (None, None)),
        ("cat", (True, True)),  # standard input is empty
    ],
)
def test_output_is_compared_byte_for_byte(built: Path, script: str, same: tuple[bool | None, bool | None]) -> None:
    rows = measure(["sh", "-c", script], ["glibc", str(built / "forward.so")], stop=Stop(2)).rows
    assert tuple(row.same_output for row in rows) == same
    if "kill" in script:
        assert rows[1].signal == signal.SIGTERM
        assert "killed by SIGTERM" in rows[1].note


def test_the_environment_given_is_the_programs(built: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.so"
    compile_c([built / "forward.c"], other, flags=["-shared", "-fPIC", "-fno-builtin"])
    script = f'case "$LD_PRELOAD $COLOUR" in */forward.so:{preloadable(other)}" blue") ;; *) exit 1 ;; esac'
    env = {"PATH": os.environ["PATH"], "LD_PRELOAD": preloadable(other), "COLOUR": "blue", "LOG": str(tmp_path / "log")}
    (row,) = measure(["sh", "-c", script], [str(built / "forward.so")], stop=Stop(1), given=Given(env)).rows
    assert row.exit_status == 0
    assert (tmp_path / "log").read_text().count("loaded") == 2 * 2  # two libraries, two rounds: not into the launcher


def test_measure_refuses_what_it_cannot_run(built: Path, tmp_path: Path) -> None:
    not_a_program = tmp_path / "not-a-program"
    not_a_program.write_text("\x01\x02")
    not_a_program.chmod(0o755)
    for command, libs, complaint in [
        ([], ["glibc"], "no command"),
        (["no-such-command"], ["glibc"], "no-such-command: no such command"),
        ([str(not_a_program)], ["glibc"], "not-a-program: cannot be executed: Exec format error"),
        (["true"], [str(tmp_path / "none.so")], r"none\.so: no such library"),
        (["true"], ["mimaloc"], "did you mean mimalloc"),
    ]:
        with pytest.raises(BadInput, match=complaint):
            measure(command, libs, stop=Stop(1))
    with pytest.raises(BadInput, match="rounds: expected at least 1"):
        measure(["true"], ["glibc"], stop=Stop(0))


def ended_by_name(word: str) -> int:
    """The processes with this word in their command line, which are killed."""
    found = 0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if word in os.fsdecode((folder / "cmdline").read_bytes()).split("\0"):
                os.kill(int(folder.name), signal.SIGKILL)
                found += 1
    return found


@pytest.mark.thorough
def test_a_limit_ends_a_command_that_starts_more_and_more_processes(tmp_path: Path) -> None:
    word = f"3600.{os.getpid()}"
    start, void = Start(["sh", "-c", f"while :; do sleep {word} & done"], "/bin/sh"), subprocess.DEVNULL
    left = []
    for _ in range(5):
        with pytest.raises(CheckFailed, match="killed: it had not ended"):
            launch(start, tmp_path / "report", 0.2, stdout=void, stderr=void)
        left.append(ended_by_name(word))
    assert left == [0] * 5


USAGE = "usage: heapsmith-launch REPORT PERIOD_US, with a description as its input"


def test_the_launchers_bad_use(tmp_path: Path) -> None:
    done = subprocess.run([launcher()], stdin=subprocess.DEVNULL, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, f"{USAGE}\n")
    report = tmp_path / "no" / "report"
    description = Start(["true"], "/bin/true").describe()
    less = description.replace(b"\0001\0true\0", b"\000900\0true\0")  # more words than there are
    done = subprocess.run([launcher(), report, "5000"], input=less, check=False, capture_output=True)
    assert (done.returncode, done.stderr.decode()) == (2, f"{USAGE}\n")
    done = subprocess.run([launcher(), report, "5000"], input=description, check=False, capture_output=True)
    assert (done.returncode, done.stderr.decode()) == (2, f"heapsmith-launch: {report}: No such file or directory\n")


def test_run_passes_everything_through(built: Path) -> None:
    lib = built / "forward.so"
    assert run_under(lib, ["sh", "-c", "exit 9"]) == 9
    assert run_under(lib, ["sh", "-c", "kill -TERM $$"]) == 128 + signal.SIGTERM
    assert run_under(lib, ["sh", "-c", f"test '{for_all(lib).word}' = \"$LD_PRELOAD\""]) == 0
    script = (
        "from pathlib import Path; from heapsmith.tools.compare.under import run_under; "
        f"print(run_under(Path({str(lib)!r}), ['sh', '-c', 'read line; echo got $line $LD_PRELOAD; echo bad >&2']))"
    )
    env = os.environ | {"LD_PRELOAD": "libm.so.6"}
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, input="hello\n", capture_output=True, text=True, env=env
    )
    assert done.stdout == f"got hello {for_all(lib).word}:libm.so.6\n0\n"
    assert done.stderr == "bad\n"


def test_a_signal_to_run_reaches_the_command(built: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from heapsmith.tools.compare.under import run_under; "
        "command = ['sh', '-c', 'trap \"exit 5\" TERM; echo ready; while :; do sleep 0.05; done']; "
        f"sys.exit(run_under(Path({str(built / 'forward.so')!r}), command))"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        try:
            assert process.wait(timeout=300) == 5
        finally:
            process.kill()  # else a failure would wait for it for ever


def test_run_refuses_what_it_cannot_run(built: Path, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"none\.so: no such library"):
        run_under(tmp_path / "none.so", ["true"])
    with pytest.raises(BadInput, match="no-such-command: no such command"):
        run_under(built / "forward.so", ["no-such-command"])
    with pytest.raises(BadInput, match="no command"):
        run_under(built / "forward.so", [])
