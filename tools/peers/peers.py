"""The mallocs of a measurement: from a user's name or path to the file that LD_PRELOAD takes."""

import difflib
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import msgspec

from heapsmith.codegen.target import toolchain
from heapsmith.codegen.toolchain import Tool
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.files import cache_dir
from heapsmith.tools.common.elf import image_of, is_tied_to_its_place
from heapsmith.tools.common.limited import run_limited
from heapsmith.tools.common.preload import SPECIAL, Preload, for_all, preloadable
from heapsmith.tools.common.preload import preload as preload_names
from heapsmith.tools.common.replay_tools import runtime_tool

if TYPE_CHECKING:
    from heapsmith.model.design.design import Design

GLIBC = "glibc"

PEERS: dict[str, tuple[str, ...]] = {
    "jemalloc": ("libjemalloc.so",),
    "mimalloc2": ("libmimalloc.so.2",),
    "mimalloc3": ("libmimalloc.so.3",),
    "mimalloc": ("libmimalloc.so", "libmimalloc-secure.so"),
    "tcmalloc": ("libtcmalloc_minimal.so", "libtcmalloc.so"),
    "snmalloc": ("libsnmallocshim.so",),
    "rpmalloc": ("librpmallocwrap.so", "librpmalloc.so"),
    "tbbmalloc": ("libtbbmalloc_proxy.so",),
    "hardened_malloc": ("libhardened_malloc.so",),
}
"""Peers in the order of columns (docs/compare.md), with their shared objects, best first."""

AS_SET: dict[str, tuple[str, dict[str, str]]] = {
    "glibc-two-arenas": (GLIBC, {"GLIBC_TUNABLES": "glibc.malloc.arena_max=2"}),
    "jemalloc-deployed": (
        "jemalloc",
        {"MALLOC_CONF": "background_thread:true,metadata_thp:auto,dirty_decay_ms:30000,muzzy_decay_ms:30000"},
    ),
}
"""glibc and a peer with settings that services often have: which malloc, and its variables (docs/compare.md)."""

START_LIMIT_S = 10.0
"""A malloc under which an empty program runs longer is broken."""

BUILT_AS = {"mimalloc": "mimalloc3"}
"""Peers that `make peers` builds under another name."""

FOLDERS = tuple(Path(folder) for folder in ("/usr/local/lib", "/usr/lib/x86_64-linux-gnu", "/usr/lib64", "/usr/lib"))


class Library(msgspec.Struct, frozen=True):
    """A malloc: its name in tables, the shared object to preload (None: none), its release.

    `version` is a design's hash, and empty for a file that a user names. `standard`: for glibc, the names of the
    system's libraries to preload, so that a program linked to another malloc uses the C library's. `is_own`: whatever
    malloc the program has, with nothing preloaded. `settings`: variables of the environment that it runs with.
    """

    name: str
    path: Path | None
    version: str = ""
    standard: tuple[str, ...] = ()
    is_own: bool = False
    settings: dict[str, str] = {}


def built_folder() -> Path:
    """The folder of `make peers` for shared objects, each as NAME-VERSION.so; not created here."""
    return cache_dir() / "peers"


@lru_cache(maxsize=1)
def _linker_cache() -> tuple[Path, ...]:
    """The shared objects that ldconfig(8) knows; empty if it cannot run."""
    search = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/sbin"])
    try:
        listed = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False, env={"PATH": search})
    except OSError:
        return ()
    return tuple(Path(path) for path in re.findall(r"=> (/.+)", listed.stdout))


def find_peer(name: str) -> Path | None:
    """A peer's newest build, or its shared object in ldconfig's cache or a usual folder, or None."""
    built = built_folder().glob(f"{BUILT_AS.get(name, name)}-*.so")
    if newest := max(built, key=lambda path: path.stat().st_mtime, default=None):
        return newest
    for stem in PEERS[name]:
        known = [path for path in _linker_cache() if path.name.startswith(stem)]
        placed = [path for folder in FOLDERS for path in sorted(folder.glob(f"{stem}*"))]
        found = [path for path in known + placed if path.is_file()]
        if found:
            return found[0]
    return None


