"""A place in code: a function, a line, and whether its file is one of the compiler's libraries."""

import os
import re
from typing import NamedTuple

_OF_COMPILER = re.compile(
    r"/include/(?:[^/]+/)?c\+\+/(?:v1|\d[\d.]*)/"  # the standard library of C++
    r"|/gcc(?:-cross)?/[^/]+/\d[\d.]*/include(?:-fixed)?/|/lib/clang/[^/]+/include/"  # the compiler's own
    r"|^/usr/include/(?:[^/]+/)*bits/"  # glibc's inline functions
    r"|^/rustc/[0-9a-f]+/library/|/lib/rustlib/src/rust/library/"
)
"""Files of the compiler and its libraries."""


class Place(NamedTuple):
    """A place in code, as far as it is known."""

    function: str  # demangled; module+offset where no symbol covers the place
    line: str | None = None  # file:line
    is_of_compiler: bool = False  # the file is one of the compiler's or its libraries'
    file: str = ""  # the path of the file, as the compiler wrote it


def place_at(function: str, where: str) -> Place:
    """The place of a function at path:line; line 0 and ? are unknown."""
    file, _, number = where.rpartition(":")
    if number in ("?", "0"):
        return Place(function)
    return Place(function, os.path.basename(where), _OF_COMPILER.search(os.path.normpath(file)) is not None, file)
