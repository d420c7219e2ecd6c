"""Which processes a library serves: no verdict and no recording of a program that it never reached."""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from bits32 import built_32
from conftest import Answer
from mounts import WHY_NOT, everywhere_works
from watched import IS_AWAITED, awaiting, of_folder

from heapsmith.bench.programs.programs import Program
from heapsmith.bench.suite import rows as suite_rows
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.tools.common import preload_everywhere, served_share
from heapsmith.tools.common.foreground import run_foreground
from heapsmith.tools.common.preload import Preload, preloadable
from heapsmith.tools.common.process_watch import Watch, _Seen
from heapsmith.tools.common.program_start import Start
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.common.served_share import CHANGED, OWN_MALLOC, Image, apart, did_the_work, sentences
from heapsmith.tools.compare.measure import Given, measure
from heapsmith.tools.compare.under import run_under
from heapsmith.tools.peers.peers import GLIBC, Library
from heapsmith.tools.record.record import Processes, record
from heapsmith.tools.replay import replay as replays

CHURN = (
    IS_AWAITED
    + """
#include <stdlib.h>
/* Blocks come and go, at least 100,000, and while the process is awaited; with a word, until it is killed. */
int main(int count, char **words)
{
    char *kept[64] = {0};
    (void)words;
    for (unsigned i = 0; count > 1 || i < 100000 || i % 65536 != 0 || is_awaited(); i++) {
        free(kept[i % 64]);
        kept[i % 64] = malloc(24 + i % 900);
        kept[i % 64][0] = 1;
    }
    return 0;
}
"""
)
POOL = (
    IS_AWAITED
    + """
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
/* An allocator under another name, over 48 MiB of its own. */
static char *pool, *top;
static void *pool_malloc(size_t bytes)
{
    if (pool == NULL)
        top = pool = mmap(NULL, 96 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    top += bytes;
    return top - bytes;
}
int main(void)
{
    for (int i = 0; i < 48; i++)
        memset(pool_malloc(1 << 20), 1, 1 << 20);
    while (is_awaited())
        usleep(1000);
    return puts("done") < 0;
}
"""
)
OWN = """
#include <stddef.h>
static char arena[1 << 20];
static size_t used, calls;
void *malloc(size_t bytes) { calls++; used = (used + bytes + 15) % (1 << 19) & ~15ul; return arena + used; }
void free(void *block) { (void)block; }
void *calloc(size_t n, size_t bytes) { return malloc(n * bytes); }
void *realloc(void *block, size_t bytes) { (void)block; return malloc(bytes); }
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="expected root")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With `churn`, `pool`, and `own`, which is churn with a malloc of its own."""
    folder = tmp_path_factory.mktemp("served")
    for name, text in {"churn": CHURN, "pool": POOL, "own": CHURN + OWN}.items():
        (folder / f"{name}.c").write_text(text)
        compile_c([folder / f"{name}.c"], folder / name, flags=["-O1", "-fno-builtin", "-w", of_folder(folder)])
    return folder


@pytest.fixture(autouse=True)
def patient(folder: Path) -> Iterator[None]:
    """The programs of the folder go on until their work or memory is seen, and whose malloc they have.

    Not those that become one of them: what sh or env take is no work of theirs.
    """

    def is_seen(one: _Seen) -> bool:
        return Path(one.exe).parent == folder and one.has is not None and (one.cpu_s > 0.15 or one.rss > 48 << 20)

    with awaiting(folder, is_seen):
        yield


def special(folder: Path, *flags: str) -> Path:
    """Churn in another form, or a skipped test."""
    try:
        return compile_c(
            [folder / "churn.c"],
            folder / f"churn{''.join(flags)}",
            flags=["-O1", "-fno-builtin", of_folder(folder), *flags],
        )
    except CheckFailed as error:
        pytest.skip(f"cannot be built here: {error}")


SCRUBBED: dict[str, Callable[[Path], list[str]]] = {
    "env -i": lambda folder: ["env", "-i", str(folder / "churn")],
    "env -u": lambda folder: ["env", "A=1", "env", "-u", "LD_PRELOAD", str(folder / "churn")],
    "unset": lambda folder: ["sh", "-c", f"unset LD_PRELOAD; '{folder}/churn'; true"],
    "a script": lambda folder: [sys.executable, "-c", SPAWNS, str(folder / "churn")],
}
"""Wrappers that take LD_PRELOAD out of the environment."""
SPAWNS = "import subprocess, sys; [subprocess.run([sys.argv[1]], env={}) for _ in range(4)]"


