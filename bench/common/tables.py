"""Tables of words: as Markdown for a page, as text laid out to fit a terminal."""

import shutil
import textwrap
from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from typing import NamedTuple

PIPED = 100
"""Columns of text that goes to no terminal."""

GAP = 2
TIED = "\N{NO-BREAK SPACE}"
"""Stands for the spaces of a figure, such as 12.3 MiB, while texts are folded."""


class Words(NamedTuple):
    """A table; the first column, and any whose name begins with '<', is text, the others are figures."""

    title: str
    columns: Sequence[str]
    rows: Sequence[Sequence[str]]


def section(words: Words) -> Iterator[str]:
    """A table under its title, as lines of Markdown."""
    left = [index == 0 or column.startswith("<") for index, column in enumerate(words.columns)]
    yield from ("", f"## {words.title}", "")
    yield f"| {' | '.join(column.lstrip('<') for column in words.columns)} |"
    yield f"|{'|'.join(':--' if text else '--:' for text in left)}|"
    for row in words.rows:
        yield f"| {' | '.join(cell.replace('|', '/') for cell in row)} |"


def width() -> int:
    """Columns of the terminal that standard output is, or COLUMNS, or PIPED."""
    return shutil.get_terminal_size((PIPED, 24)).columns


def fold(text: str, width: int) -> str:
    """The text in lines of at most `width` columns that end between words; a longer word has a longer line."""
    return textwrap.fill(text, max(1, width), break_long_words=False, break_on_hyphens=False)


def draw(words: Words) -> None:
    """Print the table, laid out for the terminal; before a title is an empty line."""
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
        """The width below which a word or a figure would be broken."""
        return max((len(word) for cell in [self.name, *self.cells] for word in cell.split(" ")), default=0)


_Layout = list[list[_Column]]
"""Tables to print one under the other."""


def text(words: Words, width: int) -> str:
    """The table under its title, in lines of at most `width` columns; no line ends with a space.

    A table that is too wide has its headers and texts folded, or its rows and columns exchanged, or is drawn in parts
    of some columns each, with the first column before them: whichever takes the fewest lines. No word and no figure is
    broken: a line is longer where they leave no choice.
    """
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
    """A row for each column, a column for each row."""
    first, *rest = columns
    rows = zip(*(column.cells for column in rest), strict=True)
    is_text = any(column.is_text for column in rest)
    labels = _Column(first.name, True, [column.name for column in rest])
    return [labels, *(_Column(name, is_text, list(row)) for name, row in zip(first.cells, rows, strict=False))]


def _parts(columns: list[_Column], width: int, of: Callable[[_Column], int]) -> _Layout:
    """As many columns in each table as fit by this width of theirs, but at least two; the first is in all."""
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
    """Of each column, so that they fit as far as that goes: headers of figures are folded before texts."""
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
    """Lines that the table takes, with the rule below its head and an empty line."""
    cells: list[tuple[str, ...]] = list(zip(*([column.name, *column.cells] for column in folded), strict=True))
    return sum(1 + max(cell.count("\n") for cell in row) for row in cells) + 2


def _drawn(folded: list[_Column]) -> str:
    from rich.console import Console  # a command without a table does not wait for these
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
    Console(file=drawn, width=2 * sum(map(len, rule)) + GAP * len(rule), color_system=None).print(table)
    return "\n".join(line.replace(TIED, " ").rstrip() for line in drawn.getvalue().splitlines())
