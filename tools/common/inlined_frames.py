"""Inlined functions of clang's DWARF 5 without llvm-symbolizer: addr2line of binutils 2.40 cannot read their ranges."""

import os
from collections.abc import Iterator, Sequence
from typing import Any

from elftools.dwarf.ranges import BaseAddressEntry
from elftools.elf.elffile import ELFFile

from heapsmith.tools.common.code_place import Place, place_at

MOST_BYTES = 2_000_000
"""The most bytes of DWARF that are read, at about 100,000 a second."""
_CODE = ("DW_TAG_subprogram", "DW_TAG_inlined_subroutine")
_NAMES = ("DW_AT_linkage_name", "DW_AT_MIPS_linkage_name", "DW_AT_name")
_ORIGINS = ("DW_AT_abstract_origin", "DW_AT_specification")


def expanded(path: str, addresses: Sequence[int], found: Sequence[list[Place]]) -> tuple[list[list[Place]], bool]:
    """The places of addresses with inlined functions, and whether all were read.

    found: what addr2line says, which also knows the line of the innermost function.
    """
    answers, rest, is_whole = list(found), MOST_BYTES, True
    with open(path, "rb") as file:
        dwarf = ELFFile(file).get_dwarf_info()
        for unit in dwarf.iter_CUs() if dwarf else ():
            top = unit.get_top_DIE()
            inside = [at for at, address in enumerate(addresses) if _covers(dwarf, top, address)]
            if not inside or unit["version"] < 5 or b"clang" not in _value(top, "DW_AT_producer", b""):
                continue
            rest -= unit.size
            if rest < 0:
                is_whole = False
                continue
            chains: dict[int, list[Any]] = {at: [] for at in inside}
            for entry in unit.iter_DIEs():
                if entry.tag in _CODE:
                    for at in inside:
                        if _covers(dwarf, entry, addresses[at]):
                            chains[at].append(entry)
            for at, chain in chains.items():
                answers[at] = list(_places(dwarf, unit, chain, found[at])) or found[at]
    return answers, is_whole


def _value(entry: Any, name: str, default: Any = None) -> Any:
    return entry.attributes[name].value if name in entry.attributes else default


def _covers(dwarf: Any, entry: Any, address: int) -> bool:
    """Whether the code of an entry has an address."""
    low = _value(entry, "DW_AT_low_pc", 0)
    if "DW_AT_ranges" not in entry.attributes:
        if "DW_AT_high_pc" not in entry.attributes:
            return False
        high = entry.attributes["DW_AT_high_pc"]
        return bool(low <= address < (high.value if high.form == "DW_FORM_addr" else low + high.value))
    base = _value(entry.cu.get_top_DIE(), "DW_AT_low_pc", 0)
    for one in dwarf.range_lists().get_range_list_at_offset(_value(entry, "DW_AT_ranges"), entry.cu):
        if isinstance(one, BaseAddressEntry):
            base = one.base_address
        else:
            first = 0 if one.is_absolute else base
            if first + one.begin_offset <= address < first + one.end_offset:
                return True
    return False


def _places(dwarf: Any, unit: Any, chain: list[Any], known: list[Place]) -> Iterator[Place]:
    """The places of a chain of functions, the outermost first; each inlined one tells where it was called."""
    where = known[0][1:] if known else Place("")[1:]
    for entry in reversed(chain):
        yield Place(_name(entry), *where)
        called = place_at(
            "", f"{_file(dwarf, unit, _value(entry, 'DW_AT_call_file'))}:{_value(entry, 'DW_AT_call_line', 0)}"
        )
        where = called[1:]


def _name(entry: Any) -> str:
    """The name of a function as the linker knows it, or as DWARF does."""
    names: dict[str, bytes] = {}
    while entry is not None:
        names = {name: _value(entry, name) for name in _NAMES if name in entry.attributes} | names
        origin = next((name for name in _ORIGINS if name in entry.attributes), None)
        entry = entry.get_DIE_from_attribute(origin) if origin else None
    return next((names[name].decode(errors="replace") for name in _NAMES if name in names), "??")


def _file(dwarf: Any, unit: Any, number: int | None) -> str:
    """The path of a file of a unit."""
    program = dwarf.line_program_for_CU(unit)
    if program is None or number is None or number >= len(program["file_entry"]):
        return "?"
    entry = program["file_entry"][number]
    folder = program["include_directory"][entry.dir_index]
    root = _value(unit.get_top_DIE(), "DW_AT_comp_dir", b"")
    return os.path.join(*(str(part, errors="replace") for part in (root, folder, entry.name)))
