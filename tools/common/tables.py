"""Tables of words: as Markdown for a page, or as text that fits the terminal."""

import re
import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import NamedTuple

from heapsmith.model.errors import printable

PIPED = 100
"""Columns of text that does not go to a terminal."""

GAP = 2
TIED = "\N{NO-BREAK SPACE}"
"""Replaces the spaces of a figure, such as 12.3 MiB, while texts are folded."""


class Words(NamedTuple):
    """A table; the first column and columns named '<...' hold text, the others figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


MOST_OF_CELL, MOST_OF_WORD = 2_000, 120
"""The most characters of a cell, and of a word in it, which no line breaks."""
_TAG = re.compile(r"<(?=[a-zA-Z/!?])")
"""What begins HTML in Markdown."""


def shown(words: Words) -> Words:
    """The table with each cell on a line, whatever names are in it."""
    title, columns, *rows = (
        [printable(cell, MOST_OF_CELL, MOST_OF_WORD) for cell in row]
        for row in ([words.title], words.columns, *words.rows)
    )
    return Words(title[0], columns, rows)


def section(table: Words) -> Iterator[str]:
    """A table under its title, as lines of Markdown."""
    words = shown(table)
    left = [index == 0 or column.startswith("<") for index, column in enumerate(words.columns)]
    yield from ("", f"## {_TAG.sub('&lt;', words.title)}", "")
    yield f"| {' | '.join(column.lstrip('<') for column in words.columns)} |"
    yield f"|{'|'.join(':--' if text else '--:' for text in left)}|"
    for row in words.rows:
        yield f"| {' | '.join(cell(one) for one in row)} |"


def cell(words: str) -> str:
    """A cell of Markdown, whose text neither ends it nor begins what goes on behind it."""
    text = _TAG.sub("&lt;", words.replace("|", "/"))
    return text.replace("`", "\\`") if text.count("`") % 2 else text


def code(text: str) -> str:
    """A name or a command as code in Markdown, whatever marks it has."""
    fence = "`" * (1 + max(map(len, re.findall("`+", text)), default=0))
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def width() -> int:
    """Columns of the terminal on standard output, or COLUMNS, or PIPED."""
    return shutil.get_terminal_size((PIPED, 24)).columns


def fold(text: str, width: int) -> str:
    """Fold the text between words into lines of at most `width` columns; longer words overflow."""
    return textwrap.fill(text, max(1, width), break_long_words=False, break_on_hyphens=False)


def draw(words: Words) -> None:
    """Print the table for the terminal, after an empty line if it has a title."""
    print(("\n" if words.title else "") + text(words, width()))


class _Column(NamedTuple):
    """A column of a layout; spaces in figures are TIED."""

    name: str
    is_text: bool
    cells: list[str]

    def natural(self) -> int:
        """The width at which nothing is folded."""
        return max(map(len, [self.name, *self.cells]))

    def least(self) -> int:
        """The least width at which no word or figure is broken."""
        return max((len(word) for cell in [self.name, *self.cells] for word in cell.split(" ")), default=0)


_Layout = list[list[_Column]]
"""Tables to print below each other."""


def text(table: Words, width: int) -> str:
    """The table under its title, in lines of at most `width` columns without trailing spaces.

    A table that is too wide gets its headers and texts folded, or its rows and columns exchanged,
    or is split into several tables that repeat the first column: the layout with the fewest lines
    wins. Words and figures are never broken, so a line may still be longer.
    """
    words = shown(table)
    columns = _columns(words)
    layouts = [[columns]]
    if _total(columns, _Column.natural) > width:
        parts = [_parts(columns, width, of) for of in (_Column.natural, _Column.least)]
        layouts += [[_exchanged(columns)], *parts]
        layouts = [one for one in layouts if all(_total(table, _Column.least) <= width for table in one)] or parts[1:]
    folded = [[_folded(table, width) for table in layout] for layout in layouts]
    drawn = "\n\n".join(map(_drawn, min(folded, key=lambda tables: sum(map(_height, tables)))))
    return f"{fold(words.title, width)}\n{drawn}" if words.title else drawn


def _columns(words: Words) -> list[_Column]:
    made = []
    for index, name in enumerate(words.columns):
        is_text = index == 0 or name.startswith("<")
        cells = [row[index] if is_text else row[index].replace(" ", TIED) for row in words.rows]
        made.append(_Column(name.lstrip("<"), is_text, cells))
    return made


def _exchanged(columns: list[_Column]) -> list[_Column]:
    """Exchange rows and columns."""
    first, *rest = columns
    rows = zip(*(column.cells for column in rest), strict=True)
    is_text = any(column.is_text for column in rest)
    labels = _Column(first.name, True, [column.name for column in rest])
    return [labels, *(_Column(name, is_text, list(row)) for name, row in zip(first.cells, rows, strict=False))]


def _parts(columns: list[_Column], width: int, of: Callable[[_Column], int]) -> _Layout:
    """Split into tables that fit by the width `of` each column; each has the first and one more."""
    first, *rest = columns
    parts = [[first]]
    for column in rest:
        if len(parts[-1]) > 1 and _total([*parts[-1], column], of) > width:
            parts.append([first])
        parts[-1].append(column)
    return parts


def _total(columns: list[_Column], of: Callable[[_Column], int]) -> int:
    return sum(map(of, columns)) + GAP * (len(columns) - 1)


def _widths(columns: list[_Column], width: int) -> list[int]:
    """The widths of the columns to fit `width`: headers of figures are folded before texts."""
    widths, least = [column.natural() for column in columns], [column.least() for column in columns]
    while sum(widths) + GAP * (len(columns) - 1) > width and widths != least:
        loose = [index for index in range(len(columns)) if widths[index] > least[index]]
        widths[max(loose, key=lambda index: (not columns[index].is_text, widths[index]))] -= 1
    return widths


def _folded(columns: list[_Column], width: int) -> list[_Column]:
    return [
        column._replace(name=fold(column.name, own), cells=[fold(cell, own) for cell in column.cells])
        for column, own in zip(columns, _widths(columns, width), strict=True)
    ]


def _height(folded: list[_Column]) -> int:
    """Lines of the table, with the rule below its head and an empty line."""
    cells: list[tuple[str, ...]] = list(zip(*([column.name, *column.cells] for column in folded), strict=True))
    return sum(1 + max(cell.count("\n") for cell in row) for row in cells) + 2


def _drawn(folded: list[_Column]) -> str:
    from rich.console import Console  # imported here: only commands with a table wait for it
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0))
    for column in folded:
        table.add_column(Text(column.name), justify="left" if column.is_text else "right", no_wrap=True)
    lines = [[line for cell in (column.name, *column.cells) for line in cell.split("\n")] for column in folded]
    rule = ["-" * max(map(len, own)) for own in lines]
    for row in (rule, *zip(*(column.cells for column in folded), strict=True)):
        table.add_row(*map(Text, row))
    drawn = StringIO()
    width = 2 * sum(map(len, rule)) + GAP * len(rule)
    Console(file=drawn, width=width, color_system=None, force_jupyter=False).print(table)
    return "\n".join(line.replace(TIED, " ").rstrip() for line in drawn.getvalue().splitlines())
