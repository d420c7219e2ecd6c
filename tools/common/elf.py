"""What ELF files say of how the system starts a program."""

import re
from contextlib import suppress
from pathlib import Path
from typing import IO, NamedTuple

from elftools.common.exceptions import ELFError
from elftools.elf.dynamic import DynamicSegment
from elftools.elf.elffile import ELFFile
from elftools.elf.hash import ELFHashSection, GNUHashSection
from elftools.elf.segments import InterpSegment

_SANITIZERS = {"asan": "AddressSanitizer", "tsan": "ThreadSanitizer", "msan": "MemorySanitizer"} | {
    "hwasan": "HWAddressSanitizer",
    "lsan": "LeakSanitizer",
}
"""Those that have a malloc of their own."""
_SANITIZER = re.compile(r"lib(?:clang_rt\.)?(asan|tsan|msan|hwasan|lsan)\b")
_LOADERS = ("ld-linux", "ld.so", "ld64")
"""How the names of the loader begin: it may be the program itself, with another program as its argument."""


_INVALID = (ELFError, ValueError, AttributeError, TypeError, KeyError, IndexError, OverflowError)
"""What pyelftools raises for bytes that are no valid ELF file."""


class Image(NamedTuple):
    """An ELF file.

    loader: the dynamic loader that it names (elf(5)), or None. needed: the libraries that it names. malloc: it has a
    malloc for all objects of its process. sanitizer: the name of a sanitizer with a malloc of its own, or "".
    """

    bits: int
    machine: str
    loader: str | None
    soname: str
    needed: list[str]
    malloc: bool
    sanitizer: str

    @property
    def libc(self) -> str:
        """The C library that a program or library is linked with: "glibc", "musl", or "" for none and for others."""
        names = [Path(self.loader or "").name, self.soname, *self.needed]
        if any(name.startswith(("ld-musl", "libc.musl")) or name == "libc.so" for name in names):
            return "musl"
        return "glibc" if any(name.startswith((*_LOADERS, "libc.so.6")) for name in names) else ""

    @property
    def is_static(self) -> bool:
        """Whether no loader starts it, so that nothing is preloaded."""
        return self.loader is None and not self.soname.startswith(_LOADERS)


def image_of(program: Path) -> Image | None:
    """What a file says; None for a file that is no valid ELF file, or cannot be read."""
    try:
        with program.open("rb") as file:
            return _read(file)
    except (OSError, *_INVALID):
        return None


def _read(file: IO[bytes]) -> Image:
    elf = ELFFile(file)
    loader = next((one.get_interp_name() for one in elf.iter_segments() if isinstance(one, InterpSegment)), None)
    needed, soname = _names(elf)
    linked = next((found[1] for name in needed if (found := _SANITIZER.match(name))), "")
    inside = next((name for name in _SANITIZERS if loader and _defines(elf, f"__{name}_init")), "")
    sanitizer = _SANITIZERS.get(linked or inside, "")
    bits, machine = elf.elfclass, elf.get_machine_arch()
    return Image(bits, machine, loader, soname, needed, _defines(elf, "malloc"), sanitizer)


def _names(elf: ELFFile) -> tuple[list[str], str]:
    """The libraries that the file needs, and its own name as a library; none where they cannot be read."""
    with suppress(*_INVALID):
        tags = [tag for one in elf.iter_segments() if isinstance(one, DynamicSegment) for tag in one.iter_tags()]
        needed = [tag.needed for tag in tags if hasattr(tag, "needed")]
        return needed, next((tag.soname for tag in tags if hasattr(tag, "soname")), "")
    return [], ""


def _defines(elf: ELFFile, name: str) -> bool:
    """Whether the file defines a symbol for other objects."""
    with suppress(*_INVALID):
        for section in map(elf.get_section_by_name, (".gnu.hash", ".hash")):
            if isinstance(section, GNUHashSection | ELFHashSection):
                symbol = section.get_symbol(name)
                return symbol is not None and symbol["st_shndx"] != "SHN_UNDEF"
    return False


def defines(file: Path, name: str) -> bool:
    """Whether an ELF file defines a symbol for other objects; no other file does."""
    try:
        with file.open("rb") as content:
            return _defines(ELFFile(content), name)
    except (OSError, *_INVALID):
        return False


def loader(program: Path) -> str | None:
    """The dynamic loader that an ELF file names (elf(5)); empty for any other file.

    None: the file is statically linked.
    """
    image = image_of(program)
    return image.loader if image else ""


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
