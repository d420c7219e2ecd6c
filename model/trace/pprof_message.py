"""pprof's protobuf message (proto/profile.proto of github.com/google/pprof): the one class that reads and writes it."""

from functools import cache
from typing import Any

from heapsmith.model.trace.messages import message_class

_SCHEMA = {
    "ValueType": {"type": "1 int64", "unit": "2 int64"},
    "Label": {"key": "1 int64", "str": "2 int64", "num": "3 int64", "num_unit": "4 int64"},
    "Sample": {"location_id": "1 repeated uint64", "value": "2 repeated int64", "label": "3 repeated Label"},
    "Mapping": {
        "id": "1 uint64",
        "memory_start": "2 uint64",
        "memory_limit": "3 uint64",
        "file_offset": "4 uint64",
        "filename": "5 int64",
        "build_id": "6 int64",
        "has_functions": "7 bool",
        "has_filenames": "8 bool",
        "has_line_numbers": "9 bool",
        "has_inline_frames": "10 bool",
    },
    "Line": {"function_id": "1 uint64", "line": "2 int64"},
    "Location": {"id": "1 uint64", "mapping_id": "2 uint64", "address": "3 uint64", "line": "4 repeated Line"},
    "Function": {"id": "1 uint64", "name": "2 int64", "system_name": "3 int64", "filename": "4 int64"},
    "Profile": {
        "sample_type": "1 repeated ValueType",
        "sample": "2 repeated Sample",
        "mapping": "3 repeated Mapping",
        "location": "4 repeated Location",
        "function": "5 repeated Function",
        "string_table": "6 repeated string",
        "time_nanos": "9 int64",
        "duration_nanos": "10 int64",
        "comment": "13 repeated int64",
        "default_sample_type": "14 int64",
    },
}


@cache
def profile_class() -> Any:
    """Return the class of the message Profile; Missing without the package protobuf."""
    return message_class("heapsmith.pprof", _SCHEMA, "Profile", "pprof's profiles need")
