"""What ELF files say of their code: which build a file is, and where in it an address lies."""

from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import NoteSection

from heapsmith.model.trace.stacks import I64


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
