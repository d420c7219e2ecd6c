"""Libraries of designs, each built once and kept in the user's cache."""

import hashlib
from collections.abc import Sequence
from pathlib import Path

from heapsmith.codegen.build import CHECKED, FLAGS, build
from heapsmith.codegen.generate import digest
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import Design
from heapsmith.model.files import cache_dir


def library_of(design: Design, *, checked: bool = False, flags: list[str] = FLAGS) -> Path:
    """The library of a design, built if absent. Raises Missing or CheckFailed as `codegen.build.build` does."""
    library = library_folder(design, [*flags, *(CHECKED if checked else [])]) / f"lib{design.name}.so"
    return library if library.exists() else build(design, library, checked=checked, flags=flags)


def library_folder(design: Design, flags: Sequence[str] = FLAGS) -> Path:
    """`cache_dir()/libraries/<key>`, where the libraries of a design are kept.

    The key is the hash of the emitted files, the runtime's sources, the flags and gcc's version.
    """
    parts = [digest(design).encode(), find_gcc().version.encode(), *map(str.encode, flags)]
    return cache_dir() / "libraries" / hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]
