"""Heap profiles in pprof's protobuf message (proto/profile.proto of github.com/google/pprof), as Go writes them."""

from functools import cache
from typing import Any

from heapsmith.model.errors import Missing
from heapsmith.model.trace.imports.source import Source
from heapsmith.model.trace.synth.heap_text import NO_TOTALS
from heapsmith.model.trace.synth.sums import Profile, Site

_BORN = (("alloc_objects", "objects_allocated"), ("alloc_space",))
_LIVE = (("inuse_objects", "objects"), ("inuse_space", "space"))
"""The names of the values of a sample: blocks, bytes."""


@cache
def _message() -> Any:
    """Return the class of the message, with the fields that are read here; Missing without the package protobuf."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise Missing("pprof's profiles need the package protobuf: pip install 'heapsmith[imports]'") from None
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="heapsmith/profile.proto", package="heapsmith.pprof", syntax="proto3"
    )
    value_type = file.message_type.add(name="ValueType")
    value_type.field.add(name="type", number=1, label=kinds.LABEL_OPTIONAL, type=kinds.TYPE_INT64)
    sample = file.message_type.add(name="Sample")
    sample.field.add(name="value", number=2, label=kinds.LABEL_REPEATED, type=kinds.TYPE_INT64)
    whole, prefix = file.message_type.add(name="Profile"), ".heapsmith.pprof."
    for number, name, kind in ((1, "sample_type", "ValueType"), (2, "sample", "Sample")):
        whole.field.add(
            name=name, number=number, label=kinds.LABEL_REPEATED, type=kinds.TYPE_MESSAGE, type_name=prefix + kind
        )
    whole.field.add(name="string_table", number=6, label=kinds.LABEL_REPEATED, type=kinds.TYPE_STRING)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("heapsmith.pprof.Profile"))


def read(source: Source) -> Profile:
    """Return the samples of a heap profile; BadInput for a damaged message, or a profile of something else."""
    message_class = _message()
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
