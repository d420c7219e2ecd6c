"""Functions and lines of addresses in a file with DWARF, by addr2line and llvm-symbolizer."""

import os
import re
import shutil
from collections.abc import Sequence

from elftools.common.exceptions import DWARFError, ELFError

from heapsmith.codegen.toolchain import run_tool
from heapsmith.model.errors import CheckFailed, Missing
from heapsmith.tools.common.code_place import Place, place_at
from heapsmith.tools.common.inlined_frames import expanded

_ADDR2LINE = ("addr2line", "-a", "-f", "-i")
_SYMBOLIZER = ("llvm-symbolizer", "--output-style=GNU", "--addresses", "--inlining", "--no-demangle")
_LLVM = re.compile(r"llvm-symbolizer-(\d+)")


def lines(path: str, addresses: Sequence[int]) -> tuple[list[list[Place]], str | None]:
    """The places of each address, inlined functions expanded, the innermost first; and why some may be missing.

    addr2line of binutils 2.40 does not read the ranges of inlined functions that clang writes in DWARF 5, and
    llvm-symbolizer no supplementary file (dwz). So the longer answer counts. Raises Missing if neither is installed.
    """
    addr2line, symbolizer = shutil.which(_ADDR2LINE[0]), _symbolizer()
    found: list[list[list[Place]]] = []
    failed, why_not = None, None
    for tool, options in ((addr2line, _ADDR2LINE[1:]), (symbolizer, _SYMBOLIZER[1:])):
        try:
            found += [_asked([tool, *options, "-e", path], path, addresses)] if tool else []
        except CheckFailed as error:
            failed = error
    if not found:
        raise failed or Missing("addr2line not found on PATH: no lines (Debian: apt install binutils)")
    if symbolizer is None:
        own, is_whole = _expanded(path, addresses, found[0])
        found.append(own)
        why_not = None if is_whole else f"{path}: functions that clang inlined need llvm-symbolizer (Debian: llvm)"
    return [_best(answers) for answers in zip(*found, strict=True)], why_not


def _expanded(path: str, addresses: Sequence[int], found: list[list[Place]]) -> tuple[list[list[Place]], bool]:
    """What DWARF says beside addr2line, and whether all of it was read; nothing more if it is damaged."""
    try:
        return expanded(path, addresses, found)
    except (DWARFError, ELFError, KeyError, IndexError, ValueError):
        return found, False


def _symbolizer() -> str | None:
    """llvm-symbolizer, or the newest one with a version in its name (Debian)."""
    if plain := shutil.which(_SYMBOLIZER[0]):
        return plain
    folders = [folder for folder in os.get_exec_path() if os.path.isdir(folder)]
    named = {
        found[0]: int(found[1]) for folder in folders for found in map(_LLVM.fullmatch, os.listdir(folder)) if found
    }
    return shutil.which(max(named, key=lambda name: named[name])) if named else None


def _asked(command: list[str], path: str, addresses: Sequence[int]) -> list[list[Place]]:
    """What a tool says of each address: a line with the address, then of each function its name and its place."""
    asked = "".join(f"{address:#x}\n" for address in addresses)
    found: list[list[Place]] = []
    function = None
    for line in run_tool(command, path, asked).splitlines():
        if line.startswith("0x") and function is None:
            found.append([])
        elif function is None:
            function = line or None
        else:
            found[-1].append(place_at(function, line.partition(" (discriminator")[0]))
            function = None
    if len(found) != len(addresses):
        raise CheckFailed(f"{os.path.basename(command[0])} failed on {path}: {len(found)} of {len(addresses)} answers")
    return found


def _best(answers: Sequence[list[Place]]) -> list[Place]:
    """The answer with the most functions that are known, and of the first such one any names that are not whole."""
    known = [[place for place in answer if place.function != "??"] for answer in answers]
    best = max(known, key=len)
    alike = zip(*(answer for answer in known if len(answer) == len(best)), strict=True)
    return [next((one for one in every if one.function.startswith(("_Z", "_R"))), every[0]) for every in alike]
