"""Names of code: from an offset in a module's file to functions and lines, from symbol tables and DWARF."""

import shutil
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from elftools.common.exceptions import ELFError
from elftools.elf.elffile import ELFFile

from heapsmith.codegen.toolchain import run_tool
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.model.trace.elf import build_id, functions
from heapsmith.model.trace.stacks import CallTree, Module
from heapsmith.tools.common.code_place import Place
from heapsmith.tools.common.debug_files import debug_file
from heapsmith.tools.common.source_lines import lines


class Named(NamedTuple):
    """The places of one module."""

    places: list[list[Place]]  # of each offset: the innermost inlined function first
    why_not: str | None  # why places have no names


class _Table(NamedTuple):
    """The functions of a file by address."""

    starts: list[int]
    ends: list[int]
    names: list[str]

    def name(self, address: int) -> str | None:
        """The function that covers an address."""
        at = bisect_right(self.starts, address) - 1
        return self.names[at] if at >= 0 and address < self.ends[at] else None


def frame_names(tree: CallTree) -> tuple[list[list[Place]], list[str]]:
    """The places of each frame of a tree, and why modules have no names."""
    found = [[Place(f"{offset:#x}")] for offset in tree.offset.tolist()]
    reasons = []
    for number, module in enumerate(tree.modules):
        frames = np.flatnonzero(tree.module == number).tolist()
        offsets, index = np.unique(tree.offset[frames], return_inverse=True)
        named = names(module, offsets.tolist())
        reasons += [named.why_not] if named.why_not else []
        for frame, at in zip(frames, index.tolist(), strict=True):
            found[frame] = named.places[at]
    return found, reasons


def names(module: Module, offsets: Sequence[int]) -> Named:
    """The functions and lines of offsets in a module's file; where they have none, module+offset."""
    plain = [[Place(f"{Path(module.path).name or '?'}+{offset:#x}")] for offset in offsets]
    try:
        with open(module.path, "rb") as file:
            if build_id(module.path) != module.build_id:
                return Named(plain, f"{module.path}: is not the file that was recorded: it has another build id")
            return _named(module, file, offsets, plain)
    except OSError as error:
        return Named(plain, f"{module.path or 'code without a file'}: cannot be read: {error.strerror}")
    except (ELFError, ValueError) as error:
        return Named(plain, f"{module.path}: no ELF file: {error}")


def _named(module: Module, file: BinaryIO, offsets: Sequence[int], plain: list[list[Place]]) -> Named:
    elf = ELFFile(file)
    addresses = _addresses(elf, offsets)
    debug = debug_file(module.path, module.build_id)
    table, found_lines = _table(elf), None
    if debug and not elf.get_section_by_name(".symtab"):
        with open(debug, "rb") as other:
            table = _table(ELFFile(other)) if ELFFile(other).get_section_by_name(".symtab") else table
    why_not = None if table.names else f"{module.path}: has no symbols"
    if elf.has_dwarf_info(strict=True) or debug:
        try:
            found_lines, lacks = lines(debug or module.path, addresses)
            why_not = why_not or lacks
        except (Missing, CheckFailed) as error:
            why_not = str(error)
    found = []
    for i, address in enumerate(addresses):
        known = found_lines[i] if found_lines else []
        name = table.name(address)
        if known and name and _is_mangled(name) and not _is_mangled(known[-1].function):
            known[-1] = known[-1]._replace(function=name)  # DWARF of -gline-tables-only has no names of the linker
        found.append(known or ([Place(name)] if name else plain[i]))
    return Named(_demangled(found), why_not)


def _addresses(elf: ELFFile, offsets: Sequence[int]) -> list[int]:
    """Link-time addresses of offsets in the file."""
    segments = [one.header for one in elf.iter_segments("PT_LOAD")]
    found = []
    for offset in offsets:
        inside = (one for one in segments if one.p_offset <= offset < one.p_offset + one.p_filesz)
        found.append(next((offset - one.p_offset + one.p_vaddr for one in inside), offset))
    return found


def _table(elf: ELFFile) -> _Table:
    """The functions of a file with their names."""
    symbols, strings = functions(elf)
    texts = [strings[at : strings.index(b"\0", at)].decode(errors="replace") for at in symbols["name"].tolist()]
    starts = symbols["value"]
    return _Table(starts.tolist(), (starts + symbols["size"]).tolist(), texts)


def _is_mangled(function: str) -> bool:
    return function.startswith(("_Z", "_R"))


def _demangled(places: list[list[Place]]) -> list[list[Place]]:
    """The same with the names of C++ and Rust as in the source, if c++filt is there."""
    mangled = sorted({one.function for every in places for one in every if _is_mangled(one.function)})
    tool = shutil.which("c++filt")
    if not mangled or tool is None:
        return places
    shown = run_tool([tool], "names of functions", "\n".join(mangled)).splitlines()
    plain = dict(zip(mangled, shown, strict=True))
    return [[one._replace(function=plain.get(one.function, one.function)) for one in every] for every in places]
