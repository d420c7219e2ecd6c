"""Changes: the fields in which designs differ, a base with some of them, and the legal ways from one to another."""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from heapsmith.model.design.design import Design
from heapsmith.model.errors import BadInput, Refusal
from heapsmith.model.policy import TABLES
from heapsmith.model.toml_text import from_toml
from heapsmith.tools.sweep.grid import with_choices


class Moved(NamedTuple):
    """A design that took fields of another: their paths, those that had to go with them among them.

    refusal: why there is no such legal design, as it was said last; None if there is.
    """

    paths: list[str]
    design: Design
    refusal: Refusal | None


def contenders(designs: Sequence[Design], changes: Sequence[str]) -> list[tuple[str, Design]]:
    """Return the designs to try beside the first: the others, and this one with each change alone, and with all.

    Each comes after the words of its change, under a name of its own. A change is PATH=VALUE, as in a grid
    (docs/howto/sweep-on-a-cluster.md). Raises BadInput for another, for a design that is no other, and where nothing
    is to try.
    """
    base, *others = designs
    found = [(other.name, other) for other in others] + list(_changed(base, changes))
    if not found:
        raise BadInput("expected a second design, or a change PATH=VALUE")
    hashes, names = {base.hash()}, {base.name}
    for number, (words, design) in enumerate(found):
        if design.hash() in hashes:
            raise BadInput(f"{words}: makes the same choices as a design before it; expected designs that differ")
        name = f"{design.name}-{number + 1}" if design.name in names else design.name
        found[number] = (words, msgspec.structs.replace(design, name=name))
        hashes.add(design.hash())
        names.add(name)
    return found


def _changed(base: Design, changes: Sequence[str]) -> Iterator[tuple[str, Design]]:
    """Yield the base with each change alone and, of several, with all together."""
    choices = dict(map(_parted, changes))
    if len(choices) < len(changes):
        raise BadInput("changes: a field is named twice; expected each once")
    for number, (path, value) in enumerate(choices.items(), 1):
        yield f"{path} = {_plain(value)}", with_choices(base, f"{base.name}-{number}", {path: value})
    if len(choices) > 1:
        yield "all together", with_choices(base, f"{base.name}-{len(choices) + 1}", choices)


def _parted(change: str) -> tuple[str, Any]:
    """Return the path and the value of PATH=VALUE; a value that is no TOML is a word."""
    path, equals, text = change.partition("=")
    path, text = path.strip(), text.strip()
    if not (path and equals and text):
        raise BadInput(f"{change}: expected PATH=VALUE, such as front.capacity=32")
    try:
        return path, from_toml(f"value = {text}", "", dict[str, Any], str)["value"]
    except BadInput:
        return path, text


def differing(design: Design, other: Design) -> list[str]:
    """Return the paths in which two designs differ, in the order of fields: of one policy's numbers, each."""
    return list(_paths(design, other))


def _paths(design: Design, other: Design) -> Iterator[str]:
    for field in Design.__struct_fields__:
        one, two = getattr(design, field), getattr(other, field)
        if field in ("name", "about") or one == two:
            continue
        if isinstance(one, msgspec.Struct) and type(one) is type(two):
            yield from (f"{field}.{name}" for name in one.__struct_fields__ if getattr(one, name) != getattr(two, name))
        else:
            yield field


def moved(design: Design, to: Design, paths: Sequence[str]) -> Moved:
    """Return the design with the values that these paths have in another, and with those that must go with them.

    Where that is no legal design, fields that the refusal names go too, or the first field with which it is one.
    """
    gone, every = [*paths], differing(design, to)
    while True:
        other = _taken(design, to, gone)
        refusal = other.why_not_valid()
        fields = {*refusal.fields} if refusal else {*()}
        left = [path for path in every if path not in gone]
        more = [path for path in left if path.partition(".")[0] in fields]
        if refusal and not more:
            more = [path for path in left if _taken(design, to, [*gone, path]).why_not_valid() is None]
        if not more:
            return Moved(gone, other, refusal)
        gone += more[:1]


def _taken(design: Design, to: Design, paths: Sequence[str]) -> Design:
    fields: dict[str, Any] = {}
    for path in paths:
        field, _, name = path.partition(".")
        value = getattr(to, field)
        if name:
            held = fields.get(field, getattr(design, field))
            value = msgspec.structs.replace(held, **{name: getattr(value, name)})
        fields[field] = value
    return msgspec.structs.replace(design, **fields)


def walk(begin: Design, end: Design) -> list[Moved]:
    """Return the legal designs on a way from one to another, a field at a time wherever that is legal.

    Of the fields that are left, the first goes that can go alone; if none can, the fewest that go together.
    """
    steps: list[Moved] = []
    here = begin
    while left := differing(here, end):
        ways: list[Moved] = []
        for path in left:
            ways.append(moved(here, end, [path]))
            if ways[-1].refusal is None and len(ways[-1].paths) == 1:
                break
        legal = [way for way in ways if way.refusal is None]
        step = min(legal, key=lambda way: len(way.paths), default=Moved(left, _taken(here, end, left), None))
        steps.append(step)
        here = step.design
    return steps


def words(design: Design, path: str) -> str:
    """Return the value of a path in a design, in few words."""
    field, _, name = path.partition(".")
    value = getattr(design, field)
    if name:
        return _plain(getattr(value, name))
    if value is None and field in TABLES:
        return str(design.row(field).NAME)
    return _plain(value)


def _plain(value: Any) -> str:
    """Return a value in few words: a policy by its name and numbers, a list by its length and ends."""
    plain = msgspec.to_builtins(value)
    if isinstance(plain, dict):
        numbers = [f"{name} {one}" for name, one in plain.items() if name != "kind" and one is not None]
        return " ".join([str(plain.get("kind", "")), *numbers]).strip()
    if isinstance(plain, list):
        return (
            f"{len(plain)} of {plain[0]} to {plain[-1]}" if len(plain) > 4 and isinstance(plain[0], int) else str(plain)
        )
    return "none" if plain is None else str(plain)
