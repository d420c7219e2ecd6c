"""vm.overcommit_memory=2: what the system counts of a program against its limit, and a heap that meets this limit."""

import fcntl
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest
from preloaded import library, program, start

from heapsmith.tools.common.preload import preloadable

VM = Path("/proc/sys/vm")
KIB, MIB, TIB = 1 << 10, 1 << 20, 1 << 40
BOUNDLESS = 1 << 60
DESIGNS = ["default", "owner", "hardened", "unmap"]

pytestmark = [
    pytest.mark.big,
    pytest.mark.skipif(not os.access(VM / "overcommit_memory", os.W_OK), reason="vm.overcommit_memory cannot be set"),
]


@contextmanager
def strictly(limit: int, reserve: int | None = None) -> Iterator[None]:
    """The system refuses what would be more than `limit` bytes of writable memory in all.

    reserve: the most that it keeps from a process, which is a 32nd of the addresses that the process has. Only one test
    at a time does this; a limit far above what the machine uses does no harm to what else runs.
    """
    wanted = {"overcommit_kbytes": limit // KIB, "overcommit_memory": 2}
    wanted |= {} if reserve is None else {"user_reserve_kbytes": reserve // KIB}
    with Path(__file__).open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        names = ["overcommit_memory", "user_reserve_kbytes", "overcommit_ratio", "overcommit_kbytes"]
        before = {name: (VM / name).read_text() for name in names}
        try:
            for name, value in wanted.items():
                (VM / name).write_text(str(value))
            yield
        finally:
            for name, text in before.items():
                if (VM / name).read_text() != text:  # ratio and kbytes: who writes one makes the other 0
                    (VM / name).write_text(text)


class Mapping(NamedTuple):
    """A line of /proc/PID/smaps: bytes, access as "rw-p", the file or what else it is, and whether it is counted."""

    size: int
    access: str
    name: str
    counted: bool


def mappings_of(process: int) -> list[Mapping]:
    """The mappings of a process; VmFlags have "ac" where the system counts one against its limit."""
    text = Path(f"/proc/{process}/smaps").read_text()
    heads = re.findall(r"^([0-9a-f]+)-([0-9a-f]+) (\S+) \S+ \S+ \S+ *(.*)$", text, re.MULTILINE)
    flags = re.findall(r"^VmFlags:(.*)$", text, re.MULTILINE)
    return [
        Mapping(int(end, 16) - int(begin, 16), access, name, "ac" in of.split())
        for (begin, end, access, name), of in zip(heads, flags, strict=True)
    ]


PYTHON = """
import json
live = [json.dumps(list(range(index % 300))) for index in range(200_000)]
print("ready", flush=True)
input()
live.clear()
print("ready", flush=True)
input()
"""
SQLITE = """create table t(a, b);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 100000)
insert into t select i, hex(randomblob(20)) from n;
create index u on t(b);
.print ready
delete from t where a % 3;
.print ready
"""
PROGRAMS = {
    "python3": (["python3", "-c", PYTHON], "\n"),
    "sqlite3": (["sqlite3", ":memory:"], SQLITE),
    "redis-server": (["redis-server", "--port", "0", "--unixsocket", "socket", "--save", ""], ""),
}
LOAD = ["redis-benchmark", "-s", "socket", "-q", "-n", "20000", "-r", "20000", "-d", "200", "-t", "set,lpush"]


def stops_of(name: str, design: str | None, folder: Path) -> list[list[Mapping]]:
    """The mappings of a program under a design, or as it is, at the two moments when it waits for us."""
    command, text = PROGRAMS[name]
    if not (tool := shutil.which(command[0], path="/usr/bin")):
        pytest.skip(f"{command[0]} is not installed")
    preload = {"LD_PRELOAD": preloadable(library(design, checked=False))} if design else {}
    environment = {**os.environ, **preload}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [tool, *command[1:]], stdin=pipe, stdout=pipe, text=True, bufsize=1, cwd=folder, env=environment
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(text if name == "sqlite3" else "")
            found = []
            for _ in range(2):
                if name == "redis-server":
                    load(folder, process)
                else:
                    assert process.stdout.readline() == "ready\n"
                found.append(mappings_of(process.pid))
                process.stdin.write("\n" if name == "python3" else "")
            return found
        finally:
            process.kill()


def load(folder: Path, server: subprocess.Popen[str]) -> None:
    """Wait until redis answers, and put it under load."""
    command: Sequence[str] = ["redis-cli", "-s", "socket", "ping"]
    while subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode:
        assert server.poll() is None, "redis ended"
    subprocess.run(LOAD, cwd=folder, stdout=subprocess.DEVNULL, check=True)


def counted(mappings: list[Mapping]) -> int:
    """Bytes that the system counts."""
    return sum(mapping.size for mapping in mappings if mapping.counted)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_system_counts_what_is_writable(name: str, tmp_path: Path) -> None:
    """Of a file's pages also those that were writable until the loader was done with them. Nothing that is reserved."""
    with strictly(BOUNDLESS):
        plain = [counted(mappings) for mappings in stops_of(name, None, tmp_path)]
        print(f"{name}: {[bytes_counted // KIB for bytes_counted in plain]} KiB")
        for design in DESIGNS:
            for mappings, bytes_counted in zip(stops_of(name, design, tmp_path), plain, strict=True):
                print(f"{name} {design}: {(counted(mappings) - bytes_counted) // KIB:+} KiB")
                assert sum(mapping.size for mapping in mappings) > 500 << 30
                for mapping in mappings:
                    writable = mapping.access.startswith("rw") and mapping.access.endswith("p")
                    assert mapping.counted == writable or (mapping.counted and mapping.name.startswith("/"))


def test_an_unmapped_superslab_is_counted_no_more(tmp_path: Path) -> None:
    with strictly(BOUNDLESS):
        full, freed = stops_of("python3", "unmap", tmp_path)
    assert counted(full) - counted(freed) > 50 * MIB


SPACE = 64 * TIB
LEFT = 1024 * MIB


@pytest.mark.parametrize("size", [200, 100_000, 64 * MIB])
@pytest.mark.parametrize("design", [*DESIGNS, "lean", "own-superslabs", "growth"])
def test_a_program_that_meets_the_limit_goes_on(design: str, size: int) -> None:
    """The system keeps a 32nd of the addresses of the program from it: so LEFT bytes remain, and 2 TiB more for others.

    Other processes allocate and free meanwhile, so only the order of magnitude of LEFT is sure.
    """
    found = re.search(r"^Committed_AS: +(\d+) kB$", Path("/proc/meminfo").read_text(), re.MULTILINE)
    assert found is not None
    with strictly(int(found[1]) * KIB + SPACE // 32 + LEFT, reserve=BOUNDLESS):
        done = start([program("run_commit"), size, SPACE], library(design, checked=False), timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    first, second = map(int, done.stdout.split())
    print(f"{design}, blocks of {size}: {first // MIB} MiB, then {second // MIB} MiB")
    assert min(first, second) > LEFT // 8
