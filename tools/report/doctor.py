"""What this machine has and lacks: tools, kernel settings, hardware, peers, the cache directory."""

import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import msgspec

from heapsmith.codegen.built import brought_designs
from heapsmith.codegen.toolchain import compile_c, find_gcc
from heapsmith.model.errors import HeapsmithError, Missing
from heapsmith.model.files import cache_dir, scratch
from heapsmith.tools.peers.peers import PEERS, find_peer

THP = Path("/sys/kernel/mm/transparent_hugepage/enabled")
OVERCOMMIT = Path("/proc/sys/vm/overcommit_memory")
OVERCOMMIT_MODES = {"0": "0 (heuristic)", "1": "1 (always)", "2": "2 (never: large reservations may fail)"}
EXTRAS = {
    "sweep": "sweep: Parquet files and clusters",
    "imports": "trace import: tables, files in LZ4, malloc-bench",
}
"""What the extras of the package are needed for."""
CACHES = Path("/sys/devices/system/cpu/cpu0/cache")


class Finding(msgspec.Struct, frozen=True):
    """One item: its state, whether that suffices, and the use that heapsmith has for it.

    Nothing works without an `essential` item. Other items are needed by the commands in
    `needed_for`, or are facts on which measurements depend.
    """

    name: str
    found: str
    needed_for: str
    ok: bool = True
    essential: bool = False
    install: str = ""  # the command that brings it, where one does


class DoctorReport(msgspec.Struct, frozen=True):
    """All findings; `lacking` names the essential findings that are not ok (exit status 3)."""

    findings: list[Finding]
    lacking: list[str]


def _read(path: Path) -> str:
    """What a file of the kernel says; empty if there is no such file."""
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _tool(name: str, needed_for: str, package: str = "") -> Finding:
    """A program on PATH, with the first line of its --version; `package`: Debian's, if of another name."""
    install = f"apt install {package or name}"
    path = shutil.which(name)
    if path is None:
        return Finding(name, "not found on PATH", needed_for, ok=False, install=install)
    shown = subprocess.run([path, "--version"], check=False, capture_output=True, text=True).stdout.splitlines()
    return Finding(name, shown[0] if shown else path, needed_for, install=install)


def _gcc() -> Finding:
    """gcc, tested by compiling and linking a program that includes the C library's headers.

    Where the package brings compiled tools and libraries, not all needs it.
    """
    ready = brought_designs()
    others = f"run and compare under other designs than {', '.join(ready)}"
    needed_for = f"build, and {others if ready else 'the recorder, replayer and launcher'}"
    install = "apt install gcc libc6-dev"
    with scratch() as folder:
        source = folder / "probe.c"
        source.write_text("#include <pthread.h>\n#include <stdlib.h>\nint main(void) { return pthread_self() == 0; }\n")
        try:
            compile_c([source], folder / "probe")
            return Finding("gcc", find_gcc().version, needed_for, essential=not ready, install=install)
        except HeapsmithError as error:
            return Finding("gcc", str(error), needed_for, ok=False, essential=not ready, install=install)


def _platform() -> Iterator[Finding]:
    system = f"{platform.system()} {platform.release()} on {platform.machine()}"
    ok = platform.system() == "Linux" and platform.machine() == "x86_64"
    yield Finding("kernel", system, "everything: Linux on x86-64 (LD_PRELOAD, mmap, rdtsc)", ok, essential=True)

    library = os.confstr("CS_GNU_LIBC_VERSION") if "CS_GNU_LIBC_VERSION" in os.confstr_names else None
    yield Finding(
        "C library", library or "not glibc", "heapsmith itself; it builds libraries for musl too", bool(library), True
    )

    python = f"{platform.python_implementation()} {platform.python_version()} ({sys.executable})"
    yield Finding("python", python, "everything: 3.11 or later", sys.version_info >= (3, 11), essential=True)