@lru_cache(maxsize=32)
def version_of(path: Path) -> str:
    """The release in a built peer's name, or of its Debian package, or empty."""
    if path.parent == built_folder():
        return path.stem.partition("-")[2]
    try:
        owner = subprocess.run(["dpkg-query", "-S", str(path.resolve())], capture_output=True, text=True, check=False)
        package = owner.stdout.partition(": ")[0]
        shown = ["dpkg-query", "-W", "-f", "${Version}", package]
        return subprocess.run(shown, capture_output=True, text=True, check=False).stdout if package else ""
    except OSError:
        return ""


def did_you_mean(word: str, known: Sequence[str]) -> str:
    """The end of a message: the nearest known word, or nothing if none is near."""
    near = difflib.get_close_matches(word, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def find_library(spec: "str | Design") -> Library:
    """`glibc`, a peer (PEERS), one of them as in AS_SET, a design to build (or its name or file), or a library's path.

    Raises BadInput, with the places of the search, if it does not exist, and the errors of builds.
    """
    if isinstance(spec, str) and spec.startswith("/") and not spec.endswith(".toml") and Path(spec).is_file():
        return Library(Path(spec).name, Path(spec))
    from heapsmith.codegen.built import library_of  # imported here: doctor and files of libraries must not need it
    from heapsmith.model.design.design import builtin_names, load

    if not isinstance(spec, str):
        return Library(spec.name, library_of(spec), spec.hash())
    if spec == GLIBC:
        return Library(GLIBC, None, platform.libc_ver()[1])
    if spec in AS_SET:
        of, settings = AS_SET[spec]
        return msgspec.structs.replace(find_library(of), name=spec, settings=settings)
    if spec in PEERS:
        if found := find_peer(spec):
            return Library(spec, found, version_of(found))
        looked = ", ".join(f"{stem}*" for stem in PEERS[spec])
        raise BadInput(
            f"{spec} is not installed: {looked} not in ldconfig's cache nor in {', '.join(map(str, FOLDERS))}, "
            f"and `make peers` has built none in {built_folder()}"
        )
    if spec in builtin_names() or Path(spec).suffix == ".toml":
        return find_library(load(spec))
    path = Path(spec).absolute()
    if path.is_file():
        return Library(path.name, path)
    if "/" in spec or ".so" in spec:
        raise BadInput(f"{spec}: no such library")
    known = [GLIBC, *PEERS, *AS_SET, *builtin_names()]
    raise BadInput(f"{spec}: neither a library's path nor one of {', '.join(known)}{did_you_mean(spec, known)}")


def find_libraries(specs: "Sequence[str | Design]") -> list[Library]:
    """Like find_library for each, with distinct names: files with equal names get their whole path.

    Raises BadInput also without specs, or if two are equal.
    """
    found = [find_library(spec) for spec in specs]
    if not found:
        raise BadInput("no library named: expected at least one, such as glibc")
    for i, library in enumerate(found):
        if (library.path, library.settings) in [(other.path, other.settings) for other in found[:i]]:
            raise BadInput(f"{getattr(specs[i], 'name', specs[i])}: named twice")
    names = [library.name for library in found]
    return [
        library if names.count(library.name) == 1 else msgspec.structs.replace(library, name=str(library.path))
        for library in found
    ]


def preload(library: Library, environment: Mapping[str, str]) -> str:
    """The LD_PRELOAD for `library`, in front of the environment's LD_PRELOAD."""
    own = [preloadable(library.path)] if library.path is not None else list(library.standard)
    return preload_names(own, environment)


def names(library: Library, folder: Path | None = None) -> list[Preload]:
    """What to preload for `library` and programs of all kinds; empty for glibc. folder: as for `for_all`."""
    if library.path is not None:
        return [for_all(library.path, folder=folder)]
    return [Preload(name) for name in library.standard]


@contextmanager
def placed_anew(library: Library, folder: Path) -> Iterator[Library]:
    """Give the library as a new file in `folder`, for one run.

    The pages of a file stay at the same places of memory for as long as the system keeps the file, and some places
    make a library slower by a quarter, in all rounds. A library that looks for others beside itself keeps its place.
    """
    if library.path is None or SPECIAL.search(str(folder)) or _is_tied(library.path):
        yield library
        return
    with TemporaryDirectory(dir=folder, ignore_cleanup_errors=True) as anew:
        copy = Path(shutil.copy(library.path, anew))
        for path in (Path(anew), copy):
            path.chmod(0o755)  # whoever can reach `folder` can load it
        yield msgspec.structs.replace(library, path=copy)


_is_tied = cache(is_tied_to_its_place)


def replay_driver() -> Path:
    """The program heapsmith-replay (`runtime/replay/replay.c`)."""
    return replay_tool().ready()


def driver_for(library: Library) -> Path:
    """The replayer, linked with the C library of this library. Raises Missing without a compiler for that."""
    image = image_of(library.path) if library.path is not None else None
    if image is None or image.libc != "musl":
        return replay_driver()
    return replay_tool().ready(toolchain(target=f"{os.uname().machine}-linux-musl").compiler[0])


def replay_tool() -> Tool:
    """What heapsmith-replay is made of."""
    waiting = ("pace", "peak", "waits", "watchdog")
    sources = ("replay", "stream", "check", "script", "latency", "rss", "bytes", *waiting)
    return runtime_tool("heapsmith-replay", *(f"{name}.c" for name in sources))


def is_c_library(path: str) -> bool:
    """Whether the shared object is the C library, by its name: libc.so.6, or libc-2.31.so of old releases."""
    return re.fullmatch(r"libc(-[0-9.]+\.so|\.so\.[0-9]+)", Path(path).name) is not None


_WHOSE_MALLOC = """
import ctypes, os
found, c = (ctypes.c_char_p * 4)(), ctypes.CDLL(None)
os.write(1, (found[0] if c.dladdr(c.malloc, found) else b"unknown") + b"\\n")
"""
"""Says what object a program's malloc comes from, in Python, which is there also without a compiler."""


def _asker() -> list[str]:
    """The command that prints what object its malloc comes from; without a malloc call where there is a compiler."""
    try:
        return [str(replay_driver()), "--malloc"]
    except Missing:
        return [sys.executable, "-I", "-S", "-c", _WHOSE_MALLOC]


def why_no_malloc(library: Library) -> str:
    """Why a process that preloads `library` has its malloc from elsewhere; empty if it has not.

    For glibc: elsewhere than the C library. The loader ignores an unsuitable library with a
    warning, and glibc would be measured in its place. A library for musl, which the program that
    asks is not linked with, is only looked at.
    """
    if library.path is not None and (image := image_of(library.path)) and image.libc == "musl":
        return "" if image.malloc else f"{library.path}: cannot stand in for malloc: it replaces no malloc"
    environment = os.environ | {"LD_PRELOAD": preload(library, {}), "HEAPSMITH": "", **BENCHFAST, **library.settings}
    command = _asker()
    try:
        asked = run_limited(command, START_LIMIT_S, env=environment)
    except CheckFailed as error:
        return f"{library.path or library.name}: cannot stand in for malloc: {error}"
    except OSError as error:
        raise Missing(f"{command[0]} cannot be run: {error.strerror}") from error
    source = asked.stdout.strip()
    is_glibc = is_c_library(source)
    if library.path is None and not is_glibc:
        return f"glibc: malloc comes from {source} although nothing was preloaded (see /etc/ld.so.preload)"
    if library.path is not None and (asked.returncode != 0 or is_glibc):
        said = next(iter(asked.stderr.strip().splitlines()), f"it replaces no malloc, which comes from {source}")
        return f"{library.path}: cannot stand in for malloc: {said}"
    return ""


def require_malloc_of(*libraries: Library) -> None:
    """Raise BadInput for the first of the libraries that cannot replace malloc."""
    for library in libraries:
        if reason := why_no_malloc(library):
            raise BadInput(reason)
