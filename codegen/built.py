"""Libraries of designs, each built once and kept in the user's cache, or as the package brings it."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from heapsmith.codegen.build import CHECKED, FLAGS, build
from heapsmith.codegen.generate import digest
from heapsmith.codegen.toolchain import PREBUILT, find_gcc
from heapsmith.model.design.design import Design
from heapsmith.model.errors import Missing
from heapsmith.model.files import cache_dir


def library_of(design: Design, *, checked: bool = False, flags: list[str] = FLAGS) -> Path:
    """The library of a design, built if absent. Raises Missing or CheckFailed as `codegen.build.build` does.

    Without gcc it is that which the package brings, if there is one of this design's C.
    """
    try:
        library = library_folder(design, [*flags, *(CHECKED if checked else [])]) / f"lib{design.name}.so"
    except Missing as error:
        brought = PREBUILT / library_file(design)
        if not checked and flags == FLAGS and brought.exists():
            return brought
        ready = ", ".join(brought_designs())
        raise Missing(f"{error}{f'; ready without it: {ready}' if ready else ''}") from None
    return library if library.exists() else build(design, library, checked=checked, flags=flags)


def brought_designs() -> list[str]:
    """The designs of which the package brings the library."""
    return sorted(file.name[3:-3].rpartition("-")[0] for file in PREBUILT.glob("lib*.so"))


def library_file(design: Design) -> str:
    """The name in PREBUILT of a design's library."""
    return f"lib{design.name}-{hashlib.sha256(digest(design).encode()).hexdigest()[:16]}.so"


def library_folder(design: Design, flags: Sequence[str] = FLAGS) -> Path:
    """`cache_dir()/libraries/<key>`, where the libraries of a design are kept.

    The key is the hash of the emitted files, the runtime's sources, the flags and gcc's version.
    """
    parts = [digest(design).encode(), find_gcc().version.encode(), *map(str.encode, flags)]
    return cache_dir() / "libraries" / hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
