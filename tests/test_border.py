"""The border to the C library and the dynamic linker: malloc's caller may hold any of their locks."""

import shutil
import subprocess
from functools import cache
from pathlib import Path

import pytest
from covering import soon
from preloaded import PROGRAMS, library, program, shim, start

from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import build_tool
from heapsmith.tools.record.record import build_recorder

SYSTEM_CALLS = """
    close fcntl fstat getpid getrlimit getrusage madvise mmap mprotect mremap munmap open pthread_sigmask raise read
    readlink rename sched_yield sigaction syscall unlink
"""
TEXT_AND_SETS = """
    memchr memcmp memcpy memmove memset __memmove_chk __memset_chk sigemptyset sigfillset strchr strcmp strcpy strcspn
    strlen strncat strncmp strrchr strspn strstr
"""
ALLOWED = {
    **dict.fromkeys(SYSTEM_CALLS.split(), "a system call and no more"),
    **dict.fromkeys(TEXT_AND_SETS.split(), "works on its arguments alone"),
    "__cxa_finalize": "the C runtime's own, at the process's end",
    "__errno_location": "the address of a thread's variable",
    "__libc_single_threaded": "a variable",
    "_r_debug": "a variable: the list of loaded objects",
    "_dl_debug_addr": "a variable: where musl has this list",
    "_dl_find_object": "takes no lock (glibc 2.35)",
    "abort": "the process ends",
    "clock_gettime": "of the vDSO",
    "getauxval": "a look into what the kernel gave the process",
    "getpagesize": "the same",
    "sched_getcpu": "the same of a thread, or of the vDSO",
    "pthread_key_create": "a compare-and-swap; runs nothing (nptl/pthread_key_create.c)",
    "__pthread_key_create": "the same, by its name in libgcc",
    "pthread_setspecific": "takes no lock; may call calloc, for which the caller is ready",
    "pthread_setcancelstate": "a word of the thread",
    "pthread_create": "the helper thread of designs that have one, once, with no lock of ours held",
    "pthread_once": "libgcc's unwinder, over a table of its own copy: runs no foreign code",
    "pthread_mutex_lock": "libgcc's unwinder, a mutex of its own copy that only registered frames need",
    "pthread_mutex_unlock": "the same",
    "fprintf": "malloc_info(3), to the stream that its caller names",
    "fwrite": "the same",
    "getenv": "foreign `trust` refuses programs in its constructor, without a malloc under way",
}
"""What a library or the recorder may ask of others, and why it cannot wait for a lock that malloc's caller holds.

Not in the list: what looks up names or objects (dlsym, dladdr, dlerror, dl_iterate_phdr: the dynamic linker's
lock, and messages in translation), and streams. open, read, close and rename are points of thread cancellation: the
report at exit and the options at the start may have them, malloc and free not.
"""

WEAK = {"__gmon_start__", "_ITM_deregisterTMCloneTable", "_ITM_registerTMCloneTable"}
"""Undefined in nearly every program."""

NAMES = {
    "malloc": "same same",
    "dlclose": "same same",  # has two versions
    "memcpy": "same same",  # has two versions, and each processor its own
    "gettimeofday": "same same",  # of the vDSO
    "__register_atfork": "same same",
    "_Znwm": "same same",
    "no_such_function": "neither same",
    "old_style": "same same",  # its library has the older table of hashes alone
    "chosen": "same same",  # its library chooses the function while it is loaded
    "tucked_away": "neither same",  # the library does not show it
    "environ": "other other",  # no function, so not found
    "cfree": "more other",  # only old programs are bound to it: dlsym does not find it
}
"""A function, and what is found of it behind a preloaded library and of all, beside what dlsym finds."""

OLD_STYLE = """
int old_style(void) { return 1; }
static int one(void) { return 1; }
static int (*choose(void))(void) { return one; }
int chosen(void) __attribute__((ifunc("choose")));
__attribute__((visibility("hidden"))) int tucked_away(void) { return 2; }
"""

FIRST = ["textdomain", "locale", "settings", "objects", "stream", "thread", "fork"]
LIBRARIES = soon(("default", "checks", "hardened", "owner", "sampled", "steady"), ("default",), ("hardened", "sampled"))


def asked_of_others(file: Path) -> set[str]:
    words = ["nm", "-D", "--undefined-only", str(file)]
    lines = subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[-1].split("@")[0] for line in lines}


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
@pytest.mark.parametrize("design", [*LIBRARIES, pytest.param("nodes", marks=pytest.mark.big)])
def test_a_library_asks_nothing_of_others_that_may_lock(design: str) -> None:
    asked = asked_of_others(library(design, checked=False))
    assert "mmap" in asked
    assert sorted(asked - WEAK - ALLOWED.keys()) == []


