"""The option --limit: designs that keep away from a limit on memory, with this limit."""

from collections.abc import Sequence
from typing import Annotated

from heapsmith.api.designs import Design
from heapsmith.api.stated import Option
from heapsmith.model.errors import BadInput

Limit = Annotated[
    int | None,
    Option(
        "The limit on memory, for designs whose release has limit_percent; in place of their limit_bytes.",
        "BYTES",
        least=4096,
        usual="that of each design, or none",
    ),
]


def limited(designs: Sequence[str], limit: int | None) -> list[Design | str]:
    """Return the designs with this limit, those without limit_percent as they are; BadInput where all are."""
    if limit is None:
        return list(designs)
    loaded = [Design.load(spec) for spec in designs]
    if not any(_percent(one) for one in loaded):
        raise BadInput("--limit: expected a design with release.limit_percent")
    return [
        one.changed(one.name, release=one.fields["release"] | {"limit_bytes": limit}) if _percent(one) else one
        for one in loaded
    ]


def _percent(design: Design) -> int:
    percent: int = design.fields["release"].get("limit_percent", 0)
    return percent
