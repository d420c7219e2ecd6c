"""Files without single allocations, such as heap profiles: they are recognised and refused with the reason."""

import re

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.source import Source

_WHY = "has sums over blocks, not single allocations and frees in their order: no trace can be made of it"
_INSTEAD = "; `heapsmith trace synth --like` draws one from it"
JEMALLOC, GPERFTOOLS, DHAT, MASSIF, PPROF = (
    "a jemalloc heap profile",
    "a gperftools heap profile",
    "a DHAT profile",
    "a massif profile",
    "a pprof profile",
)
_PROFILES = {
    JEMALLOC: rb"heap_v2/",
    GPERFTOOLS: rb"(?:(?:--- symbol\n(?:(?!---).*\n)*---\n)?--- \w+\n)?heap profile: *\d+: *\d+ *\[",  # pprof --raw
    DHAT: rb'\s*\{[^{]*"dhatFileVersion"',
    MASSIF: rb"desc: .*\ncmd: ",
    PPROF: rb"(?:Z[\x02-\x06]\x08[\x01-\x7f](?:\x10[\x01-\x7f])?)?(?:`[\x80-\xff]*[\x00-\x7f])?"  # Go: first the period
    rb"\x0a[\x02-\x06]\x08[\x01-\x7f](?:\x10[\x01-\x7f]|\x0a)",
}
"""What the first bytes of each kind of profile match."""


_OTHERS = {"a recording of perf": rb"PERFILE2|2ELIFREP", "a program, a library or a core file": rb"\x7fELF"}
"""Other files that a user may take for a trace."""


def profile_of(head: bytes) -> str | None:
    """Return the kind of heap profile that begins with these bytes, in words, or None."""
    return next((what for what, begins in _PROFILES.items() if re.match(begins, head)), None)


def refuse_aggregate(source: Source) -> None:
    """Raise BadInput if the file is a heap profile, or has no allocations at all."""
    what = profile_of(source.head)
    if what is not None:
        raise BadInput(f"{source.name}: this is {what}, which {_WHY}{'' if what == MASSIF else _INSTEAD}")
    for other, begins in _OTHERS.items():
        if re.match(begins, source.head):
            record = "record the program with `heapsmith record -o t.hst -- CMD`"
            raise BadInput(
                f"{source.name}: this is {other}, which has no allocations and frees in their order; {record}"
            )
