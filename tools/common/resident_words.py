"""What was resident of a process by kind, in words: a line, and a table of two moments."""

from collections.abc import Iterable

from heapsmith.model.trace.kinds import Kinds
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount, duration

WORDS = {
    "malloc": "malloc",
    "mappings": "its own mappings",
    "static": "static data",
    "stacks": "stacks",
    "files": "files",
    "files_shared": "files that others map too",
    "shared_memory": "shared memory",
    "recorder": "the recorder",
}
"""How the kinds are called."""
PRIVATE = ("mappings", "static", "stacks")
"""The kinds of a program's own memory that no malloc gave."""
_TOLD, _MISSED = 0.01, 1.05


def line(kinds: Kinds, peak: int) -> str:
    """What was resident when most was, in sentences, the largest kinds first; those of less than 1 % are left out.

    peak: the most resident bytes that are known; looks may have missed it.
    """
    at = kinds.most_resident()
    most, malloc = kinds.resident()[at], kinds.malloc[at]
    said = [f"{amount(most)} were resident at most."]
    if peak >= _MISSED * most:
        said = [f"{amount(peak)} were resident at most.", f"The look with most found {amount(most)}."]
    said += [
        f"Malloc held {amount(malloc)}.",
        f"Of these, {amount(min(kinds.live[at], malloc))} or less were live blocks.",
    ]
    held = {name: getattr(kinds, name)[at] for name in kinds.RESIDENT if name != "malloc"}
    if told := parts((name, size) for name, size in held.items() if size >= _TOLD * most):
        said.append(f"Others: {told}.")
    return " ".join(said)


def parts(sizes: Iterable[tuple[str, int]]) -> str:
    """Kinds with their bytes, the largest first."""
    return ", ".join(f"{WORDS[name]} {amount(size)}" for name, size in sorted(sizes, key=lambda one: -one[1]) if size)


def table(kinds: Kinds, title: str = "resident by kind") -> Words:
    """The kinds when most was resident, and when most was live, of the moments that were looked at.

    Not asked for: more where the program has not touched all that it asked for.
    """
    moments = [kinds.most_resident(), kinds.most_live()]
    heads = [
        f"{what}, {_time(kinds.time_ns[at])}" for what, at in zip(("most resident", "most live"), moments, strict=True)
    ]
    columns = {WORDS[name]: getattr(kinds, name) for name in kinds.RESIDENT} | {"resident": kinds.resident()}
    columns |= {"beside: live blocks": kinds.live, "beside: page tables": kinds.page_tables}
    rows = [(name, *(amount(column[at]) for at in moments)) for name, column in columns.items()]
    beyond = [max(0, kinds.malloc[at] - kinds.live[at]) for at in moments]
    rows.insert(1, ("malloc, not asked for", *(f"{amount(one)} or more" if one else "-" for one in beyond)))
    looks = len(kinds.time_ns)
    return Words(f"{title}, of {looks} look{'s' if looks > 1 else ''}", ("kind", *heads), rows)


def _time(time_ns: int) -> str:
    """A time since the first event."""
    return duration(time_ns) if time_ns >= 0 else f"{duration(-time_ns)} before the first event"
