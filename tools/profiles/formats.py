"""The table of formats of profiles, and writing one (docs/other-tools.md)."""

from pathlib import Path
from typing import IO

from heapsmith.model.errors import BadInput
from heapsmith.model.files import staged
from heapsmith.tools.profiles import collapsed, dhat, firefox, html, otlp, perfetto, pprof, speedscope
from heapsmith.tools.profiles.format import Format
from heapsmith.tools.profiles.table import StackTable

FORMATS: dict[str, Format] = {
    module.FORMAT.name: module.FORMAT for module in (html, pprof, collapsed, speedscope, dhat, firefox, perfetto, otlp)
}


def write_profile(table: StackTable, name: str, file: IO[bytes], weight: str | None = None) -> None:
    """Write a table in the format of this name; weight: the quantity to show first or alone.

    Raises BadInput for an unknown quantity and a table that the format cannot hold, Missing without the package of
    the format's messages.
    """
    form = FORMATS[name]
    if table.before is not None and not form.has_differences:
        able = ", ".join(one.name for one in FORMATS.values() if one.has_differences)
        raise BadInput(f"--format {name}: it holds no differences; expected one of {able}")
    if not table.has(form.needs):
        raise BadInput(f"--format {name}: it needs {', '.join(form.needs)}, which `heapsmith sites` has")
    summed = [table.quantities[place] for place in table.sums]
    names = [quantity.name for quantity in summed if form.unit in ("", quantity.unit)]
    if weight is not None and weight not in names:
        raise BadInput(f"--weight {weight}: no such quantity; expected one of {', '.join(names)}")
    form.write(table, file, table.place(weight or table.usual))


def write_profile_file(table: StackTable, name: str, out: Path, weight: str | None = None) -> None:
    """The same as a file, which appears whole or not at all."""
    with staged(out) as path, path.open("wb") as file:
        write_profile(table, name, file, weight)
