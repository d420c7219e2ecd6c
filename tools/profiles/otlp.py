"""OpenTelemetry's profiles (OTLP, v1development): a profile per quantity over one dictionary."""

import hashlib
from typing import IO, Any

from heapsmith.model.errors import Missing
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import Frame, Stack, StackTable


def _messages() -> Any:
    """Return the module of OpenTelemetry's messages; Missing without it."""
    try:
        from opentelemetry.proto.profiles.v1development import profiles_pb2
    except ImportError:
        raise Missing(
            "profiles of OTLP need the package opentelemetry-proto: pip install 'heapsmith[exports]'"
        ) from None
    return profiles_pb2


class _Dictionary:
    """The message of what all profiles share; entry 0 of each table is its empty message."""

    def __init__(self, message: Any) -> None:
        self.message = message
        self.strings = Numbers[str]()
        self._modules, self._functions = Numbers[str](), Numbers[tuple[str, str]]()
        self._frames, self._stacks = Numbers[Frame](1), Numbers[Stack](1)
        self.strings[""], self._modules[""], self._functions["", ""]
        for name in ("mapping", "location", "function", "link", "attribute", "stack"):
            getattr(message, f"{name}_table").add()

    def stack(self, stack: Stack) -> int:
        """The number of a stack."""
        if stack not in self._stacks:
            number = self._stacks[stack]
            places = [self._place(frame) for frame in stack]
            self.message.stack_table.add(location_indices=places)
            return number
        return self._stacks[stack]

    def _place(self, frame: Frame) -> int:
        if frame not in self._frames:
            place = self.message.location_table.add(mapping_index=self._mapping(frame.module))
            place.lines.add(function_index=self._function(frame.function, frame.file), line=frame.line)
        return self._frames[frame]

    def _mapping(self, module: str) -> int:
        if module not in self._modules:
            self.message.mapping_table.add(filename_strindex=self.strings[module])
        return self._modules[module]

    def _function(self, name: str, file: str) -> int:
        if (name, file) not in self._functions:
            named = self.strings[name]
            self.message.function_table.add(
                name_strindex=named, system_name_strindex=named, filename_strindex=self.strings[file]
            )
        return self._functions[name, file]


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write the message ProfilesData, with the profile of the usual quantity first."""
    whole = _messages().ProfilesData()
    dictionary = _Dictionary(whole.dictionary)
    resource = whole.resource_profiles.add()
    resource.resource.attributes.add(key="service.name").value.string_value = table.title
    scope = resource.scope_profiles.add()
    scope.scope.name = "heapsmith"
    for place in sorted(table.sums, key=lambda place: place != usual):
        quantity = table.quantities[place]
        profile = scope.profiles.add(duration_nano=table.duration_ns)
        profile.profile_id = hashlib.sha256(f"{table.title}\0{quantity.name}".encode()).digest()[:16]
        profile.sample_type.type_strindex = dictionary.strings[quantity.name]
        profile.sample_type.unit_strindex = dictionary.strings[quantity.unit]
        for stack, values in table.rows.items():
            if values[place]:
                profile.samples.add(stack_index=dictionary.stack(stack), values=[values[place]])
    whole.dictionary.string_table.extend(dictionary.strings)
    file.write(whole.SerializeToString(deterministic=True))


FORMAT = Format("otlp", write, messages=_messages)
