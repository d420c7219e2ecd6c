"""Makes a shared object for glibc 2.38 run on older ones, with the C17 parsers of numbers."""

import struct
from io import BytesIO
from pathlib import Path

from elftools.construct import Container
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection, GNUVerSymSection
from elftools.elf.sections import SymbolTableSection

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.files import write_whole

C23_PREFIX = "__isoc23_"
PARSERS = ("strtol", "strtoll", "strtoul", "strtoull")


def _records(need: GNUVerNeedSection) -> dict[str, tuple[int, Container]]:
    """By version name: the offset of its version record in the file, and its fields."""
    found = {}
    library = need["sh_offset"]
    for needed, records in need.iter_versions():
        place = library + needed["vn_aux"]
        for record in records:
            found[record.name] = place, record.entry
            place += record["vna_next"]
        library += needed["vn_next"]
    return found


def bind_to_older(path: Path, version: str, base: str = "GLIBC_2.2.5") -> None:
    """Rewrite the file in place so that it no longer needs `version` of the C library (GLIBC_2.38).

    Each undefined `__isoc23_strtol` and the like of that version becomes `strtol` of `base`. The
    only difference is the prefix 0b of binary numbers (C23 7.24.1.7). The code does not change.
    Raises BadInput if the file needs other symbols of `version`.
    """
    image = bytearray(path.read_bytes())
    elf = ELFFile(BytesIO(image))
    symbols, marks, need = map(elf.get_section_by_name, (".dynsym", ".gnu.version", ".gnu.version_r"))
    if not isinstance(need, GNUVerNeedSection) or version not in (records := _records(need)):
        return
    assert isinstance(symbols, SymbolTableSection)
    assert isinstance(marks, GNUVerSymSection)
    (place, newer), (_, older) = records[version], records[base]
    for i, symbol in enumerate(symbols.iter_symbols()):
        if marks.get_symbol(i)["ndx"] != newer["vna_other"]:
            continue
        if symbol.name.removeprefix(C23_PREFIX) not in PARSERS:
            raise BadInput(f"{path}: needs {symbol.name} of {version}, which the C library here lacks")
        name = symbol["st_name"] + len(C23_PREFIX)
        struct.pack_into("<I", image, symbols["sh_offset"] + i * symbols["sh_entsize"], name)
        struct.pack_into("<H", image, marks["sh_offset"] + i * marks["sh_entsize"], older["vna_other"])
    for field in ("vna_hash", "vna_flags", "vna_name"):
        newer[field] = older[field]
    record = elf.structs.Elf_Vernaux.build(newer)
    image[place : place + len(record)] = record
    write_whole(path, bytes(image), Missing)
