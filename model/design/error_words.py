"""The words of errors in design files: the field first, and the nearest name for an unknown one."""

import difflib
import re
from collections.abc import Sequence
from typing import Literal, get_args, get_origin, get_type_hints

import msgspec

from heapsmith.model import policy

Structs = tuple[type[msgspec.Struct], type[msgspec.Struct]]
"""The struct of a whole design, and that of its other tables that are no policy's."""


def in_words(error: str, structs: Structs) -> str:
    """Return msgspec's message with the field first, and the nearest name for an unknown name."""
    what, _, path = error.partition(" - at `$")
    field = path.rstrip("`").lstrip(".")
    if found := re.search(r"Invalid (?:enum )?value '([^']*)'", what):
        known = _policy_names(field) or _words_of(field)
        if found[1] in known:
            return f"{field}: '{found[1]}' has no numbers; expected it alone"
        return f"{field}: unknown policy '{found[1]}'{hint(found[1], known)}"
    if found := re.search(r"unknown field `([^`]*)`", what):
        return f"{field or 'design'}: unknown field '{found[1]}'{hint(found[1], _field_names(field, structs))}"
    if found := re.search(r"missing required field `([^`]*)`", what):
        inner = f"{field}.{found[1]}" if field else found[1]
        known = _policy_names(inner) if found[1] == "kind" else []
        return f"{inner}: is missing{'; expected one of ' + ', '.join(known) if known else ''}"
    return f"{field}: {what}" if field else what


def hint(wrong: str, known: Sequence[str]) -> str:
    """Return the end of a message about an unknown name: the nearest known one, or all."""
    near = difflib.get_close_matches(wrong, known, n=1, cutoff=0.5)
    return f"; did you mean '{near[0]}'?" if near else f"; expected one of {', '.join(known)}"


def _policy_names(field: str) -> list[str]:
    table = "front" if field.endswith("front.kind") else field.removesuffix(".kind")
    rows = policy.choosable(table) if table in policy.NAMED else ()
    return [row.NAME for row in rows]


def _words_of(field: str) -> list[str]:
    """Return the words of which a field of a policy's table has one; none if it is no such field."""
    table, _, name = field.partition(".")
    rows = policy.choosable(table) if table in policy.NAMED else ()
    types = [get_type_hints(row.Params).get(name) for row in rows if hasattr(row, "Params")]
    return sorted({word for one in types if get_origin(one) is Literal for word in get_args(one)})


def _field_names(field: str, structs: Structs) -> list[str]:
    """Return the fields that are valid at this path."""
    table = "front" if field.endswith("front") else field
    rows = [structs[1 if field else 0]]
    if table in policy.NAMED:
        rows = [row.Params for row in policy.choosable(table) if hasattr(row, "Params")]
    return sorted({name for row in rows for name in row.__struct_fields__})
