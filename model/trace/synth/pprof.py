"""Heap profiles in pprof's protobuf message (proto/profile.proto of github.com/google/pprof), as Go writes them."""

from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.pprof_message import profile_class
from heapsmith.model.trace.synth.heap_text import NO_TOTALS
from heapsmith.model.trace.synth.sums import Profile, Site

_BORN = (("alloc_objects", "objects_allocated"), ("alloc_space",))
_LIVE = (("inuse_objects", "objects"), ("inuse_space", "space"))
"""The names of the values of a sample: blocks, bytes."""


def read(source: Source) -> Profile:
    """Return the samples of a heap profile; BadInput for a damaged message, or a profile of something else."""
    message_class = profile_class()
    from google.protobuf.message import DecodeError

    try:
        message = message_class.FromString(source.read(-1))
        names = [message.string_table[kind.type] for kind in message.sample_type]
        rows = [list(sample.value) for sample in message.sample]
    except (DecodeError, IndexError) as error:
        source.bad("the message", f"not of pprof: {error}")
    live, born = (_places(names, wanted) for wanted in (_LIVE, _BORN))
    if live is None and born is None:
        source.bad("sample_type", f"expected blocks and bytes of allocations, got {', '.join(names) or 'none'}")
    if any(len(row) != len(names) or min(row) < 0 for row in rows):
        source.bad("sample", f"expected {len(names)} values that are not negative")
    sites = []
    for row in rows:
        objects, space = (row[place] for place in (born or live or ()))
        sites.append(Site(objects, space, row[live[0]] if live else 0))
    return Profile(sites, [NO_TOTALS if born is None else "the blocks in use at the end are as many as at any time"])


def _places(names: list[str], wanted: tuple[tuple[str, ...], ...]) -> tuple[int, ...] | None:
    """Return the places of blocks and bytes among the values, or None if one is missing."""
    places = [next((names.index(name) for name in either if name in names), None) for either in wanted]
    return None if None in places else tuple(place for place in places if place is not None)
