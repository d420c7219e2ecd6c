"""Words for LD_PRELOAD: paths without special characters, and words that only programs of one kind find."""

import fcntl
import hashlib
import os
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.files import cache_dir, staged
from heapsmith.tools.common.elf import image_of, is_tied_to_its_place, loader
from heapsmith.tools.common.replay_tools import runtime_tool

SPECIAL = re.compile(r"[ :$]")
"""ld.so(8): spaces and colons separate names; a dollar sign begins a token that is replaced."""
LIB = "$LIB"
"""glibc's loader replaces it by the folder of libraries of its own word size; musl's loader takes it as a name."""
_SEARCHED = "/heapsmith"
_ONCE = "once-"
"""How the names of folders begin that are for one run."""


class Preload(NamedTuple):
    """What LD_PRELOAD names: a word, and the files that the loaders of the programs that it serves find by it."""

    word: str
    files: tuple[Path, ...] = ()


def preload(libraries: list[str], environment: Mapping[str, str]) -> str:
    """The value of LD_PRELOAD: these names, then the names in the environment's LD_PRELOAD."""
    return ":".join([*libraries, *filter(None, [environment.get("LD_PRELOAD", "")])])


def preloadable(library: Path) -> str:
    """A path of the library for LD_PRELOAD: its own, or a link in a folder of this user.

    Raises Missing if there is no place for the link.
    """
    target = str(library.absolute())
    if not SPECIAL.search(target):
        return target
    link = _folder_of_links(library) / f"{_hash(target)}-{safe_name(library)}"
    if not link.is_symlink():  # several processes may make it at once
        with staged(link, Missing) as made:
            made.symlink_to(target)
    return str(link)


def for_all(*libraries: Path, folder: Path | None = None) -> Preload:
    """A word by which the loader of each program finds the library of its kind, and of another kind none.

    A program of another C library or word size then runs as without a library: it neither fails nor complains.
    libraries: one for each C library, the first gives the name. folder: where the links for the word may be made;
    where there is no place for them, the word is the first library's path. root's programs get copies of libraries
    that other users cannot read, for they may change their user. Raises what `preloadable` raises.
    """
    libraries = tuple(library.absolute() for library in libraries)
    first = libraries[0]
    name = safe_name(first)
    lib = _lib_of_loader()
    plain = Preload(preloadable(first), (first,))
    if not lib or is_tied_to_its_place(first):
        return plain
    links = _links(libraries, lib)
    if os.geteuid() == 0:
        copies = {file: _readable(file) for file in {*libraries, *links.values()}}
        libraries, links = tuple(copies[file] for file in libraries), {at: copies[to] for at, to in links.items()}
    try:
        place = _folder_of_links(first, folder or (_open_folder() if _is_readable(libraries[0]) else None)) / _hash(
            "\0".join(f"{at}\0{to}" for at, to in links.items())
        )
        if not _is_whole(place, links, name):
            _make(place, links, name)
    except Missing:
        return plain
    return Preload(f"{place}/{LIB}/{name}", libraries)


def _is_whole(place: Path, links: dict[str, Path], name: str) -> bool:
    """Whether a word's folder has all its links: whoever cleans /tmp may have removed some."""
    return all((place / at / name).is_file() for at in links)


def _make(place: Path, links: dict[str, Path], name: str) -> None:
    """Make the folder of a word, unless another process makes it at once."""
    shutil.rmtree(place, ignore_errors=True)
    try:
        with staged(place, Missing) as made:
            for at, to in links.items():
                (made / at).mkdir(parents=True, exist_ok=True)
                (made / at / name).symlink_to(to)
            for folder, _, _ in os.walk(made):
                Path(folder).chmod(0o755)  # whatever the umask is: a program may change its user
    except Missing:
        if not _is_whole(place, links, name):
            raise


def safe_name(library: Path) -> str:
    """The name of a library in words of LD_PRELOAD."""
    return re.sub(r"[^A-Za-z0-9._-]", "_", library.name)


def _links(libraries: Sequence[Path], lib: str) -> dict[str, Path]:
    """The library that each folder of a word has: as glibc's loaders of this and other systems call it, and musl's.

    Loaders of glibc complain of a file that they do not find, so there is an empty one for those that find no library.
    """
    of_64, of_32 = [lib, *({"lib64", "lib"} - {lib})], ["lib32", "lib/i386-linux-gnu"]
    if lib == "lib64":  # then "lib" has 32-bit libraries
        of_64.remove("lib")
        of_32.append("lib")
    found: dict[str, Path] = {}
    for library in libraries:
        image = image_of(library)
        at = [LIB] if image is not None and image.libc == "musl" else of_64
        found |= dict.fromkeys(at, library)
    if lib not in found and (nothing := _nothing()):
        found |= dict.fromkeys(of_64, nothing)
    if os.uname().machine == "x86_64" and (nothing := _nothing("-m32")):
        found |= dict.fromkeys(of_32, nothing)
    return dict(sorted(found.items()))


@cache
def _nothing(*flags: str) -> Path | None:
    """A library that defines nothing; None where no compiler makes it."""
    try:
        return runtime_tool("nothing.so", "nothing.c", flags=(*flags, "-shared", "-nostdlib")).ready()
    except (Missing, CheckFailed):
        return None


