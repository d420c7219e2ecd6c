"""Classes of protobuf's messages, which protobuf generates at run time of a table of their fields."""

from collections.abc import Mapping
from typing import Any

from heapsmith.model.errors import Missing

Schema = Mapping[str, Mapping[str, str]]
"""Of each message its fields: NUMBER KIND or NUMBER repeated KIND; KIND is a scalar or a message of the table."""


def message_class(package: str, schema: Schema, name: str, need: str) -> Any:
    """Return the class of message `name` of proto3; Missing, which says what needs it, without protobuf."""
    try:
        from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
    except ImportError:
        raise Missing(f"{need} the package protobuf: pip install 'heapsmith[exports]'") from None
    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name=f"{package}.proto", package=package, syntax="proto3")
    for message, fields in schema.items():
        made = file.message_type.add(name=message)
        for field, spec in fields.items():
            number, *repeated, kind = spec.split()
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind in schema:
                made.field.add(
                    name=field, number=int(number), label=label, type=kinds.TYPE_MESSAGE, type_name=f".{package}.{kind}"
                )
            else:
                scalar = kinds.Type.Value(f"TYPE_{kind.upper()}")
                made.field.add(name=field, number=int(number), label=label, type=scalar)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName(f"{package}.{name}"))
