"""A page of HTML that needs no program: a flame graph of a quantity; of a difference red where it grew, else blue."""

from typing import IO, Any

from heapsmith.model.errors import printable
from heapsmith.tools.page.payload import Payload
from heapsmith.tools.page.sheet import sheet
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.numbers import Numbers
from heapsmith.tools.profiles.table import StackTable

SCRIPTS = ("core", "flame", "stacks")


def write(table: StackTable, file: IO[bytes], usual: int) -> None:
    """Write the page, which shows the usual quantity first."""
    payload = Payload()
    text = sheet(
        "stacks.html.j2",
        SCRIPTS,
        payload.text(_contents(table, usual, payload)),
        table.title,
        heading="Call stacks" if table.before is None else "Call stacks, before and after",
        notes=[printable(note) for note in (*table.notes, *table.reasons)],
    )
    file.write(text.encode())


def _contents(table: StackTable, usual: int, payload: Payload) -> dict[str, Any]:
    """The page's data; its arrays are in the payload."""
    names = Numbers[str]()
    paths = [[names[frame.name] for frame in reversed(stack)] for stack in table.rows]
    sides = {"after": table.rows, "before": table.before}
    quantities = [
        {"name": of.name, "about": of.about, "unit": of.unit}
        | {
            side: payload.array([values[place] for values in rows.values()], "f8") if rows is not None else None
            for side, rows in sides.items()
        }
        for place in table.sums
        for of in [table.quantities[place]]
    ]
    return {"names": list(names), "paths": paths, "quantities": quantities, "usual": table.sums.index(usual)}


FORMAT = Format("html", write, has_differences=True)
