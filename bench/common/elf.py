"""What ELF files say of how the system starts a program."""

import os
from pathlib import Path

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.segments import InterpSegment

from heapsmith.model.errors import Missing


def interpreter(program: Path) -> Path:
    """The file that decides whether LD_PRELOAD works: the program, or a script's interpreter."""
    with program.open("rb") as file:
        line = file.readline(256)
    words = line[2:].split() if line.startswith(b"#!") else []
    return Path(os.fsdecode(words[0])) if words else program


def loader(program: Path) -> str | None:
    """The dynamic loader that an ELF file names (elf(5)); empty for any other file.

    None: the file is statically linked.
    """
    with program.open("rb") as file:
        try:
            segments = ELFFile(file).iter_segments()
            return next((one.get_interp_name() for one in segments if isinstance(one, InterpSegment)), None)
        except (ELFError, ValueError):  # not a valid ELF file
            return ""


def refuse_musl(found: Path) -> None:
    """Raise Missing for a program that musl's loader starts: what heapsmith preloads calls functions of glibc."""
    try:
        program = interpreter(found)
        name = Path(loader(program) or "").name
    except OSError:
        return  # executable but not readable: the loader decides
    if name.startswith("ld-musl"):
        raise Missing(f"{program}: linked with musl ({name}), which is not supported: heapsmith needs glibc")


def is_tied_to_its_place(library: Path) -> bool:
    """Whether a shared object looks for others beside itself ($ORIGIN, ld.so(8)), so that a copy may not find them."""
    with library.open("rb") as file:
        try:
            segments = [one for one in ELFFile(file).iter_segments() if isinstance(one, DynamicSegment)]
            tags = [tag for segment in segments for tag in segment.iter_tags()]
        except (ELFError, ValueError):  # not a valid ELF file
            return True
    paths = [getattr(tag, "rpath", "") or getattr(tag, "runpath", "") for tag in tags]
    return any("ORIGIN" in path for path in paths)


def why_not_preloaded(found: Path) -> str | None:
    """Why LD_PRELOAD cannot reach a program (ld.so(8)); None if its file shows no obstacle."""
    try:
        program = interpreter(found)
        static, about = loader(program) is None, program.stat()
    except OSError:
        return None  # executable but not readable: the loader decides
    if static:
        return f"{program}: statically linked, so LD_PRELOAD has no effect on it"
    if about.st_mode & 0o6000 and os.geteuid() != about.st_uid:
        return f"{program}: runs with its owner's rights, so the loader ignores LD_PRELOAD"
    return None
