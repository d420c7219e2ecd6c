"""What ELF files say of their code: which build a file is, and where in it an address lies."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from heapsmith.model.trace.stacks import I64

_SYMBOL = np.dtype(
    [("name", "<u4"), ("info", "u1"), ("other", "u1"), ("section", "<u2"), ("value", "<u8"), ("size", "<u8")]
)
_FUNCTIONS = (2, 10)  # STT_FUNC and STT_GNU_IFUNC (elf(5))
Symbols = npt.NDArray[Any]


def build_id(path: str) -> str | None:
    """The build id in an ELF file's notes, in hexadecimal digits; None if the file has none or cannot be read."""
    try:
        with open(path, "rb") as file:
            sections = [one for one in ELFFile(file).iter_sections() if isinstance(one, NoteSection)]
            notes = (note for section in sections for note in section.iter_notes())
            return next((str(note["n_desc"]) for note in notes if note["n_type"] == "NT_GNU_BUILD_ID"), None)
    except (OSError, ELFError, ValueError):
        return None


def offsets_of(path: str, addresses: I64) -> I64:
    """The offsets in an ELF file of link-time addresses; the addresses themselves if it cannot be read."""
    offsets = addresses.copy()
    try:
        with open(path, "rb") as file:
            segments = [one.header for one in ELFFile(file).iter_segments("PT_LOAD")]
    except (OSError, ELFError, ValueError):
        return offsets
    for one in segments:
        inside = (addresses >= one.p_vaddr) & (addresses < one.p_vaddr + one.p_filesz)
        offsets[inside] = addresses[inside] - one.p_vaddr + one.p_offset
    return offsets


def functions(elf: ELFFile) -> tuple[Symbols, bytes]:
    """The functions of .symtab, or of .dynsym in a stripped file, by address, and the text in which their names are."""
    section = elf.get_section_by_name(".symtab") or elf.get_section_by_name(".dynsym")
    if section is None or elf.elfclass != 64:
        return np.zeros(0, _SYMBOL), b""
    symbols = np.frombuffer(section.data(), _SYMBOL)
    symbols = symbols[np.isin(symbols["info"] & 15, _FUNCTIONS) & (symbols["size"] > 0) & (symbols["section"] > 0)]
    return symbols[np.argsort(symbols["value"], kind="stable")], elf.get_section(section["sh_link"]).data()


def functions_named(path: str, parts: Sequence[bytes]) -> list[tuple[int, int]]:
    """The address and the bytes of functions whose names have one of `parts` in them; none if it cannot be read."""
    try:
        with open(path, "rb") as file:
            symbols, text = functions(ELFFile(file))
    except (OSError, ELFError, ValueError):
        return []
    found = np.zeros(symbols.size, np.bool_)
    for part in parts:
        at = text.find(part)
        while at >= 0:
            found |= (symbols["name"] > text.rfind(b"\0", 0, at)) & (symbols["name"] <= at)
            at = text.find(part, at + 1)
    return [(int(one["value"]), int(one["size"])) for one in symbols[found]]
