"""Memory that malloc did not give is told beside a verdict on mallocs, and no program is accused wrongly."""

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from bench_rows import ACROSS, nothing, sample
from conftest import Answer
from watched import IS_AWAITED, WATCHED, awaiting, of_folder

from heapsmith.bench.programs.programs import Program
from heapsmith.bench.suite import benchmark
from heapsmith.bench.suite import rows as suite_rows
from heapsmith.bench.suite.load import Clocks
from heapsmith.bench.suite.results import BenchReport, Extra, make_column, make_row
from heapsmith.bench.suite.rows import Row
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.reader import TraceWriter
from heapsmith.tools.common.other_memory import OTHER_BYTES, HeapsmithBytes, OtherMemory, is_other, largest
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.common.served_share import Image, beside_malloc
from heapsmith.tools.compare.measure import measure
from heapsmith.tools.compare.under import run_under
from heapsmith.tools.forge import forge
from heapsmith.tools.peers.peers import GLIBC, Library
from heapsmith.tools.record.record import record
from heapsmith.tools.record.unseen import RecordedTrace, other_memory

Call = Callable[..., Answer]
MIB = 1 << 20
SIZE = 30 * MIB
PLACES = {
    "arena": "mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)",
    "array": "array",
    "block": "malloc(SIZE)",
    "blocks": "many()",
    "shared": "mmap(0, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0)",
    "file": "mmap(0, SIZE, PROT_READ, MAP_PRIVATE, open(words[1], O_RDONLY), 0)",
}
"""Programs by name: where their 30 MiB are."""
RESIDENT = {"threads": 60 * MIB}
"""Of other programs: the bytes that are resident at the end."""
PROGRAM = (
    IS_AWAITED
    + """
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
enum { SIZE = 30 << 20, BLOCK = 600 };
static char array[SIZE];
static volatile char sum;
/* The blocks are small; nothing is at the address that it returns. */
static char *many(void)
{
    for (int rest = SIZE; rest > 0; rest -= BLOCK)
        memset(malloc(BLOCK), 1, BLOCK);
    return NULL;
}
int main(int count, char **words)
{
    char *place = PLACE;
    for (int i = 0; i < 1000; i++)
        free(malloc(i));
    for (int page = 0; place != NULL && page < SIZE; page += 4096)
        if (count > 1)
            sum += place[page];
        else
            place[page] = 1;
    (void)words;
    (void)array;
    while (is_awaited())
        usleep(1000);
    return 0;
}
"""
)
THREADS = (
    IS_AWAITED
    + """
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
static void *idle(void *unused)
{
    for (int size = 8; size < 4000; size += 24)
        memset(malloc(size), 1, size);
    pause();
    return unused;
}
int main(int count, char **words)
{
    pthread_t one;
    (void)words;
    for (int i = 0; i < 200; i++)
        pthread_create(&one, NULL, idle, NULL);
    do
        usleep(1000);
    while (is_awaited() || count > 1);
    return 0;
}
"""
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the programs of PLACES and `threads`, and the file `data`."""
    folder = tmp_path_factory.mktemp("other memory")
    (folder / "place.c").write_text(PROGRAM)
    (folder / "threads.c").write_text(THREADS)
    flags = ["-O1", "-fno-builtin", "-w", of_folder(folder)]
    for name, place in PLACES.items():
        compile_c([folder / "place.c"], folder / name, flags=[*flags, f"-DPLACE={place}"])
    compile_c([folder / "threads.c"], folder / "threads", flags=[*flags, "-pthread"])
    (folder / "data").write_bytes(b"x" * SIZE)
    return folder


@pytest.fixture(autouse=True)
def patient(folder: Path) -> Iterator[None]:
    """The programs of the folder go on until all of their memory is seen."""
    with awaiting(folder, lambda one: one.has is not None and one.rss >= RESIDENT.get(one.name, SIZE)):
        yield


def command(folder: Path, name: str) -> list[str]:
    return [str(folder / name), *[str(folder / "data")] * (name == "file")]


def checked(found: list[OtherMemory], name: str) -> None:
    """One program, and most of its 30 MiB."""
    (one,) = found
    assert one.program == name
    assert one.malloc_bytes < 4 * MIB
    assert 20 * MIB < one.other_bytes < SIZE + 4 * MIB
    assert f"MiB of the resident memory of {name} (pid {one.pid}) are none of malloc's, which gave " in one.sentence()


@pytest.mark.parametrize("name", ["arena", "array"])
def test_a_measurement_tells_memory_that_malloc_did_not_give(folder: Path, name: str) -> None:
    checked(measure(command(folder, name), [GLIBC, "default"], stop=Stop(1)).other_memory, name)


@pytest.mark.parametrize("name", ["block", "blocks", "shared", "file", "threads"])
def test_no_program_is_accused_whose_memory_is_mallocs_or_files(folder: Path, name: str) -> None:
    assert measure(command(folder, name), ["default"], stop=Stop(1)).other_memory == []


def test_a_recording_tells_the_same(folder: Path, tmp_path: Path) -> None:
    checked(record(command(folder, "array"), tmp_path / "t.hst").other_memory, "array")
    for name in ("block", "file"):
        assert record(command(folder, name), tmp_path / "t.hst").other_memory == []
    wrapped = record(["env", "A=1", *command(folder, "block")], tmp_path / "t.hst")
    assert len(wrapped.traces) == 2
    assert wrapped.other_memory == []  # the wrapper's few bytes are not those of what it became


def test_a_child_of_the_command_is_told(folder: Path) -> None:
    words = ["sh", "-c", f"'{folder}/block' & '{folder}/arena'; '{folder}/arena'; wait"]
    checked(measure(words, ["default"], stop=Stop(1)).other_memory, "arena")


def test_mallocs_without_counters_are_compared_with_the_same_word(folder: Path) -> None:
    """Of glibc and peers nobody knows what they gave: one more run does."""
    checked(measure(command(folder, "arena"), [GLIBC], stop=Stop(1)).other_memory, "arena")
    assert measure(command(folder, "block"), [GLIBC], stop=Stop(1)).other_memory == []


def test_the_word_stands_with_the_verdict(call: Call, folder: Path) -> None:
    words = ("compare", "--rounds", "1", "--lib", "glibc", "--lib", "default")
    answer = call(*words, "--", *command(folder, "arena"))
    *_, verdict = answer.out.split("\n\n")
    assert verdict.startswith("default against glibc: ")
    assert "are none of malloc's, which gave" in " ".join(verdict.split())
    (told,) = json.loads(call(*words, "--json", "--", *command(folder, "arena")).out)["other_memory"]
    assert (told["program"], told["malloc_bytes"] < 4 * MIB) == ("arena", True)


def test_a_forge_that_is_interrupted_has_the_word(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: Call
) -> None:
    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(forge, "tune", interrupt)
    with suppress(KeyboardInterrupt):
        call("forge", "-o", tmp_path, "--", *command(folder, "arena"))
    assert (tmp_path / "report.md").read_text().count("of the resident memory of arena (pid ") == 1
    (told,) = json.loads((tmp_path / "report.json").read_text())["found"]["other_memory"]
    checked([OtherMemory(**told)], "arena")


@pytest.mark.big
def test_a_forge_ends_with_the_word(call: Call, folder: Path, tmp_path: Path) -> None:
    answer = call("forge", "-o", tmp_path, "--rounds", "1", "--budget", "1s", "--", *command(folder, "arena"))
    assert answer.status == 0
    told = "of the resident memory of arena (pid "
    assert " ".join(answer.out.split()).count(told) == 1
    assert (tmp_path / "report.md").read_text().count(told) == 1
    checked([OtherMemory(**one) for one in json.loads((tmp_path / "report.json").read_text())["other_memory"]], "arena")


def test_a_row_of_the_benchmark_has_the_word(folder: Path, tmp_path: Path) -> None:
    run = suite_rows._program_row(Program("arena", "arena", command(folder, "arena"), ()), "programs", None)
    checked(list(run.prepare(tmp_path)(Library("default", library_of(load("default"))), 60).other_memory), "arena")


def test_a_report_of_the_benchmark_has_the_word_of_each_program_once() -> None:
    few, most, other = (OtherMemory(n, program, n * MIB, 0) for n, program in ((20, "a"), (40, "a"), (30, "b")))
    one = Row("one", "programs", "it", nothing)
    runs = {column.name: [sample(1, 1, 1)] * 2 for column in ACROSS}
    runs["default"] = [sample(1, 1, 1)._replace(other_memory=found) for found in ([few], [most, other])]
    row = make_row(one, ACROSS, runs, {}, Clocks(), Extra())
    report = BenchReport(False, 2, [make_column(column, [row], ACROSS) for column in ACROSS], [row], {})
    assert [line for line in benchmark.notes(report) if line.startswith("one: ")] == [
        f"one: {most.sentence()}",
        f"one: {other.sentence()}",
    ]


def test_a_run_for_its_counters_has_the_word(call: Call, folder: Path, tmp_path: Path) -> None:
    said: list[str] = []
    library = library_of(load("default"))
    assert run_under(library, command(folder, "arena"), say=said.append) == 0
    assert said == []
    answer = call("run", "--stats", tmp_path / "s.json", "default", "--", *command(folder, "arena"))
    (line,) = answer.err.splitlines()
    assert "of the resident memory of arena (pid " in line


@pytest.mark.thorough
def test_the_interpreters_own_malloc_is_no_secret(folder: Path) -> None:
    """Python's small objects are in arenas of its own, by default."""
    python = shutil.which("python3") or sys.executable
    seen, watched = f"os.path.exists(f'{folder}/{{os.getpid()}}')", f"os.path.exists('{folder}/{WATCHED}')"
    job = (
        f"import os, time; kept = [(i, str(i)) for i in range(300000)]\nwhile {watched} and not {seen}: time.sleep(.01)"
    )
    free = ["env", "-u", "PYTHONMALLOC", python, "-S", "-c", job]
    (one,) = measure(free, [GLIBC, "default"], stop=Stop(1)).other_memory
    assert one.other_bytes > 20 * MIB
    assert measure(["env", "PYTHONMALLOC=malloc", *free[3:]], [GLIBC, "default"], stop=Stop(1)).other_memory == []


def test_the_heaps_of_threads_are_mallocs(folder: Path) -> None:
    """They are not committed bytes; they count where those do not explain what is resident."""
    environment = os.environ | {"LD_PRELOAD": preloadable(library_of(load("default")))}
    with subprocess.Popen([folder / "threads", "long"], env=environment) as process:
        heaps = 0
        while heaps < 200 * 1024 and process.poll() is None:
            many, few = (HeapsmithBytes().read(process.pid, resident) for resident in (1 << 40, 0))  # bytes only grow
            heaps = (many or 0) - (few or 0)
            time.sleep(0.01)
        process.kill()
    assert heaps >= 200 * 1024


@pytest.mark.parametrize(("threads", "at_once", "told"), [(1, True, True), (100, True, False), (100, False, True)])
def test_caches_of_threads_may_keep_what_was_freed(threads: int, at_once: bool, told: bool, tmp_path: Path) -> None:
    """Each thread asks for 100 KiB and frees it: a malloc may keep that for each of those that live at one time."""
    begins = [(Op.THREAD_START, one, 0, 0) for one in range(threads)]
    asks = [((Op.MALLOC, one, 0, 100 << 10), (Op.FREE, one, 0, 0)) for one in range(threads)]
    ends = [(Op.THREAD_EXIT, one, 0, 0) for one in range(threads)]
    if at_once:
        events = [*begins, *(event for both in asks for event in both), *ends]
    else:
        events = [event for begin, both, end in zip(begins, asks, ends, strict=True) for event in (begin, *both, end)]
    op, thread, block, size = zip(*events, strict=True)
    nothing = [0] * len(events)
    with TraceWriter(tmp_path / "t.hst", command=["p"], source="test") as writer:
        writer.append(Chunk.of(op, thread, block, size, nothing, nothing))
    trace = RecordedTrace(str(tmp_path / "t.hst"), 7, 1, 0, ["p"], len(events), 1, 0, 0, 0, 0, 0, 0, 0)
    image = Image(7, "p", 0.1, 20 * MIB, 20 * MIB, True, "", own_pid=7)
    expected = [OtherMemory(7, "p", 20 * MIB, 100 << 10)] if told else []
    assert other_memory([trace], [image]) == expected
    assert other_memory([trace], [image, image._replace(pid=8)]) == []  # in two namespaces 7 is another process each


def test_what_is_worth_a_word() -> None:
    """By hand."""
    assert not is_other(OTHER_BYTES, 0)
    assert is_other(OTHER_BYTES + 1, 0)
    assert not is_other(OTHER_BYTES + 2 * MIB, MIB)

    def image(pid: int, resident: int, given: int, has: bool | None = True) -> Image:
        return Image(pid, f"p{pid % 2}", 0.1, resident, resident, has, "", beside=(resident, given))

    few, more = image(1, 20 * MIB, MIB), image(3, 40 * MIB, MIB)
    assert beside_malloc([few, more]) == [OtherMemory(3, "p1", 40 * MIB, MIB)]
    assert beside_malloc([few, image(2, 20 * MIB, 8 * MIB)]) == [OtherMemory(1, "p1", 20 * MIB, MIB)]
    assert beside_malloc([image(1, 20 * MIB, MIB, None), image(2, 20 * MIB, MIB, has=False)]) == []
    assert beside_malloc([few, image(2, 900 * MIB, 800 * MIB)]) == []  # beside that one it does not matter
    assert [one.pid for one in largest([OtherMemory(n, f"p{n % 2}", n * MIB, 0) for n in (2, 7, 9)])] == [9, 2]
