"""Heap profiles: sums over many blocks, which are recognised and refused with the reason."""

import re

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.source import Source

_WHY = "has sums over blocks, not single allocations and frees in their order: no trace can be made of it"
_PROFILES = {
    "a jemalloc heap profile": rb"heap_v2/",
    "a gperftools heap profile": rb"heap profile: +\d+: +\d+ \[",
    "a DHAT profile": rb'\s*\{\s*"dhatFileVersion"',
    "a massif profile": rb"desc: .*\ncmd: ",
    "a pprof profile": rb"\x0a[\x02-\x06]\x08[\x01-\x7f](?:\x10[\x01-\x7f]|\x0a)",
}
"""What the first bytes of each kind of profile match."""


def refuse_aggregate(source: Source) -> None:
    """Raise BadInput if the file is a heap profile."""
    for what, begins in _PROFILES.items():
        if re.match(begins, source.head):
            raise BadInput(f"{source.path}: this is {what}, which {_WHY}")