@pytest.mark.thorough
@pytest.mark.parametrize("wrapper", SCRUBBED)
def test_no_verdict_on_a_program_behind_a_scrubbed_environment(folder: Path, wrapper: str, tmp_path: Path) -> None:
    command = SCRUBBED[wrapper](folder)
    refusal = r"^no verdict: default does not serve what .+ runs: churn \(.* by (env|sh|python)"
    with pytest.raises(CheckFailed, match=refusal):
        measure(command, [GLIBC, "default"], stop=Stop(3))
    recorded = record(command, tmp_path / "t.hst")
    missed = max(recorded.apart, key=lambda one: one.cpu_share)  # on a busy machine a wrapper's start counts too
    assert (missed.program, missed.why.startswith(CHANGED)) == ("churn", True)
    assert missed.cpu_share > 0.5
    warnings = recorded.warnings()
    assert len([line for line in warnings if line.startswith("in no trace is churn (")]) == 1
    assert warnings[len(recorded.apart)] == served_share.HELP
    assert did_the_work(recorded.apart)


@pytest.mark.thorough
def test_a_program_that_is_reached_has_a_verdict(folder: Path, tmp_path: Path) -> None:
    """Also behind wrappers that leave the environment as it is."""
    command = ["sh", "-c", f"env X=1 '{folder}/churn'; true"]
    table = measure(command, [GLIBC, "default"], stop=Stop(1))
    assert [row.note for row in table.rows] == ["", ""]
    recorded = record(command, tmp_path / "t.hst")
    assert (recorded.apart, recorded.other_memory, recorded.warnings()) == ([], [], [])
    assert recorded.traces[0].events > 190_000


@pytest.mark.thorough
def test_a_process_that_knows_itself_by_another_number_is_recorded(folder: Path, tmp_path: Path) -> None:
    """As in a container: the recorder names its files by the number that the process sees (pid_namespaces(7))."""
    apart_from_others = ["unshare", "--map-root-user", "--pid", "--fork"]
    if not shutil.which("unshare") or subprocess.run([*apart_from_others, "true"], check=False).returncode:
        pytest.skip("expected unshare(1), and the right to make namespaces")
    recorded = record([*apart_from_others, str(folder / "churn")], tmp_path / "t.hst")
    assert (recorded.traces[0].pid, recorded.traces[0].events > 190_000) == (1, True)
    assert recorded.warnings() == []
    (other,) = record(
        [*apart_from_others, str(folder / "pool")], tmp_path / "t.hst", stdout=subprocess.DEVNULL
    ).other_memory
    assert (other.pid, other.program) == (1, "pool")


@pytest.mark.thorough
@pytest.mark.parametrize("why", ["it is statically linked", "it is a 32-bit program"])
def test_the_reason_is_that_of_the_child(folder: Path, why: str, tmp_path: Path) -> None:
    child = special(folder, "-static") if "static" in why else built_32(tmp_path / "narrow", 300_000_000)
    command = ["sh", "-c", f"'{child}'; true"]
    with pytest.raises(CheckFailed, match=f"no verdict: .*{why}"):
        measure(command, [GLIBC, "default"], stop=Stop(1))
    (missed,) = record(command, tmp_path / "t.hst", stderr=subprocess.DEVNULL).apart
    assert missed.why.startswith(why)


@pytest.mark.thorough
def test_a_malloc_inside_the_executable_is_told(folder: Path, tmp_path: Path) -> None:
    own = str(folder / "own")
    (missed,) = record([own], tmp_path / "t.hst").apart
    assert (missed.program, missed.why) == ("own", OWN_MALLOC)
    with pytest.raises(CheckFailed, match=r"no verdict: default does not serve .*a malloc of its own"):
        measure([own], [GLIBC, "default"], stop=Stop(1))


def test_memory_that_is_none_of_mallocs_is_told(folder: Path, tmp_path: Path) -> None:
    """Once of a process, which was another program before."""
    command = ["sh", "-c", f"exec '{folder}/pool'"]
    recorded = record(command, tmp_path / "t.hst", stdout=subprocess.DEVNULL)
    (other,) = recorded.other_memory
    assert (other.program, other.malloc_bytes < 1 << 20) == ("pool", True)
    assert 40 << 20 < other.resident_bytes < 56 << 20
    assert "MiB of the resident memory of pool (pid " in recorded.warnings()[0]


