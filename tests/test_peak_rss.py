"""Peak and average RSS of a command with several processes: those that live at once, and what they share."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from heapsmith.codegen.toolchain import compile_c
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.compare.launched import Launched, launcher
from heapsmith.tools.compare.measure import measure
from heapsmith.tools.report.measurements import notes

MIB = 1 << 20

# Two children with 32 MiB each, one after the other or at once; each lives until the launcher has taken three samples
# of it. Each sample ends a wait of the launcher's.
CHILDREN = """
import os, subprocess, sys, time
launcher, block = int(sys.argv[1]), bytearray(int(sys.argv[3]) << 20)

def samples():
    with open(f"/proc/{launcher}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("voluntary"))

def sampled():
    begun = samples()
    while samples() < begun + 4:
        time.sleep(0.001)

def child():
    words = [sys.executable, "-S", "-E", sys.argv[0], str(launcher), "none", "32"]
    return subprocess.Popen(words, stdout=subprocess.PIPE, stdin=subprocess.PIPE)

if sys.argv[2] == "none":
    print("ready", flush=True)
    sys.stdin.read()
for together in {"none": [], "after": [1, 1], "once": [2]}[sys.argv[2]]:
    children = [child() for _ in range(together)]
    for one in children:
        one.stdout.readline()
    sampled()
    for one in children:
        one.communicate()
"""

# How many samples the launcher has taken, or one more.
SAMPLES = """
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static int samples(int launcher)
{
    static char path[64], line[256];
    int found = 0;
    snprintf(path, sizeof path, "/proc/%d/status", launcher);
    FILE *file = fopen(path, "r");
    while (file != NULL && fgets(line, sizeof line, file) != NULL)
        sscanf(line, "voluntary_ctxt_switches: %d", &found);
    if (file != NULL)
        fclose(file);
    return found;
}
"""

# A child of vfork has its parent's memory until its exec. With an argument a thread of the parent's changes that
# meanwhile, where kcmp is permitted: elsewhere the launcher cannot tell.
VFORK_64_MIB = (
    SAMPLES
    + """
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
static void *change(void *unused)
{
    for (;;) {
        char *block = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        memset(block, 1, 1 << 16);
        munmap(block, 1 << 16);
    }
    return unused;
}
int main(int count, char **words)
{
    static int launcher, begun;
    char *block = malloc(64 << 20);
    memset(block, 1, 64 << 20);
    launcher = getppid();
    pthread_t thread;
    if (count > 1 && syscall(SYS_kcmp, getpid(), launcher, 1, 0L, 0L) >= 0)
        pthread_create(&thread, NULL, change, words);
    begun = samples(launcher);
    if (vfork() == 0) {
        while (samples(launcher) < begun + 24)
            usleep(1000);
        _exit(0);
    }
    return block[12345] - 1;
}
"""
)

# A child of fork waits until a sample has seen it, and then executes a program. With an argument, a number of samples,
# it writes to all pages instead, and ends when there were as many.
FORK_64_MIB = (
    SAMPLES
    + """
#include <sys/wait.h>
int main(int count, char **words)
{
    int launcher = getppid();
    char *block = malloc(64 << 20);
    memset(block, 1, 64 << 20);
    int begun = samples(launcher);
    while (samples(launcher) == begun)
        usleep(1000);
    int stays = count > 1 ? atoi(words[1]) : 2;
    if (fork() == 0) {
        begun = samples(launcher);
        if (count > 1)
            memset(block, 2, 64 << 20);
        while (samples(launcher) < begun + stays)
            usleep(1000);
        if (count == 1)
            execl("/bin/true", "true", NULL);
        _exit(0);
    }
    wait(NULL);
    return block[12345] - 1;
}
"""
)


@pytest.mark.parametrize(("when", "processes", "bounds"), [("once", 3, (64, 127)), ("after", 2, (32, 63))])
def test_the_peak_rss_is_of_the_processes_that_live_at_once(
    when: str, processes: int, bounds: tuple[int, int], tmp_path: Path
) -> None:
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    command = ["sh", "-c", f'exec "{sys.executable}" -S -E "{script}" $PPID {when} 0']
    table = measure(command, ["glibc"], stop=Stop(1))
    (used,) = table.rows[0].runs
    assert used.processes == processes
    assert bounds[0] * MIB < used.peak_rss_bytes < bounds[1] * MIB  # with what Python itself has
    assert used.average_rss_bytes <= used.peak_rss_bytes
    note = f"RSS is the sum over up to {processes} processes: pages that they share count in each"
    assert note in notes(table)


@pytest.mark.parametrize("arguments", [[], ["changes"]], ids=["alone", "with a thread"])
def test_the_peak_rss_of_one_process_is_the_systems(arguments: list[str], tmp_path: Path) -> None:
    """Also where it is about to execute another program, as by posix_spawn: the child's memory is its parent's."""
    (tmp_path / "vfork.c").write_text(VFORK_64_MIB)
    compile_c([tmp_path / "vfork.c"], tmp_path / "vfork", flags=["-O0", "-fno-builtin", "-pthread"])
    table = measure([str(tmp_path / "vfork"), *arguments], ["glibc"], stop=Stop(1))
    (used,) = table.rows[0].runs
    assert (used.samples > 2, used.processes) == (True, 1)
    assert 64 * MIB < used.peak_rss_bytes < 72 * MIB
    assert notes(table) == []


def run_fork(folder: Path, arguments: list[str], period_us: int) -> Launched:
    (folder / "fork.c").write_text(FORK_64_MIB)
    compile_c([folder / "fork.c"], folder / "fork", flags=["-O0", "-fno-builtin"])
    description = Start([str(folder / "fork"), *arguments], str(folder / "fork")).describe()
    subprocess.run([launcher(), folder / "report", str(period_us)], input=description, check=True, timeout=100)
    used = msgspec.json.decode((folder / "report").read_bytes(), type=Launched)
    assert (used.exec_errno, used.exit_status, used.signal, used.processes) == (0, 0, 0, 2)
    return used


def test_a_child_between_fork_and_exec_does_not_double_the_peak(tmp_path: Path) -> None:
    """The period is so long that a busy machine does not make the child wait for eight samples."""
    used = run_fork(tmp_path, [], 1_000_000)
    assert 64 * MIB < used.peak_rss_bytes < 72 * MIB


def test_a_child_of_fork_that_stays_without_exec_counts(tmp_path: Path) -> None:
    used = run_fork(tmp_path, ["12"], 5000)
    assert 128 * MIB < used.peak_rss_bytes < 140 * MIB
