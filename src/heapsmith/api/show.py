"""The output of commands: tables, fields and JSON on stdout; notes and progress on stderr.

No other module of the command line prints: what is shown has no controls of terminals (model/errors.py).
"""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec

from heapsmith.model.errors import printable
from heapsmith.model.files import json_text
from heapsmith.tools.common import tables

Report = Callable[[str, int, int], None]
"""Called as report(what, done, total) during long work."""


LINE_S = 60.0
"""Between two lines of progress where stderr is no terminal."""

_SHOWN: dict[str, str] = {}
"""What results and errors call a temporary file, by its path."""


def name_file(path: str, name: str) -> None:
    """From now on show the file of this path, which is no user's, under this name."""
    _SHOWN[path] = name


def named(text: str) -> str:
    """The text with the names of `name_file` in place of paths."""
    for path, name in _SHOWN.items():
        text = text.replace(path, name)
    return text


MOST = 10_000
"""The most characters of a line for people."""


def _said(text: str, most: int = MOST) -> str:
    return printable(named(text), most)


def line(text: object = "") -> None:
    """A line on stdout; an empty one between parts of a result."""
    print(_said(str(text)))


def text(lines: str) -> None:
    """Several lines on stdout, as they are but for controls, such as a file that is printed."""
    print("\n".join(printable(named(one)) for one in lines.split("\n")), end="")


def emit_json(value: Any) -> None:
    """A result as indented JSON in ASCII."""
    print(named(json_text(value)))


def emit_bytes(content: bytes) -> None:
    """A file for another program, as it is."""
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()


def fields(rows: Iterable[tuple[str, object]]) -> None:
    """Aligned `name  value` lines; those of a long value are folded."""
    pairs = [(_said(name.replace("_", " ")), _said(str(value))) for name, value in rows]
    indent = max(len(name) for name, _ in pairs) + 2
    for name, value in pairs:
        folded = tables.fold(value, tables.width() - indent).replace("\n", "\n" + " " * indent)
        print(f"{name:<{indent}}{folded}".rstrip())


def struct(value: msgspec.Struct) -> None:
    """The fields of a struct, as `fields` prints them."""
    names = value.__struct_fields__
    fields((name, "-" if (field := getattr(value, name)) is None else figure(field)) for name in names)


def figure(value: object) -> str:
    """Whole numbers with separated thousands, any other value as it is."""
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def table(title: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """A table. The first column, and columns whose name begins with '<', are text to the left; others to the right."""
    tables.draw(tables.Words(title, columns, [[named(str(cell)) for cell in row] for row in rows]))


def prose(text: str) -> None:
    """A sentence or more, folded between words."""
    print(tables.fold(_said(text), tables.width()))


def note(text: str, most: int = MOST) -> None:
    """A line for people on stderr."""
    print(_said(text, most), file=sys.stderr, flush=True)


MOST_OF_TASK = 100
"""The most characters of what a bar is of."""


class _Lines:
    """A line on stderr for work of a minute and more, and for each further minute."""

    def __init__(self) -> None:
        self.last_s = time.monotonic()

    def __call__(self, what: str, done: int, total: int) -> None:
        now_s = time.monotonic()
        if now_s >= self.last_s + LINE_S:
            self.last_s = now_s
            note(f"{what}: {done / total:.0%}" if total else what)


@contextmanager
def progress() -> Iterator[Report]:
    """A callback that draws a bar on stderr from its first call on; a line a minute if stderr is no terminal."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
    bar = Progress(*columns, console=Console(stderr=True), transient=True)
    task = bar.add_task("")

    def report(what: str, done: int, total: int) -> None:
        bar.update(task, description=_said(what, MOST_OF_TASK), completed=done, total=total or None)
        bar.start()
        if done >= total:
            bar.stop()

    try:
        yield report
    finally:
        bar.stop()
