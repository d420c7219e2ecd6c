"""Libraries of designs, each built once and kept in the user's cache."""

import hashlib
from pathlib import Path

from heapsmith.codegen.build import CHECKED, FLAGS, build
from heapsmith.codegen.generate import contents
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import Design
from heapsmith.model.files import cache_dir


def library_of(design: Design, *, checked: bool = False, flags: list[str] = FLAGS) -> Path:
    """`cache_dir()/libraries/<key>/lib<name>.so`, built if absent.

    The key is the hash of the emitted files, the runtime's sources, the flags and gcc's version.
    Raises Missing or CheckFailed as `codegen.build.build` does.
    """
    gcc = find_gcc()
    words = [*flags, *(CHECKED if checked else [])]
    key = hashlib.sha256(b"\0".join([contents(design)["MANIFEST"], gcc.version.encode(), *map(str.encode, words)]))
    library = cache_dir() / "libraries" / key.hexdigest()[:16] / f"lib{design.name}.so"
    return library if library.exists() else build(design, library, checked=checked, flags=flags)
