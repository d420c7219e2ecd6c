"""Why a preloaded library cannot serve a program: read from its file, before it runs (ld.so(8))."""

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from heapsmith.model.errors import BadInput, Missing, WrongKind
from heapsmith.tools.common.elf import Image, image_of

_MOST_SCRIPTS = 5
"""Scripts whose interpreter is a script: the kernel allows as many."""
_SET_ID, _GROUP_EXECUTES = 0o6000, 0o010


def find_program(
    command: list[str],
    env: Mapping[str, str] | None = None,
    *,
    everywhere: bool = False,
    libraries: Sequence[Path] = (),
) -> str:
    """The path of the command's program; LD_PRELOAD must affect it.

    everywhere: the library is in /etc/ld.so.preload, which the loader heeds for programs with other rights too.
    libraries: what is preloaded; none: libraries that heapsmith compiles for the C library of this system.
    Raises BadInput without a command, for an unknown program, and for one that no preloaded library can serve;
    Missing for a program whose C library is another one than a library's.
    """
    if not command:
        raise BadInput("no command: expected -- CMD [ARG]...")
    path = (os.environ if env is None else env).get("PATH")
    found = shutil.which(command[0], path=path)
    if found is None:
        raise WrongKind(f"{command[0]}: no such command, or it is not executable")
    program = interpreter(Path(found), path)
    if reason := why_not_preloaded(program, everywhere=everywhere):
        raise BadInput(f"{program}: {reason}")
    for library in libraries or (None,):
        if reason := why_libc(image_of(program), library):
            raise Missing(f"{program}: {reason}")
    return found


def libc_of(command: Sequence[str]) -> str:
    """The C library that the command's program is linked with, as Image.libc; empty too where there is no command."""
    found = shutil.which(command[0]) if command else None
    image = image_of(interpreter(Path(found))) if found else None
    return image.libc if image else ""


def interpreter(program: Path, path: str | None = None) -> Path:
    """The file that the system starts for a program: itself, or the interpreter that a script names, also by env(1)."""
    for _ in range(_MOST_SCRIPTS):
        try:
            with program.open("rb") as file:
                line = os.fsdecode(file.readline(256))
        except OSError:
            return program  # executable but not readable
        words = line[2:].split() if line.startswith("#!") else []
        if not words:
            return program
        program = Path(words[0])
        if program.name == "env":
            named = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), "")
            program = Path(shutil.which(named, path=path) or program)
    return program


def why_not_preloaded(program: Path, *, everywhere: bool = False) -> str | None:
    """Why no preloaded library can serve a program that the system starts; None if its file shows no obstacle."""
    image = image_of(program)
    if image is None:
        return None  # not a valid ELF file, or not readable: the system decides
    return why_image(image) or (None if everywhere else _why_other_rights(program))


def why_image(image: Image) -> str | None:
    """Why no preloaded library can serve such a program, whoever starts it."""
    ours = _our_image()
    if ours is not None and image.bits != ours.bits:
        return f"a {image.bits}-bit program, whose loader takes no {ours.bits}-bit library"
    if ours is not None and image.machine != ours.machine:
        return f"a program for another processor ({image.machine})"
    if image.sanitizer:
        return f"built with {image.sanitizer}, which must be the program's malloc: build it without"
    if image.is_static:
        return "statically linked, so LD_PRELOAD has no effect on it"
    return None


def why_libc(image: Image | None, library: Path | None) -> str | None:
    """Why a library cannot serve a program of another C library; None for the library: one for glibc."""
    ours = image_of(library) if library is not None else _our_image()
    if image is None or ours is None or not image.libc or not ours.libc or image.libc == ours.libc:
        return None
    name = Path(image.loader or "").name
    what = library.name if library is not None else "what this command preloads"
    how = (
        f": build the library with --target {os.uname().machine}-linux-musl"
        if library is not None and image.libc == "musl"
        else ""
    )
    return f"linked with {image.libc} ({name}), and {what} with {ours.libc}{how}"


def _why_other_rights(program: Path) -> str | None:
    """Why the loader is in secure-execution mode for the program (AT_SECURE)."""
    try:
        about, mount = program.stat(), os.statvfs(program)
        if mount.f_flag & os.ST_NOSUID:
            return None
        gains = "security.capability" in os.listxattr(program)
    except OSError:
        return None
    mode = about.st_mode & _SET_ID
    if mode & 0o4000 and about.st_uid not in (os.geteuid(), os.getuid()):
        return "runs with its owner's rights (setuid), so the loader ignores LD_PRELOAD"
    if mode & 0o2000 and about.st_mode & _GROUP_EXECUTES and about.st_gid not in (os.getegid(), os.getgid()):
        return "runs with its group's rights (setgid), so the loader ignores LD_PRELOAD"
    if gains and os.geteuid() != 0:
        return "gets capabilities from its file, so the loader ignores LD_PRELOAD"
    return None


@cache
def _our_image() -> Image | None:
    """This process's own program: heapsmith's libraries are of its kind."""
    return image_of(Path(sys.executable))