RECORDERS = pytest.mark.parametrize(("stacks", "frees"), [(0, False), (64, False), (64, True)])


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm is not installed")
@RECORDERS
def test_the_recorder_asks_nothing_of_others_that_may_lock(stacks: int, frees: bool) -> None:
    asked = asked_of_others(build_recorder(stacks, frees=frees))
    assert "mmap" in asked
    assert sorted(asked - WEAK - ALLOWED.keys()) == []
    assert not asked & {"fprintf", "fwrite", "getenv", "open", "read", "close"}


@pytest.mark.parametrize("style", ["sysv", "gnu", "both"])
def test_definitions_are_those_of_the_dynamic_linker(style: str, tmp_path: Path) -> None:
    source = tmp_path / "old_style.c"
    source.write_text(OLD_STYLE)
    flags = ["-shared", "-fPIC", f"-Wl,--hash-style={style}"]
    other = build_tool("old_style.so", [source], flags)
    words = [PROGRAMS / "shim_definitions.c", HEAP / "1_base/definitions.c"]
    flags = ["-D_GNU_SOURCE", "-shared", "-fPIC", "-fvisibility=hidden"]
    probe = build_tool("definitions.so", words, flags, include=[HEAP])
    done = start([program_in_cpp(tmp_path)], probe, other, environment={"SHIM_NAMES": " ".join(NAMES)})
    assert (done.returncode, done.stderr) == (0, "")
    assert dict(line.split(" ", 1) for line in done.stdout.splitlines()) == NAMES


def program_in_cpp(folder: Path) -> Path:
    (folder / "nothing.cc").write_text("int main() { delete new int; }\n")
    return build_tool("nothing", [folder / "nothing.cc"], ["-O0", "-lstdc++"])


@cache
def first(kind: str, *flags: str) -> Path:
    """The program whose library has the first malloc, of that kind, in its constructor."""
    constructor = shim("first_constructor", f"-DFIRST={kind}_first")
    return program("first_main", "-Wl,--no-as-needed", *flags, sources=[constructor])


def test_the_recorder_before_a_malloc_that_wraps_the_c_librarys(tmp_path: Path) -> None:
    """Which calls names that are the recorder's too."""
    done = start(
        [program("first_main")],
        build_recorder(64),
        shim("shim_wraps_libc"),
        environment={"HEAPSMITH_RECORD": str(tmp_path)},
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
    assert len(list(tmp_path.glob("*.spool"))) == 2


@cache
def locked() -> list[str | Path | int]:
    plugin = build_tool("locked_plugin.so", [PROGRAMS / "locked_plugin.cc"], ["-O1", "-shared", "-fPIC", "-lstdc++"])
    return [program("run_locked_plugin"), plugin]


def ends(command: list[str | Path | int], preloaded: Path, **environment: str) -> None:
    """The command ends, with status 0 and what it has to say."""
    done = start(command, preloaded, environment={"LANGUAGE": "de", "LC_ALL": "C.UTF-8", **environment})
    assert (done.returncode, done.stdout.lstrip("."), done.stderr) == (0, "done\n", "")


@RECORDERS
@pytest.mark.parametrize("kind", FIRST)
def test_the_recorder_serves_a_first_malloc_under_a_lock(kind: str, stacks: int, frees: bool, tmp_path: Path) -> None:
    ends([first(kind)], build_recorder(stacks, frees=frees), HEAPSMITH_RECORD=str(tmp_path))
    assert len(list(tmp_path.glob("*.spool"))) == 2  # the program and its child


@pytest.mark.thorough
@pytest.mark.parametrize("kind", FIRST)
@pytest.mark.parametrize("design", LIBRARIES)
def test_a_library_serves_a_first_malloc_under_a_lock(design: str, kind: str) -> None:
    ends([first(kind)], library(design))


def test_a_first_malloc_before_all_constructors(tmp_path: Path) -> None:
    command = first("textdomain", "-DBEFORE_CONSTRUCTORS")
    ends([command], build_recorder(64), HEAPSMITH_RECORD=str(tmp_path))
    ends([command], library("default"))


@RECORDERS
def test_the_recorder_in_a_thread_for_which_the_dynamic_linker_waits(stacks: int, frees: bool, tmp_path: Path) -> None:
    ends(locked(), build_recorder(stacks, frees=frees), HEAPSMITH_RECORD=str(tmp_path))


@pytest.mark.parametrize("design", LIBRARIES)
def test_a_library_in_a_thread_for_which_the_dynamic_linker_waits(design: str) -> None:
    ends(locked(), library(design))
