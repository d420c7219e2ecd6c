"""How a file may name a policy: by a word or by a table with a kind, whichever the type of its field has."""

from collections.abc import Mapping
from functools import cache
from typing import Any

from heapsmith.model import policy

FRONTS = "class_front"


def spelled(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a design with each policy that has no numbers beside its name as its type has it.

    So what is printed of a design, the names of its rows, can be written in either form.
    """
    found = {field: _spelled(field, value) if field in policy.NAMED else value for field, value in content.items()}
    if isinstance(rows := found.get(FRONTS), list):
        found[FRONTS] = [_with_front(row) for row in rows]
    return found


def _with_front(row: Any) -> Any:
    if not isinstance(row, dict) or "front" not in row:
        return row
    return row | {"front": _spelled("front", row["front"])}


def _spelled(field: str, value: Any) -> Any:
    words, tables = forms(field)
    if isinstance(value, str) and value not in words and (value in tables or not words):
        return {"kind": value}
    if not isinstance(value, dict) or [*value] != ["kind"] or value["kind"] in tables:
        return value
    return value["kind"] if value["kind"] in words or not tables else value


@cache
def forms(field: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the names of a field's rows that its type has as words, and those that it has as tables."""
    rows = policy.choosable(field)
    words = (row.NAME for row in rows if not hasattr(row, "Params") or getattr(row, "IS_WORD", False))
    return frozenset(words), frozenset(row.NAME for row in rows if hasattr(row, "Params"))
