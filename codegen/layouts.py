"""Libraries of one design whose code and data lie at other addresses: the same objects behind paddings."""

import random
from collections.abc import Callable, Iterator
from pathlib import Path

from heapsmith.codegen.build import FLAGS, build_layouts
from heapsmith.codegen.built import library_folder
from heapsmith.model.design.design import Design

LAYOUTS = 7
"""As many as an experiment has rounds."""
STEP = 16
"""Paddings are multiples of this, the alignment that gcc gives functions and data by itself."""
PAGE = 4096
LINE = 64

SECTIONS = {
    ".text": ("ax", "progbits", PAGE),
    ".data": ("aw", "progbits", PAGE),
    ".bss": ("aw", "nobits", PAGE),
    ".tbss": ("awT", "nobits", LINE),
}
"""Of each section that is padded: its flags, its type, and the bytes below which its padding stays."""


def layouts_of(design: Design, *, edit: Callable[[Path], None] | None = None, mark: str = "") -> list[Path]:
    """Return LAYOUTS libraries of a design, each built once and kept in the user's cache.

    edit: changes the emitted C in a folder first; `mark` names the change.

    Where the linker puts a loop or a variable changes the time of a program by several per cent
    (Mytkowicz, Diwan, Hauswirth and Sweeney, Producing Wrong Data Without Doing Anything Obviously
    Wrong, ASPLOS 2009). A difference of two designs that is seen over many layouts of both is of
    the designs (Curtsinger and Berger, Stabilizer, ASPLOS 2013). Raises Missing or CheckFailed as
    `codegen.build.build` does.
    """
    folder = library_folder(design, [*FLAGS, mark]) if mark else library_folder(design)
    libraries = [folder / f"layout-{number}" / f"lib{design.name}.so" for number in range(LAYOUTS)]
    if not all(library.exists() for library in libraries):
        build_layouts(design, dict(zip(libraries, paddings(design.name), strict=True)), edit)
    return libraries


def paddings(name: str) -> Iterator[str]:
    """Yield the paddings of each layout in assembly. The same name has the same."""
    drawn = random.Random(name)
    for _ in range(LAYOUTS):
        lines = [
            f'.section {section},"{flags}",@{kind}\n.skip {drawn.randrange(0, below, STEP)}\n'
            for section, (flags, kind, below) in SECTIONS.items()
        ]
        yield "".join([*lines, '.section .note.GNU-stack,"",@progbits\n'])