@cache
def _lib_of_loader() -> str:
    """What LIB stands for with this process's loader; empty if the loader does not say: it is not glibc's."""
    words = [loader(Path(sys.executable)) or "", sys.executable]
    asked = {"LD_LIBRARY_PATH": f"{_SEARCHED}/{LIB}", "LD_DEBUG": "libs", "LD_TRACE_LOADED_OBJECTS": "1"}
    try:
        said = subprocess.run(words, env=asked, capture_output=True, text=True, errors="replace", check=False).stderr
    except OSError:
        return ""
    found = re.search(rf"{_SEARCHED}/([^:\s]+)\s*\(LD_LIBRARY_PATH\)", said)
    return found[1] if found and LIB not in found[1] else ""


def _hash(text: str) -> str:
    return hashlib.sha256(os.fsencode(text)).hexdigest()[:16]


def _folder_of_links(library: Path, wanted: Path | None = None) -> Path:
    """The best folder for links to a library. Raises Missing if there is none."""
    tried = []
    for folder in _folders(wanted):
        if SPECIAL.search(str(folder)):
            tried.append(f"{folder} has such characters too")
        elif reason := _why_not_ours(folder):
            tried.append(f"{folder}: {reason}")
        else:
            return folder
    why = "; ".join(tried)
    raise Missing(f"{library.absolute()}: LD_PRELOAD takes no path with ' ', ':' or '$' in it; for a link: {why}")


def _is_readable(library: Path) -> bool:
    """Whether other users can read a library."""
    try:
        within = library.resolve(strict=True)
        return bool(within.stat().st_mode & 0o004) and all(one.stat().st_mode & 0o001 for one in within.parents)
    except OSError:
        return False


def _locked(folder: Path) -> int:
    """A descriptor that locks a folder. Raises OSError where another process does."""
    held = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(held)
        raise
    return held


@contextmanager
def folder_for_all(folder: Path) -> Iterator[Path]:
    """Give a folder for what is preloaded once: `folder`, or for root a new one that other users can read."""
    if os.geteuid() != 0 or (within := _folder_of_copies()) is None:
        yield folder
        return
    place, held = _locked_folder(within)
    try:
        place.chmod(0o755)
        yield place
    finally:
        shutil.rmtree(place, ignore_errors=True)
        os.close(held)


def _locked_folder(within: Path) -> tuple[Path, int]:
    """A new folder, and a descriptor that locks it until this process ends; those that nobody locks any more go."""
    turn = os.open(within, os.O_RDONLY)  # of what a process makes and locks, and another one looks for
    try:
        fcntl.flock(turn, fcntl.LOCK_EX)
        for old in within.glob(f"{_ONCE}*"):
            with suppress(OSError):
                os.close(_locked(old))
                shutil.rmtree(old, ignore_errors=True)
        place = Path(mkdtemp(prefix=_ONCE, dir=within))
        return place, _locked(place)
    finally:
        os.close(turn)


def _readable(library: Path) -> Path:
    """A library, or a copy of it that other users can read; the library itself if there is no place for a copy."""
    try:
        if _is_readable(library) or (folder := _folder_of_copies()) is None:
            return library
        content = library.read_bytes()
        copy = folder / f"{hashlib.sha256(content).hexdigest()[:16]}-{safe_name(library)}"
        if not _is_copy(copy, content):
            with staged(copy, Missing) as made:
                made.write_bytes(content)
                made.chmod(0o755)
    except (OSError, Missing):
        return library
    return copy


def _is_copy(copy: Path, content: bytes) -> bool:
    """Whether a file is such a copy, which nobody else can have written."""
    if not os.path.lexists(copy):
        return False
    about = copy.lstat()
    ours = stat.S_ISREG(about.st_mode) and about.st_uid == os.geteuid() and not about.st_mode & 0o022
    return ours and copy.read_bytes() == content


def _folder_of_copies() -> Path | None:
    """A folder of which other users can load libraries; None if there is none."""
    with suppress(OSError):
        folder = _open_folder()
        if folder and not _why_not_ours(folder) and not os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return folder
    return None


def _open_folder() -> Path | None:
    """A folder whose links other users can follow: a server may change its user."""
    try:
        folder = Path("/tmp") / f"heapsmith-{os.geteuid()}-links"
        folder.mkdir(mode=0o755, exist_ok=True)
        if folder.lstat().st_uid == os.geteuid():
            folder.chmod(0o755)
    except OSError:
        return None
    return folder


def _folders(wanted: Path | None = None) -> Iterator[Path]:
    """The folders for links, best first."""
    if wanted is not None:
        yield wanted
    yield cache_dir() / "links"
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        yield Path(runtime) / "heapsmith"
    yield Path("/tmp") / f"heapsmith-{os.geteuid()}"


def _why_not_ours(folder: Path) -> str | None:
    """Create the folder if absent; the reason if other users could change its links, else None."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        about = folder.lstat()
    except OSError as error:
        return error.strerror
    if not stat.S_ISDIR(about.st_mode) or about.st_uid != os.geteuid() or about.st_mode & 0o022:
        return "is not a directory that this user alone can write to"
    return None
