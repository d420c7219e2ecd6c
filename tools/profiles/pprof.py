"""pprof's profile, in gzip: `go tool pprof` reads it, and what stores profiles of production."""

import gzip
from typing import IO, Any

from heapsmith.model.trace.pprof_message import profile_class
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import Frame, StackTable

BASE = ("pprof::base", "true")
"""The label of samples of a difference's first trace, as `pprof -diff_base` makes them: their values are negative."""


class _Writer:
    """The message, and the numbers of its strings, mappings, functions and locations."""

    def __init__(self) -> None:
        self.message = profile_class()()
        self.strings = Numbers[str]()
        self._modules, self._functions, self._places = Numbers[str](1), Numbers[tuple[str, str]](1), Numbers[Frame](1)
        self.strings[""]

    def location(self, frame: Frame) -> int:
        """The number of a frame's location."""
        if frame not in self._places:
            place = self.message.location.add(id=self._places[frame], mapping_id=self._mapping(frame.module))
            place.line.add(function_id=self._function(frame.function, frame.file), line=frame.line)
        return self._places[frame]

    def _function(self, name: str, file: str) -> int:
        if (name, file) not in self._functions:
            number, named = self._functions[name, file], self.strings[name]
            self.message.function.add(id=number, name=named, system_name=named, filename=self.strings[file])
        return self._functions[name, file]

    def _mapping(self, module: str) -> int:
        if module and module not in self._modules:
            known = {"has_functions": True, "has_filenames": True, "has_line_numbers": True, "has_inline_frames": True}
            self.message.mapping.add(id=self._modules[module], filename=self.strings[module], **known)
        return self._modules[module] if module else 0


def message_of(table: StackTable) -> Any:
    """Return the message: a sample per stack, of a difference two."""
    writer, kept = _Writer(), table.sums
    message, strings = writer.message, writer.strings
    for place in kept:
        quantity = table.quantities[place]
        message.sample_type.add(type=strings[quantity.name], unit=strings[quantity.unit])
    for stack, values in table.rows.items():
        places = [writer.location(frame) for frame in stack]
        if table.before is not None:
            base = [-table.before[stack][place] for place in kept]
            label = {"key": strings[BASE[0]], "str": strings[BASE[1]]}
            if any(base):
                message.sample.add(location_id=places, value=base).label.add(**label)
        own = [values[place] for place in kept]
        if any(own):
            message.sample.add(location_id=places, value=own)
    message.default_sample_type = strings[table.usual]
    message.duration_nanos = table.duration_ns
    message.comment.extend(strings[note] for note in (table.title, *table.notes))
    message.string_table.extend(strings)
    return message


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write the profile; the same table makes the same bytes."""
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        packed.write(message_of(table).SerializeToString(deterministic=True))


FORMAT = Format("pprof", write, has_differences=True, messages=profile_class)