def _processor_and_kernel() -> Iterator[Finding]:
    """An invariant TSC (Intel SDM vol. 3, 18.17.1), and the facts on which measurements depend."""
    flags = re.search(r"^flags\s*:(.*)$", _read(Path("/proc/cpuinfo")), re.M)
    missing = [flag for flag in ("constant_tsc", "nonstop_tsc") if not flags or flag not in flags[1].split()]
    found = f"no {' nor '.join(missing)} in /proc/cpuinfo" if missing else "constant_tsc and nonstop_tsc"
    yield Finding("invariant TSC", found, "record: the order of events between threads", not missing)

    mode = _read(OVERCOMMIT) or "unknown"
    needed_for = "run: libraries reserve address space and fall back to less"
    yield Finding("overcommit", OVERCOMMIT_MODES.get(mode, mode), needed_for, mode != "2")

    chosen = re.search(r"\[(\w+)\]", _read(THP))
    found = chosen[1] if chosen else "none"
    yield Finding("transparent huge pages", found, "a fact: RSS and faults depend on it")

    found = f"{len(os.sched_getaffinity(0))} usable of {os.cpu_count()}"
    yield Finding("cores", found, "a fact: replays with more threads than cores wait")

    folders = sorted(CACHES.glob("index*"))
    shown = [f"L{_read(f / 'level')} {_read(f / 'type').lower()} {_read(f / 'size')}" for f in folders]
    yield Finding("caches", ", ".join(shown) or "unknown", "a fact: what the cache model is compared with")


def _packages(extra: str = "") -> list[str]:
    """The packages that the installed distribution requires, without extras; or those of an extra alone."""
    required = [line.partition("extra ==") for line in requires("heapsmith") or []]
    return [re.split(r"[^\w.-]", line, maxsplit=1)[0] for line, _, of in required if of.strip(" \"'") == extra]


def _package(name: str, needed_for: str = "", extra: str = "") -> Finding:
    """A package: one that everything needs, or else what it is needed for, and the extra that brings it."""
    install = f"pip install 'heapsmith[{extra}]'" if extra else f"pip install {name}"
    try:
        found, ok = version(name), True
    except PackageNotFoundError:
        found, ok = "not installed", False
    why = needed_for or "everything: a dependency of the package"
    return Finding(name, found, why, ok, not needed_for, install)


def _extras() -> Iterator[Finding]:
    """The packages of the extras, each once, with all that it is needed for."""
    uses: dict[str, list[str]] = {}
    for extra in EXTRAS:
        for name in _packages(extra):
            uses.setdefault(name, []).append(extra)
    for name, extras in uses.items():
        yield _package(name, "; ".join(EXTRAS[extra] for extra in extras), extras[0])


def _peers() -> Finding:
    shown = ", ".join(name for name in PEERS if find_peer(name) is not None)
    return Finding("peers", shown or f"none of {', '.join(PEERS)}", "replay: allocators to compare with", bool(shown))


def _cache_directory() -> Finding:
    """The cache directory, tested by creating it and a file in it."""
    try:
        folder = cache_dir()
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder):
            found, ok = str(folder), True
    except Missing as error:
        found, ok = str(error), False
    except OSError as error:
        found, ok = f"{folder}: {error.strerror}; set XDG_CACHE_HOME", False
    return Finding("cache directory", found, "the compiled recorder, replayer and launcher", ok, essential=True)


def doctor() -> DoctorReport:
    """Examine the machine; a missing item is a finding, never an error."""
    findings = [
        *(*_platform(), *map(_package, _packages()), _gcc(), _cache_directory()),
        *_extras(),
        _tool("objdump", "verify: the audit of the emitted machine code", "binutils"),
        _tool("objcopy", "build --static", "binutils"),
        _tool("addr2line", "sites, leaks, diff, report: lines of the source", "binutils"),
        _tool("clang", "verify: its warnings too, in the audit"),
        _tool("valgrind", "calibrate: instruction counts that repeat exactly"),
        *_processor_and_kernel(),
        _peers(),
    ]
    return DoctorReport(findings, [finding.name for finding in findings if finding.essential and not finding.ok])