@pytest.mark.thorough
def test_run_says_which_process_it_did_not_serve(folder: Path) -> None:
    said: list[str] = []
    library = library_of(load("default"))
    assert run_under(library, ["env", "-i", str(folder / "churn")], say=said.append) == 0
    (line,) = said
    assert line.startswith("libdefault.so does not serve churn (pid ")
    assert "it was started without LD_PRELOAD by env" in line
    assert run_under(library, ["env", str(folder / "churn")], say=said.append) == 0
    assert len(said) == 1


def test_run_ends_with_its_counters_or_a_word(
    call: Callable[..., Answer], folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    churn = str(folder / "churn")
    assert call("run", "--stats", "a.%p.json", "default", "--", churn) == (0, "", "")
    assert len(list(tmp_path.glob("a.*.json"))) == 1
    first, second = call("run", "--stats", "b.json", "default", "--", "env", "-i", churn).err.splitlines()
    assert "does not serve churn" in first
    assert second == "heapsmith: b.json: not written: no process under the library ended in order"


def test_a_row_of_the_benchmark_gives_no_figures(folder: Path, tmp_path: Path) -> None:
    one = Program("scrubbed", "churn", SCRUBBED["env -i"](folder), ())
    run = suite_rows._program_row(one, "programs", None).prepare(tmp_path)
    run(Library(GLIBC, None), 60)
    with pytest.raises(CheckFailed, match="no verdict: default does not serve"):
        run(Library("default", library_of(load("default"))), 60)


def test_a_replay_without_its_library_is_no_replay(folder: Path, tmp_path: Path, monkeypatch: Any) -> None:
    """The loader goes on without a library that it cannot load, with a message that nobody sees."""
    trace = tmp_path / "t.hst"
    record([str(folder / "pool")], trace, stdout=subprocess.DEVNULL)
    (tmp_path / "broken.so").write_text("no library")
    monkeypatch.setattr(replays, "require_malloc_of", lambda *_: None)
    with pytest.raises(CheckFailed, match=r"broken\.so: ERROR: ld\.so: .*cannot be preloaded"):
        replays.replay(trace, [str(tmp_path / "broken.so")], stop=Stop(1))


def test_what_matters_is_work_and_memory() -> None:
    """By hand: shares of the processor time, and the largest process."""
    served = Image(1, "sh", 0.8, 50 << 20, 0, has=True, why="")
    small = Image(2, "tool", 0.05, 4 << 20, 0, has=False, why="a")
    unknown = Image(3, "soon", 0.0, 90 << 20, 0, has=None, why="")
    assert apart([served, small, unknown]) == []
    part = Image(2, "tool", 0.2, 4 << 20, 0, has=False, why="a")
    (found,) = apart([served, part])
    assert (found.cpu_share, found.largest, did_the_work([found])) == (pytest.approx(0.2), False, False)
    large = Image(2, "tool", 0.001, 80 << 20, 0, has=False, why=f"{CHANGED} so")
    (found,) = apart([served, large])
    assert (found.largest, did_the_work([found])) == (True, True)
    many = [Image(10 + i, "tool", 0.4, 4 << 20, 0, has=False, why="a") for i in range(3)]
    (found,) = apart([served, *many])
    assert sentences([found]) == "tool (3 processes, 60% of the CPU time): a"
    assert did_the_work([found])
    assert apart([]) == []


def seen(command: list[str], path: Path | None = None) -> list[Image]:
    """What a watch of a run under `default`, or under a copy of it, sees."""
    library = preloadable(path or library_of(load("default")))
    watch = Watch(Path(library), command[0])
    run_foreground(Start(command, shutil.which(command[0]) or "", None, {"LD_PRELOAD": library}), watch=watch)
    return watch.images()


def test_each_program_of_a_process_is_seen(folder: Path) -> None:
    command = ["sh", "-c", f"'{folder}/churn'; exec env -i '{folder}/churn'"]
    images = [one for one in seen(command) if one.name == "churn"]
    assert {one.has for one in images} == {False, True}
    assert min(one.cpu_s for one in images) > 0.01


def test_a_process_that_leaves_its_parent_is_seen(folder: Path, tmp_path: Path) -> None:
    """It works, is seen, loses its parent, and is seen to work on."""
    parent, first = (f"until [ -e '{tmp_path}/{name}' ]; do sleep .01; done" for name in ("go", "end"))
    command = ["sh", "-c", f"(env -i '{folder}/churn' endless & echo $! > '{tmp_path}/pid'; {parent}); {first}"]
    parents: set[str] = set()
    before_s: list[float] = []

    def worked_on(one: _Seen) -> bool:
        if one.name == "churn" and one.has is not None:
            (tmp_path / "go").touch()
            parents.add(Path(f"/proc/{one.pid}/stat").read_text().rpartition(")")[2].split()[1])
            before_s.extend([one.cpu_s] * (len(parents) == 2))
            if before_s and one.cpu_s > before_s[0] + 0.05:
                (tmp_path / "end").touch()
        return False

    try:
        with awaiting(folder, worked_on):
            assert [one.has for one in seen(command) if one.name == "churn"] == [False]
    finally:
        os.kill(int((tmp_path / "pid").read_text()), 9)


@needs_root
def test_a_program_of_another_user_is_told(folder: Path, tmp_path: Path) -> None:
    """The library lies where no other user can read it."""
    if shutil.which("setpriv") is None:
        pytest.skip("setpriv is not installed")

    def end(one: _Seen) -> bool:
        if one.exe.endswith("/churn") and one.has is not None:
            with suppress(ProcessLookupError):  # an earlier look's
                os.kill(one.pid, 9)
        return False

    with tempfile.TemporaryDirectory() as open_to_all, awaiting(folder, end):
        Path(open_to_all).chmod(0o755)
        copy = shutil.copy(folder / "churn", open_to_all)
        tmp_path.chmod(0o700)
        library = Path(shutil.copy(library_of(load("default")), tmp_path / "libown.so"))
        images = seen(["setpriv", "--reuid", "65534", "--clear-groups", copy, "endless"], library)
    told = [one.why for one in images if one.has is False]
    assert set(told) == {f"{served_share.NOT_LOADED}, as user 65534"}


def is_left() -> bool:
    """Whether the file is there, and no run has its lock: that of another test does."""
    try:
        with preload_everywhere.FILE.open() as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return preload_everywhere.FILE.exists()
    except (FileNotFoundError, BlockingIOError):
        return False


@pytest.mark.thorough
@pytest.mark.skipif(not everywhere_works(), reason=WHY_NOT)
@pytest.mark.parametrize("wrapper", ["env -i", "unset"])
def test_everywhere_reaches_through_a_scrubbed_environment(folder: Path, wrapper: str, tmp_path: Path) -> None:
    command, was_there = SCRUBBED[wrapper](folder), preload_everywhere.FILE.exists()
    recorded = record(command, tmp_path / "t.hst", processes=Processes(everywhere=True))
    assert recorded.apart == []
    assert recorded.traces[0].events > 190_000
    assert recorded.traces[0].program[-1].endswith("churn")
    said: list[str] = []
    assert run_under(library_of(load("default")), command, everywhere=True, say=said.append) == 0
    assert said == []
    table = measure(command, [GLIBC, "default"], stop=Stop(1), given=Given(everywhere=True))
    assert [row.note for row in table.rows] == ["", ""]
    assert was_there or not is_left()


@pytest.mark.skipif(not everywhere_works(), reason=WHY_NOT)
def test_everywhere_is_seen_by_the_command_alone() -> None:
    """It sees its file, and other processes do not."""
    library = library_of(load("default"))
    of_others = Path("/proc/$PPID/root", *preload_everywhere.FILE.parts[1:])
    shown = ["sh", "-c", f"grep -q libdefault '{preload_everywhere.FILE}' && ! grep -q libdefault {of_others}"]
    assert run_under(library, shown, everywhere=True) == 0
    assert run_under(library, ["sh", "-c", 'test -z "$LD_PRELOAD"'], everywhere=True) == 0


def test_everywhere_leaves_no_file_behind(monkeypatch: Any, tmp_path: Path) -> None:
    """Neither after an error, nor where another run removes it between the open and the lock."""
    file = tmp_path / "ld.so.preload"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(preload_everywhere, "FILE", file)
    start = Start(["true"], "/bin/true", everywhere=True)

    def removed(number: int, how: int, lock: Callable[[int, int], None] = fcntl.flock) -> None:
        monkeypatch.setattr(fcntl, "flock", lock)
        file.unlink()
        lock(number, how)

    monkeypatch.setattr(fcntl, "flock", removed)
    with suppress(KeyError), preload_everywhere.preloading(start, [Preload("libc.so.6")]) as (whole, _):
        assert file.exists()
        assert "libc.so.6" in Path(whole.preload_file).read_text()
        raise KeyError
    assert not file.exists()


def test_everywhere_needs_root(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    with pytest.raises(Missing, match="--everywhere: expected root"):
        record(["true"], tmp_path / "t.hst", processes=Processes(everywhere=True))
