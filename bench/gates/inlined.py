"""The gain of heapsmith.h: instructions of a pair of calls for constant sizes, inlined or not."""

from functools import lru_cache
from pathlib import Path
from typing import Annotated

import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.programs.instructions import PAIRS, between
from heapsmith.bench.programs.micro_programs import MICRO_FOLDER, PROGRAM_FLAGS, SHARED, STAMPS
from heapsmith.codegen.built import library_of
from heapsmith.codegen.generate import HEADER, contents
from heapsmith.codegen.layers import ABOUT_PROCESSORS
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import Design, load
from heapsmith.model.files import scratch

SOURCE = Path(__file__).with_name("inlined.c")

FORMS = {"header-32": "1 1", "header-mixed": "400 8"}
"""Arguments of inlined.c: 32 bytes in pairs, and 400 live objects of 8 types of 16 to 512 bytes."""

CALLING = "lean"
"""The header of this design calls malloc and free, so the same programs inline nothing."""


def _program(header_of: Design, library: Path | None, dry: bool) -> Path:
    """inlined.c with the heapsmith.h of a design, linked with the library that the header needs.

    The library must be preloaded: its folder may have a name that no rpath can hold.
    """
    link = [] if library is None else ["-Wl,--no-as-needed", str(library)]
    with scratch() as folder:
        (folder / HEADER).write_bytes(contents(header_of)[HEADER])
        words = [*PROGRAM_FLAGS, f"-DDRY={int(dry)}", "-DSTAMP=0", *link]
        return build_tool(
            "inlined", [SOURCE, *SHARED], words, include=[MICRO_FOLDER, STAMPS, *ABOUT_PROCESSORS, folder]
        )


@lru_cache
def _loop(form: str, operations: int) -> int:
    return int(between(None, _program(load(CALLING), None, True), FORMS[form], operations)[0])


def per_pair(form: str, design: Design, *, inlined: bool, operations: int = PAIRS) -> float:
    """Instructions of a pair under a design's library, without the loop: inlined, or by calls.

    Raises what bench.instructions raises.
    """
    library = library_of(design)
    tool = _program(design, library, False) if inlined else _program(load(CALLING), None, False)
    return (int(between(library, tool, FORMS[form], operations)[0]) - _loop(form, operations)) / operations


def main(design: Annotated[str, typer.Argument()] = "default") -> int:
    """Print a line for each form."""
    for form in FORMS:
        counts = (per_pair(form, load(design), inlined=inlined) for inlined in (False, True))
        print("{}: malloc and free {:.1f}, heapsmith.h {:.1f} instructions".format(form, *counts))
    return 0


if __name__ == "__main__":
    exit_with(main)
